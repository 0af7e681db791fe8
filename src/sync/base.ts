// What both sides held per key when they last agreed, packed into one annotation of the host object, so that after any
// downtime we can tell who changed what. Two hashes a key, because after a patch the sides never hold the same value.
import { hash } from 'node:crypto';
import { isRecord } from '../object/json.ts';

export interface BaseEntry {
  /** Short hash of the virtual value, '' when the key was absent there. */
  virtual: string;
  /** The same for the host value after patches. */
  host: string;
  isPatched: boolean;
  /** The virtual side lacks the key, and patches made it on the host: it goes when they make it no more. */
  isMade: boolean;
}

/**
 * In the base, the name of a key that patches made and that crosses in neither direction: no key begins so, and the tenant may
 * have another one that the host spells differently.
 */
export function uncrossedName(hostKey: string): string {
  return `${uncrossedMark}${hostKey}`;
}

/** The host key behind such a name; undefined for any other. */
export function uncrossedKey(name: string): string | undefined {
  return name.startsWith(uncrossedMark) ? name.slice(uncrossedMark.length) : undefined;
}

const uncrossedMark = '=';

/** What both sides hold of a key; `desired` is what patches want the host to hold. */
export function baseEntry(
  values: { virtual: string | undefined; host: string | undefined; desired: string | undefined },
  isPatched: boolean,
): BaseEntry {
  const { virtual, host, desired } = values;
  const isMade = virtual === undefined && host !== undefined && host === desired;
  return { virtual: hashOf(virtual), host: hashOf(host), isPatched, isMade };
}

export interface Base {
  /** Digest of the patch set that was in force; '' without patches. */
  patchDigest: string;
  labels: ReadonlyMap<string, BaseEntry>;
  annotations: ReadonlyMap<string, BaseEntry>;
}

/** What both sides have agreed on since the base was written, by key in virtual spelling. */
export interface Agreement {
  /** Text of the base that it adds to; a newer one knows better. */
  over: string | undefined;
  labels: ReadonlyMap<string, BaseEntry>;
  annotations: ReadonlyMap<string, BaseEntry>;
}

const formatVersion = 1;

/** 48 bits: a change goes unnoticed once in 2^48, and the annotation stays small. */
const hashLength = 8;

/** Short values that were hashed lately: each look asks for the same few again, and a digest costs as much as all else. */
const known = new Map<string, string>();
const knownLimit = 2_000;
const knownLength = 256;

export function hashOf(value: string | undefined): string {
  if (value === undefined) return '';
  const before = known.get(value);
  if (before !== undefined) return before;
  const digest = hash('sha256', value, 'base64url').slice(0, hashLength);
  if (value.length > knownLength) return digest;
  if (known.size >= knownLimit) known.clear();
  known.set(value, digest);
  return digest;
}

const patchedFlag = 1;
const madeFlag = 2;

type PackedEntry = string | [string, string] | [string, string, typeof patchedFlag | typeof madeFlag];

export function formatBase(base: Base): string {
  return JSON.stringify({
    v: formatVersion,
    ...(base.patchDigest !== '' && { p: base.patchDigest }),
    ...(base.labels.size > 0 && { l: packEntries(base.labels) }),
    ...(base.annotations.size > 0 && { a: packEntries(base.annotations) }),
  });
}

/** Undefined for anything we did not write ourselves: a base that cannot be trusted is no base. */
export function parseBase(text: string | undefined): Base | undefined {
  if (text === undefined) return undefined;
  let packed: unknown;
  try {
    packed = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(packed) || packed['v'] !== formatVersion) return undefined;
  const labels = unpackEntries(packed['l']);
  const annotations = unpackEntries(packed['a']);
  const patchDigest = packed['p'] ?? '';
  if (labels === undefined || annotations === undefined || typeof patchDigest !== 'string') return undefined;
  return { patchDigest, labels, annotations };
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

/** Whether both say the same, without the way over their texts. */
export function isSameBase(one: Base, other: Base): boolean {
  return (
    one.patchDigest === other.patchDigest &&
    haveSameEntries(one.labels, other.labels) &&
    haveSameEntries(one.annotations, other.annotations)
  );
}

function haveSameEntries(one: Base['labels'], other: Base['labels']): boolean {
  if (one.size !== other.size) return false;
  for (const [key, { virtual, host, isPatched, isMade }] of one) {
    const entry = other.get(key);
    if (entry?.virtual !== virtual || entry.host !== host) return false;
    if (entry.isPatched !== isPatched || entry.isMade !== isMade) return false;
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

function packEntries(entries: ReadonlyMap<string, BaseEntry>): Record<string, PackedEntry> {
  const sorted = [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([key, entry]) => [key, packEntry(entry)]));
}

function packEntry(entry: BaseEntry): PackedEntry {
  if (entry.isMade) return [entry.virtual, entry.host, madeFlag];
  if (entry.isPatched) return [entry.virtual, entry.host, patchedFlag];
  return entry.virtual === entry.host ? entry.virtual : [entry.virtual, entry.host];
}

function unpackEntries(packed: unknown): Map<string, BaseEntry> | undefined {
  if (packed === undefined) return new Map();
  if (!isRecord(packed)) return undefined;
  const entries = new Map<string, BaseEntry>();
  for (const key of Object.keys(packed)) {
    const value = packed[key];
    const isPair = Array.isArray(value);
    const virtual = isPair ? value[0] : value;
    const host = isPair ? value[1] : value;
    if (typeof virtual !== 'string' || typeof host !== 'string') return undefined;
    const flag = isPair ? value[2] : undefined;
    const isMade = flag === madeFlag;
    entries.set(key, { virtual, host, isPatched: isMade || flag === patchedFlag, isMade });
  }
  return entries;
}
