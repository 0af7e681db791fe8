// Seals the continue tokens of lists: a token counts for the caller to whom the server gave it, as the server gave it. In: the
// secret of the audit log, from which a key of its own is derived. Out: a short proof of a text for a user.
import { createHmac, hkdfSync } from 'node:crypto';
import type { User } from '../../../apiserver/request/identity.ts';

const keyBytes = 32;
/** 96 bits: nobody can try that many tokens, and the token stays short. */
const sealLength = 16;

export function pageSeal(secret: Uint8Array): (user: User, text: string) => string {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'hostward continue tokens', keyBytes));
  return ({ name, uid, extra }, text) =>
    createHmac('sha256', key)
      .update(JSON.stringify([name, uid, extra, text]))
      .digest('base64url')
      .slice(0, sealLength);
}
