// The journal of revocations: an append-only file outside the database. After a backup is restored, it says which keys were
// deleted, narrowed, disabled or rotated since, so that no key comes back to life with its old rights.

import type { KubeObject } from '../../object/meta/object.ts';
import { isRecord } from '../../object/text/json.ts';
import type { StoredSecret } from '../keys/secret/key-record.ts';
import { type ChainState, chainLine, type Digest, readLine } from './chain.ts';
import { type Verified, verifyChain } from './verify.ts';

/** What limits a key; absent members are absent in the object. */
export interface KeyLimitsNow {
  disabled?: boolean;
  scope?: unknown;
  groups?: readonly string[];
  ttl?: number;
  ttlAfterLastActivity?: boolean;
}

export type JournalChange =
  | { kind: 'deleted' }
  /** All limits as they are after any change of one of them: the last entry counts, whatever came before. */
  | { kind: 'limits'; limits: KeyLimitsNow }
  | { kind: 'secrets'; secrets: readonly StoredSecret[] };

export interface JournalEntry {
  /** Of the write in the store; a restore raises the store's revision above the highest. */
  revision: number;
  time: string;
  uid: string;
  name: string;
  change: JournalChange;
}

const limitFields = ['disabled', 'scope', 'groups', 'ttl', 'ttlAfterLastActivity'] as const;

export function journalLine(
  state: ChainState,
  entry: JournalEntry,
  digest: Digest,
): { line: string; state: ChainState } {
  return chainLine(state, entry, digest);
}

export function limitsOf(object: KubeObject): KeyLimitsNow {
  const spec = isRecord(object['spec']) ? object['spec'] : {};
  const given = limitFields.filter((field) => spec[field] !== undefined && spec[field] !== null);
  return Object.fromEntries(given.map((field) => [field, spec[field]]));
}

/** What is to be done to one key after a restore. */
export interface Revocation {
  name: string;
  isDeleted: boolean;
  limits: KeyLimitsNow | undefined;
  secrets: readonly StoredSecret[] | undefined;
}

export interface Replayed {
  verified: Verified;
  /** By uid: a name that was given to another key is another matter. */
  revocations: ReadonlyMap<string, Revocation>;
  highestRevision: number;
}

/** A broken chain is told, and what can be read up to the break still counts: it can only take rights away. */
export function replayJournal(text: string, digest: Digest): Replayed {
  const revocations = new Map<string, Revocation>();
  let highestRevision = 0;
  for (const line of text.split('\n').slice(0, -1)) {
    const read = readLine(line, digest);
    if (read === undefined) break;
    const { revision, uid, name, change } = read.entry as unknown as JournalEntry;
    highestRevision = Math.max(highestRevision, revision);
    const before = revocations.get(uid) ?? { name, isDeleted: false, limits: undefined, secrets: undefined };
    revocations.set(uid, applied(before, change));
  }
  return { verified: verifyChain(text, { digest }), revocations, highestRevision };
}

function applied(before: Revocation, change: JournalChange): Revocation {
  switch (change.kind) {
    case 'deleted':
      return { ...before, isDeleted: true };
    case 'limits':
      return { ...before, limits: change.limits };
    case 'secrets':
      return { ...before, secrets: change.secrets };
    default:
      return change satisfies never;
  }
}

/** The restored object with the limits that it had at last; undefined = it was deleted. */
export function reapply(object: KubeObject, revocation: Revocation): KubeObject | undefined {
  if (revocation.isDeleted) return undefined;
  if (revocation.limits === undefined) return object;
  const spec = { ...(isRecord(object['spec']) ? object['spec'] : {}) };
  for (const field of limitFields) {
    const value = revocation.limits[field];
    if (value === undefined) delete spec[field];
    else spec[field] = value;
  }
  return { ...object, spec };
}
