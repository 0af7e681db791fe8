// Which addresses may go to the host (DESIGN 3.14): parsed by hand, so that every textual form of an address is one number.

interface Address {
  readonly bits: 32 | 128;
  readonly value: bigint;
}

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/u;

function parse4(text: string): bigint | undefined {
  if (!IPV4.test(text)) return undefined;
  const parts = text.split('.').map(Number);
  if (parts.some((part) => part > 255)) return undefined;
  return parts.reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
}

function parse6(text: string): bigint | undefined {
  let rest = text;
  const dotted = /^(.*:)([^:]*\.[^:]*)$/u.exec(text);
  if (dotted !== null) {
    const low = parse4(dotted[2] ?? '');
    if (low === undefined) return undefined;
    rest = `${dotted[1]}${(low >> 16n).toString(16)}:${(low & 0xffffn).toString(16)}`;
  }
  const halves = rest.split('::');
  if (halves.length > 2) return undefined;
  const groups = halves.map((half) => (half === '' ? [] : half.split(':')));
  const given = groups.reduce((sum, half) => sum + half.length, 0);
  if (halves.length === 1 ? given !== 8 : given > 7) return undefined;
  const all =
    halves.length === 1 ? groups[0] : [...(groups[0] ?? []), ...Array(8 - given).fill('0'), ...(groups[1] ?? [])];
  if (all === undefined || !all.every((group) => /^[0-9a-f]{1,4}$/iu.test(group))) return undefined;
  return all.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}

/** One number for all spellings; an IPv4 address inside an IPv6 one is told as IPv4. */
export function parseAddress(text: string): Address | undefined {
  const four = parse4(text);
  if (four !== undefined) return { bits: 32, value: four };
  const six = parse6(text);
  if (six === undefined) return undefined;
  if (six >> 32n === 0xffffn) return { bits: 32, value: six & 0xffff_ffffn };
  return { bits: 128, value: six };
}

const network = (text: string): { readonly of: Address; readonly length: number } | undefined => {
  const [address = '', length] = text.split('/');
  const of = parseAddress(address);
  if (of === undefined) return undefined;
  const given = length === undefined ? of.bits : Number(length);
  return { of, length: of.bits === 32 && address.includes(':') ? Math.max(0, given - 96) : given };
};

function isIn(address: Address, networks: readonly string[]): boolean {
  return networks.some((text) => {
    const found = network(text);
    if (found === undefined || found.of.bits !== address.bits) return false;
    const shift = BigInt(address.bits - found.length);
    return address.value >> shift === found.of.value >> shift;
  });
}

const NEVER = [
  '127.0.0.0/8',
  '::1/128',
  '169.254.0.0/16',
  'fe80::/10',
  '224.0.0.0/4',
  'ff00::/8',
  '0.0.0.0/32',
  '::/128',
];
/** The page of settings refuses these too; no rule of DESIGN names them. */
const NEVER_BY_THE_PAGE = ['240.0.0.0/4'];

/** True: the policy refuses it. The lists look at an address and at any IPv4 address that it carries inside. */
export function isRefused(
  text: string,
  lists: { readonly allow: readonly string[]; readonly deny: readonly string[] },
): boolean {
  const address = parseAddress(text);
  if (address === undefined) return true;
  const faces = [address, ...inside(address)];
  if (faces.some((face) => isIn(face, NEVER) || isIn(face, NEVER_BY_THE_PAGE))) return true;
  if (faces.some((face) => isIn(face, lists.deny))) return true;
  return lists.allow.length > 0 && !faces.every((face) => isIn(face, lists.allow));
}

/** IPv4 addresses that reach a host through translation: 64:ff9b::/96, 6to4, and the old compatible form. */
function inside(address: Address): readonly Address[] {
  if (address.bits === 32) return [];
  const low = { bits: 32, value: address.value & 0xffff_ffffn } as const;
  if (isIn(address, ['64:ff9b::/96'])) return [low];
  if (isIn(address, ['2002::/16'])) return [{ bits: 32, value: (address.value >> 80n) & 0xffff_ffffn }];
  if (address.value >> 32n === 0n && address.value > 1n) return [low];
  return [];
}
