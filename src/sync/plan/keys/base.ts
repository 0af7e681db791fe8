// Records the values of each key at the last agreement in one annotation of the host object. After any downtime the record
// shows which side changed a key. A key has two hashes, because after a patch the sides never hold the same value.
import { hashText, mixed } from '../../../object/text/text-hash.ts';

export interface BaseEntry {
  /** Short hash of the virtual value; '' when the virtual side lacked the key. */
  virtual: string;
  /** Short hash of the host value after patches; '' when the host lacked the key. */
  host: string;
  /** Digest of the patches that touched the key, '' without: an entry alone shows whether its own patches changed since. */
  patches: string;
  /** Patches made this key on the host and the virtual side lacks it: without the patches it is removed. */
  isMade: boolean;
  /** The value came from the host and the virtual side follows it. An excluded key of this kind stays on the host. */
  isFromHost: boolean;
}

/**
 * The name in the base of a key that patches made and that crosses in neither direction. The mark cannot begin a real key, so
 * the name never meets a tenant's key whose host spelling differs.
 */
export function uncrossedName(hostKey: string): string {
  return `${uncrossedMark}${hostKey}`;
}

/** The host key of an uncrossed name; undefined for any other name. */
export function uncrossedKey(name: string): string | undefined {
  return name.startsWith(uncrossedMark) ? name.slice(uncrossedMark.length) : undefined;
}

const uncrossedMark = '=';

/** The entry for a key; `desired` is the host value after patches. */
export function baseEntry(
  values: { virtual: string | undefined; host: string | undefined; desired: string | undefined },
  { patches, isFromHost = false }: { patches: string; isFromHost?: boolean },
): BaseEntry {
  const { virtual, host, desired } = values;
  const isMade = virtual === undefined && host !== undefined && host === desired;
  const hash = hashOf(virtual);
  return { virtual: hash, host: host === virtual ? hash : hashOf(host), patches, isMade, isFromHost };
}

export interface Base {
  /** Digest of the patch set that was in force; '' without patches. */
  patchDigest: string;
  labels: ReadonlyMap<string, BaseEntry>;
  annotations: ReadonlyMap<string, BaseEntry>;
}

/** Agreements since the base was written, by key in virtual spelling. */
export interface Agreement {
  /** Text of the base that this agreement extends; with any other base it is void. */
  over: string | undefined;
  labels: ReadonlyMap<string, BaseEntry>;
  annotations: ReadonlyMap<string, BaseEntry>;
}

const formatVersion = '2';

/** Length in characters; see digestsOf(). */
export const patchDigestLength = 8;
/** Patches touched the key, and it is not known which: bases were first written without their digest. */
export const unknownPatches = '?';

