// The only parser of IP addresses in the program. It refuses every form that two programs could read differently: leading
// zeros, zones, short forms. Addresses are compared as integers and printed in one form (RFC 5952). For an IPv6 address that
// contains an IPv4 address, the result names both, because a packet may reach the IPv4 address.

export type AddressFamily = 'IPv4' | 'IPv6';

export interface Address {
  kind: 'ok';
  family: AddressFamily;
  value: bigint;
  canonical: string;
  /** The IPv4 addresses inside an IPv6 address; absent when there are no such addresses. */
  embedded?: readonly EmbeddedV4[];
}

/** RFC 4291 mapped and compatible, RFC 7915 translated, RFC 6052 and 8215 NAT64, RFC 3056 6to4, RFC 4380, RFC 5214. */
export type Embedding = 'mapped' | 'compatible' | 'translated' | 'nat64' | '6to4' | 'teredo' | 'isatap';

export interface EmbeddedV4 {
  embedding: Embedding;
  value: number;
  /** A network whose prefix has at least this many bits covers only addresses of this form. */
  prefixBits: number;
}

export type AddressProblem = 'empty' | 'zone' | 'leadingZero' | 'syntax';

export type ParsedAddress = Address | { kind: 'invalid'; problem: AddressProblem; reason: string };

export interface Cidr {
  family: AddressFamily;
  network: bigint;
  prefixLength: number;
  canonical: string;
}

export type ParsedCidr =
  | { kind: 'ok'; cidr: Cidr }
  /** network: what was meant, where only address bits behind the prefix are wrong. */
  | { kind: 'invalid'; reason: string; network?: string };

export type SpecialRange = 'loopback' | 'linkLocal' | 'multicast' | 'unspecified' | 'broadcast' | 'reserved';

/** The longest address has 45 characters; a longer text is refused without parsing. */
const maxAddressLength = 45;

export function parseAddress(text: string): ParsedAddress {
  const plain = plainV4Of(text);
  if (plain >= 0) return { kind: 'ok', family: 'IPv4', value: BigInt(plain), canonical: text };
  if (text === '') return invalid('empty', 'it is empty');
  if (text.includes('%')) return invalid('zone', 'it has a zone, which means something on one machine only');
  if (text.length > maxAddressLength) return invalid('syntax', 'it is too long');
  if (!text.includes(':')) return octetProblem(problemOfV4(text));
  const groups = parseGroups(text);
  return typeof groups === 'string' ? octetProblem(groups) : v6Address(groups);
}

/** The value of an IPv4 address in four decimal numbers; -1 for every other text, valid or not. */
export function plainV4Of(text: string): number {
  if (text.length > maxV4Length) return -1;
  let address = 0;
  let octets = 0;
  for (let at = 0; at < text.length; at++) {
    const from = at;
    let octet = 0;
    for (let digit = text.charCodeAt(at) - zero; digit >= 0 && digit <= 9; digit = text.charCodeAt(++at) - zero) {
      octet = octet * 10 + digit;
    }
    const isOctet = at > from && octet <= 255 && (at === from + 1 || text.charCodeAt(from) !== zero);
    const isEnded = octets === 3 ? at === text.length : text.charCodeAt(at) === dot;
    if (!isOctet || !isEnded) return -1;
    address = address * 256 + octet;
    octets++;
  }
  return octets === 4 ? address : -1;
}

const maxV4Length = 15;
const zero = 0x30;
const dot = 0x2e;

/** Parses `10.0.0.0/8`: an address, a slash and a prefix length, without address bits after the prefix. */
export function parseCidr(text: string): ParsedCidr {
  const slash = text.indexOf('/');
  if (slash < 0)
    return { kind: 'invalid', reason: `it has no prefix length, as in "${text}/${text.includes(':') ? 128 : 32}"` };
  const address = parseAddress(text.slice(0, slash));
  if (address.kind === 'invalid') return { kind: 'invalid', reason: address.reason };
  const bits = bitsOf(address.family);
  const lengthText = text.slice(slash + 1);
  const prefixLength = /^(0|[1-9][0-9]{0,2})$/.test(lengthText) ? Number(lengthText) : bits + 1;
  if (prefixLength > bits)
    return { kind: 'invalid', reason: `wanted a prefix length from 0 to ${bits}, found "${lengthText}"` };
  const shift = BigInt(bits - prefixLength);
  const network = (address.value >> shift) << shift;
  const canonical = `${textOf(address.family, network)}/${prefixLength}`;
  if (network !== address.value)
    return {
      kind: 'invalid',
      reason: `it has bits set behind its prefix, the network is "${canonical}"`,
      network: canonical,
    };
  return { kind: 'ok', cidr: { family: address.family, network, prefixLength, canonical } };
}

