// Writes uids and digests shorter: their hexadecimal digits as base64. Any other text stays as it is, behind a mark.

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const hex = /^(?:[0-9a-f]{2})+$/;
/** No character of base64. */
const mark = '!';

export function isUuid(text: string): boolean {
  return uuid.test(text);
}

export function packedUid(uid: string): string {
  return isUuid(uid) ? Buffer.from(uid.replaceAll('-', ''), 'hex').toString('base64url') : mark + uid;
}

export function unpackedUid(packed: string): string {
  if (packed.startsWith(mark)) return packed.slice(1);
  const digits = Buffer.from(packed, 'base64url').toString('hex');
  return [0, 8, 12, 16, 20].map((start, part) => digits.slice(start, [8, 12, 16, 20, 32][part])).join('-');
}

export function packedDigest(digest: string): string {
  return hex.test(digest) ? Buffer.from(digest, 'hex').toString('base64url') : mark + digest;
}

export function unpackedDigest(packed: string): string {
  return packed.startsWith(mark) ? packed.slice(1) : Buffer.from(packed, 'base64url').toString('hex');
}
