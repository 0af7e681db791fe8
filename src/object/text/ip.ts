// The one reader of IP addresses. Strict: what two programs could read differently (leading zeros, zones, short forms) is no
// address here. Addresses are integers, compared as integers; text comes out in one form (RFC 5952). An IPv6 address that
// carries an IPv4 one says so, because a packet to it ends up there.

export type AddressFamily = 'IPv4' | 'IPv6';

export interface Address {
  kind: 'ok';
  family: AddressFamily;
  value: bigint;
  canonical: string;
  /** IPv4 addresses inside an IPv6 one; absent without any. */
  embedded?: readonly EmbeddedV4[];
}

/** RFC 4291 mapped and compatible, RFC 7915 translated, RFC 6052 and 8215 NAT64, RFC 3056 6to4, RFC 4380, RFC 5214. */
export type Embedding = 'mapped' | 'compatible' | 'translated' | 'nat64' | '6to4' | 'teredo' | 'isatap';

export interface EmbeddedV4 {
  embedding: Embedding;
  value: number;
  /** A network with a prefix of so many bits or more is meant for this form of address and for no other. */
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

export type ParsedCidr = { kind: 'ok'; cidr: Cidr } | { kind: 'invalid'; reason: string };

export type SpecialRange = 'loopback' | 'linkLocal' | 'multicast' | 'unspecified' | 'broadcast' | 'reserved';

/** The longest address has 45 characters; whatever is longer is not looked at. */
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

/** The number behind four decimal ones with dots, as most addresses are written; -1 for any other text, right or wrong. */
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

/** `10.0.0.0/8`: an address, a slash, a length, and no bit set behind the length. */
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
    return { kind: 'invalid', reason: `expected a prefix length from 0 to ${bits}, found "${lengthText}"` };
  const shift = BigInt(bits - prefixLength);
  const network = (address.value >> shift) << shift;
  const canonical = `${textOf(address.family, network)}/${prefixLength}`;
  if (network !== address.value)
    return { kind: 'invalid', reason: `it has bits set behind its prefix, the network is "${canonical}"` };
  return { kind: 'ok', cidr: { family: address.family, network, prefixLength, canonical } };
}

/**
 * Whether the address lies in the range. An IPv4-mapped address is an IPv4 address in another spelling, so it is looked for
 * in ranges of both families; the other embeddings are addresses of their own.
 */
export function contains(cidr: Cidr, address: Address): boolean {
  if (cidr.family === address.family) return isWithin(cidr, address.value);
  return cidr.family === 'IPv4' && isMapped(address) && isWithin(cidr, address.value & v4Mask);
}

/** An IPv4 address in another spelling. */
export function isMapped({ embedded }: Address): boolean {
  return embedded?.[0]?.embedding === 'mapped';
}

export function v4Address(value: number): Address {
  return { kind: 'ok', family: 'IPv4', value: BigInt(value), canonical: v4Text(value) };
}

/** The range of addresses that are of no use to a Service on another node; embedded IPv4 addresses are looked at as well. */
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

/** The same of an IPv4 address as a number. */
export function specialRangeOfV4(address: number): SpecialRange | undefined {
  const first = address >>> 24;
  // 0.0.0.0/8 is "this host": several systems take all of it for the unspecified address.
  if (first === 0) return 'unspecified';
  if (first === 127) return 'loopback';
  if (address >>> 16 === 0xa9fe) return 'linkLocal';
  if (first >>> 4 === 0xe) return 'multicast';
  if (address === 0xffffffff) return 'broadcast';
  if (first >>> 4 === 0xf) return 'reserved';
  return undefined;
}

/** Every IPv4 address that a machine on the way may take out of this one and send the packet to. */
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
    // The server that set the tunnel up, and the client behind it with every bit turned over.
    return [...one('teredo', 32, bitsAt(value, 32, 32)), ...one('teredo', 32, ~low >>> 0)];
  }
  return isatapIn(value);
}

/** An interface of the form 0:5efe:a.b.c.d below any prefix; the bit 200 says that the IPv4 address is globally unique. */
function isatapIn(value: bigint): EmbeddedV4[] {
  const marker = bitsAt(value, 64, 32);
  if (marker !== 0x5efe && marker !== 0x02005efe) return [];
  return [{ embedding: 'isatap', value: bitsAt(value, 96, 32), prefixBits: 96 }];
}

/**
 * RFC 8215 leaves it to the network which prefix below 64:ff9b:1::/48 a translator serves, and RFC 6052 puts the IPv4 address
 * behind it, around the bits 64 to 71. All places are looked at, since nothing tells which one is meant. Zeros in one place
 * are the filling of another form: they count where the whole address has nothing else.
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

/** `count` bits, of which the first stands at `from`, counted from the left. */
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

/** What is wrong with a text that is no plain IPv4 address. */
function problemOfV4(text: string): AddressProblem {
  const parts = text.split('.');
  if (parts.length !== 4) return 'syntax';
  for (const part of parts) {
    if (!/^[0-9]{1,3}$/.test(part) || Number(part) > 255) return 'syntax';
    // Some programs read 010 as eight, some as ten.
    if (part.length > 1 && part.startsWith('0')) return 'leadingZero';
  }
  return 'syntax';
}

/** The eight groups, or what is wrong. */
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