/**
 * Whether the address lies in the range. An IPv4-mapped address is an IPv4 address in another spelling, so ranges of both
 * families can contain it. Addresses with other embeddings belong to IPv6 ranges only.
 */
export function contains(cidr: Cidr, address: Address): boolean {
  if (cidr.family === address.family) return isWithin(cidr, address.value);
  return cidr.family === 'IPv4' && isMapped(address) && isWithin(cidr, address.value & v4Mask);
}

/** Whether the address is an IPv4 address in its IPv6 spelling. */
export function isMapped({ embedded }: Address): boolean {
  return embedded?.[0]?.embedding === 'mapped';
}

export function v4Address(value: number): Address {
  return { kind: 'ok', family: 'IPv4', value: BigInt(value), canonical: v4Text(value) };
}

/** The range of an address that no Service on another node can use; embedded IPv4 addresses are checked too. */
export function specialRangeOf(address: Address): SpecialRange | undefined {
  const { value, family } = address;
  if (family === 'IPv4') return specialRangeOfV4(Number(value));
  if (value === 0n) return 'unspecified';
  if (value === 1n) return 'loopback';
  if (value >> 118n === 0x3fan) return 'linkLocal';
  if (value >> 120n === 0xffn) return 'multicast';
  for (const { value: inner } of address.embedded ?? []) {
    const special = specialRangeOfV4(inner);
    if (special !== undefined) return special;
  }
  return undefined;
}

const v4Mask = 0xffffffffn;

/** As specialRangeOf(), for an IPv4 address as a number. */
export function specialRangeOfV4(address: number): SpecialRange | undefined {
  const first = address >>> 24;
  // 0.0.0.0/8 means "this host": several systems treat all of it as the unspecified address.
  if (first === 0) return 'unspecified';
  if (first === 127) return 'loopback';
  if (address >>> 16 === 0xa9fe) return 'linkLocal';
  if (first >>> 4 === 0xe) return 'multicast';
  if (address === 0xffffffff) return 'broadcast';
  if (first >>> 4 === 0xf) return 'reserved';
  return undefined;
}

/** Every IPv4 address that a router may extract from this IPv6 address and send the packet to. */
function embeddedIn(value: bigint): EmbeddedV4[] {
  const high = value >> 32n;
  const low = Number(value & v4Mask);
  const one = (embedding: Embedding, prefixBits: number, inner = low): EmbeddedV4[] => [
    { embedding, value: inner, prefixBits },
  ];
  if (high === 0xffffn) return one('mapped', 96);
  if (high === 0n) return low > 1 ? one('compatible', 96) : [];
  if (high === 0xffff0000n) return one('translated', 96);
  if (high === 0x64ff9bn << 64n) return one('nat64', 96);
  if (value >> 80n === 0x64ff9b0001n) return localNat64(value);
  if (value >> 112n === 0x2002n) return [...one('6to4', 16, bitsAt(value, 16, 32)), ...isatapIn(value)];
  if (value >> 96n === 0x20010000n) {
    // Teredo embeds the server of the tunnel, and the client with all bits inverted.
    return [...one('teredo', 32, bitsAt(value, 32, 32)), ...one('teredo', 32, ~low >>> 0)];
  }
  return isatapIn(value);
}

/** An interface of the form 0:5efe:a.b.c.d after any prefix; bit 200 marks a globally unique IPv4 address. */
function isatapIn(value: bigint): EmbeddedV4[] {
  const marker = bitsAt(value, 64, 32);
  if (marker !== 0x5efe && marker !== 0x02005efe) return [];
  return [{ embedding: 'isatap', value: bitsAt(value, 96, 32), prefixBits: 96 }];
}

/**
 * RFC 8215 lets each network choose the prefix of its translator in 64:ff9b:1::/48, and RFC 6052 puts the IPv4 address after
 * that prefix, around the bits 64 to 71. The address does not show the chosen prefix, so all positions are checked. Zeros in a
 * position are usually padding of another form; they count only when the whole address has no other bits.
 */