const alphabet = Uint8Array.from(Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'));
const hashLength = 8;

/**
 * With 48 bits a change goes unnoticed once in 2^48, and the annotation stays small. The hash protects nothing: a user who
 * finds a collision can only hide their own edit. It is built for speed, because each look at an object needs a dozen.
 */
export function hashOf(value: string | undefined): string {
  if (value === undefined) return '';
  const a = mixed(hashText(value, 0x21f0aaad));
  const b = mixed(hashText(value, 0x735a2d97));
  return String.fromCharCode(
    digit(a),
    digit(a >>> 6),
    digit(a >>> 12),
    digit(a >>> 18),
    digit(b),
    digit(b >>> 6),
    digit(b >>> 12),
    digit(b >>> 18),
  );
}

function digit(bits: number): number {
  return alphabet[bits & 63] as number;
}

/** Replaces the hash when a side lacks the key. */
const absent = '.'.repeat(hashLength);

const madeFlag = 2;
/** Added to one of the other flags. */
const fromHostFlag = 4;
const zero = 0x30;

/**
 * `2;digest;labels;annotations`. A map is `key:entry,key:entry`. An entry is one hash for both sides, or two hashes, a digit and
 * the digest of the patches that touched the key. The digit is 1 when patches touched the key, 2 when they made it, else 0,
 * and 4 more when the value came from the host. JSON would be longer, because each quote becomes two characters inside an
 * annotation, and the annotation is in every watch event.
 */
export function formatBase({ patchDigest, labels, annotations }: Base): string {
  return [formatVersion, escaped(patchDigest), packEntries(labels), packEntries(annotations)].join(';');
}

/** Undefined for a text in another format: an untrustworthy base counts as a missing one. */
export function parseBase(text: string | undefined): Base | undefined {
  const sections = text?.split(';') ?? [];
  if (sections.length !== 4 || sections[0] !== formatVersion) return undefined;
  const labels = unpackEntries(sections[2] as string);
  const annotations = unpackEntries(sections[3] as string);
  if (labels === undefined || annotations === undefined) return undefined;
  return { patchDigest: unescaped(sections[1] as string), labels, annotations };
}

export function readBase(text: string | undefined, agreed: Agreement | undefined): Base | undefined {
  const base = parseBase(text);
  if (base === undefined || agreed === undefined || agreed.over !== text) return base;
  return {
    ...base,
    labels: new Map([...base.labels, ...agreed.labels]),
    annotations: new Map([...base.annotations, ...agreed.annotations]),
  };
}

/**
 * Whether both say the same of every key. The digest of the set does not count: otherwise every change of the patches would
 * rewrite every object.
 */
export function isSameBase(one: Base, other: Base): boolean {
  const isSameSet = one.patchDigest === other.patchDigest;
  return (
    haveSameEntries(one.labels, other.labels, isSameSet) &&
    haveSameEntries(one.annotations, other.annotations, isSameSet)
  );
}

function haveSameEntries(one: Base['labels'], other: Base['labels'], isSameSet: boolean): boolean {
  if (one.size !== other.size) return false;
  for (const [key, { virtual, host, patches, isMade, isFromHost }] of one) {
    const entry = other.get(key);
    if (entry?.virtual !== virtual || entry.host !== host) return false;
    if (entry.isMade !== isMade || entry.isFromHost !== isFromHost) return false;
    // In one set the patches of a key are the same, even if one of the texts does not name them.
    const areSame = entry.patches === patches || (isSameSet && entry.patches !== '' && patches !== '');
    if (!areSame) return false;
  }
  return true;
}

export function joinAgreements(before: Agreement | undefined, now: Agreement): Agreement {
  if (before === undefined || before.over !== now.over) return now;
  return {
    over: now.over,
    labels: new Map([...before.labels, ...now.labels]),
    annotations: new Map([...before.annotations, ...now.annotations]),
  };
}

function packEntries(entries: ReadonlyMap<string, BaseEntry>): string {
  const sorted = [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([key, entry]) => `${escaped(key)}:${packEntry(entry)}`).join(',');
}

function packEntry({ virtual, host, patches, isMade, isFromHost }: BaseEntry): string {
  if (virtual === host && patches === '' && !isFromHost) return virtual || absent;
  const flag = (isMade ? madeFlag : Number(patches !== '')) + (isFromHost ? fromHostFlag : 0);
  return `${virtual || absent}${host || absent}${flag}${patches === unknownPatches ? '' : patches}`;
}

function unpackEntries(packed: string): Map<string, BaseEntry> | undefined {
  const entries = new Map<string, BaseEntry>();
  if (packed === '') return entries;
  for (let from = 0; from <= packed.length; ) {
    const comma = packed.indexOf(',', from);
    const to = comma < 0 ? packed.length : comma;
    const colon = packed.indexOf(':', from);
    const entry = colon >= from && colon < to ? unpackEntry(packed, colon + 1, to) : undefined;
    if (entry === undefined) return undefined;
    entries.set(unescaped(packed.slice(from, colon)), entry);
    from = to + 1;
  }
  return entries;
}

/** Hashes have equal lengths, so they are joined without a separator. */
function unpackEntry(packed: string, from: number, to: number): BaseEntry | undefined {
  const virtual = unpackHash(packed, from);
  if (to - from === hashLength) return { virtual, host: virtual, patches: '', isMade: false, isFromHost: false };
  const flagAt = from + 2 * hashLength;
  const flag = packed.charCodeAt(flagAt) - zero;
  const isFromHost = flag >= fromHostFlag;
  const patched = isFromHost ? flag - fromHostFlag : flag;
  if (to <= flagAt || !(patched >= 0 && patched <= madeFlag)) return undefined;
  const said = packed.slice(flagAt + 1, to);
  if (said !== '' && (patched === 0 || said.length !== patchDigestLength)) return undefined;
  const patches = patched === 0 ? '' : said || unknownPatches;
  return { virtual, host: unpackHash(packed, from + hashLength), patches, isMade: patched === madeFlag, isFromHost };
}

function unpackHash(packed: string, from: number): string {
  const text = packed.slice(from, from + hashLength);
  return text === absent ? '' : text;
}

/** An API server refuses keys with these characters, but an object file of an offline command may hold them. */
function escaped(text: string): string {
  return special.test(text) ? text.replaceAll(eachSpecial, (one) => encodeURIComponent(one)) : text;
}

function unescaped(text: string): string {
  return text.includes('%') ? text.replaceAll(eachEscape, (one) => decodeURIComponent(one)) : text;
}

const special = /[%:,;]/;
const eachSpecial = /[%:,;]/g;
const eachEscape = /%(?:25|3A|2C|3B)/g;