function localNat64(value: bigint): EmbeddedV4[] {
  const found: number[] = [];
  const last = bitsAt(value, 96, 32);
  const isFilling = last === 0 && (value & ((1n << 80n) - 1n)) !== 0n;
  if (!isFilling) found.push(last);
  for (const prefixBits of [48, 56, 64]) {
    const before = 64 - prefixBits;
    const inner = bitsAt(value, prefixBits, before) * 2 ** (32 - before) + bitsAt(value, 72, 32 - before);
    const isWhole = prefixBits === 48 && bitsAt(value, 88, 40) === 0;
    if (inner >>> 24 !== 0 || isWhole) found.push(inner);
  }
  return found.map((inner) => ({ embedding: 'nat64', value: inner, prefixBits: 48 }));
}

/** `count` bits from the bit `from` on, counted from the left. */
function bitsAt(value: bigint, from: number, count: number): number {
  return Number((value >> BigInt(128 - from - count)) & ((1n << BigInt(count)) - 1n));
}

function isWithin(cidr: Cidr, value: bigint): boolean {
  const shift = BigInt(bitsOf(cidr.family) - cidr.prefixLength);
  return value >> shift === cidr.network >> shift;
}

function bitsOf(family: AddressFamily): number {
  return family === 'IPv4' ? 32 : 128;
}

function v6Address(groups: number[]): Address {
  let value = 0n;
  for (const group of groups) value = (value << 16n) | BigInt(group);
  const address: Address = { kind: 'ok', family: 'IPv6', value, canonical: v6Text(groups) };
  const embedded = embeddedIn(value);
  if (embedded.length > 0) address.embedded = embedded;
  return address;
}

/** The problem of a text that is not a plain IPv4 address. */
function problemOfV4(text: string): AddressProblem {
  const parts = text.split('.');
  if (parts.length !== 4) return 'syntax';
  for (const part of parts) {
    if (!/^[0-9]{1,3}$/.test(part) || Number(part) > 255) return 'syntax';
    // Some programs read 010 as eight and some as ten.
    if (part.length > 1 && part.startsWith('0')) return 'leadingZero';
  }
  return 'syntax';
}

/** The eight groups, or the problem. */
function parseGroups(text: string): number[] | AddressProblem {
  const halves = text.split('::');
  if (halves.length > 2) return 'syntax';
  const before = parseHalf(halves[0] as string, halves.length === 1);
  if (typeof before === 'string') return before;
  if (halves.length === 1) return before.length === 8 ? before : 'syntax';
  const after = parseHalf(halves[1] as string, true);
  if (typeof after === 'string') return after;
  const missing = 8 - before.length - after.length;
  return missing >= 1 ? [...before, ...new Array<number>(missing).fill(0), ...after] : 'syntax';
}

/** Groups between colons; the last 32 bits of an address may be written as an IPv4 address. */
function parseHalf(text: string, isEnd: boolean): number[] | AddressProblem {
  if (text === '') return [];
  const parts = text.split(':');
  const groups: number[] = [];
  for (const [index, part] of parts.entries()) {
    if (isEnd && index === parts.length - 1 && part.includes('.')) {
      const number = plainV4Of(part);
      if (number < 0) return problemOfV4(part);
      groups.push(Math.floor(number / 65536), number % 65536);
    } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) {
      groups.push(Number.parseInt(part, 16));
    } else {
      return 'syntax';
    }
  }
  return groups;
}

function textOf(family: AddressFamily, value: bigint): string {
  if (family === 'IPv4') return v4Text(Number(value));
  return v6Text(Array.from({ length: 8 }, (_, index) => Number((value >> BigInt(112 - 16 * index)) & 0xffffn)));
}

function v4Text(address: number): string {
  return [address >>> 24, (address >>> 16) & 255, (address >>> 8) & 255, address & 255].join('.');
}

/** RFC 5952: lower case, the first longest run of two or more zero groups as `::`, mapped addresses with dots. */
function v6Text(groups: number[]): string {
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return `::ffff:${v4Text((groups[6] as number) * 65536 + (groups[7] as number))}`;
  let longest = { start: 0, length: 1 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (start + length < 8 && groups[start + length] === 0) length++;
    if (length > longest.length) longest = { start, length };
  }
  const hex = groups.map((group) => group.toString(16));
  if (longest.length === 1) return hex.join(':');
  return `${hex.slice(0, longest.start).join(':')}::${hex.slice(longest.start + longest.length).join(':')}`;
}

function octetProblem(problem: AddressProblem): ParsedAddress {
  if (problem === 'leadingZero') return invalid(problem, 'it has leading zeros, which some programs read as octal');
  return invalid(problem, 'it is neither four decimal numbers with dots nor an IPv6 address');
}

function invalid(problem: AddressProblem, reason: string): ParsedAddress {
  return { kind: 'invalid', problem, reason };
}
