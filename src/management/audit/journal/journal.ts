// The journal of revocations: an append-only chain of lines outside the database. After a restore, it lists the keys that were
// deleted, narrowed, disabled or rotated since the backup, and the names that changed their owner, so that no key comes back with
// its old rights. Pure: lines in, the changes for each key out.

import type { KubeObject } from '../../../object/meta/object.ts';
import { isRecord } from '../../../object/text/json.ts';
import type { NamedRecord } from '../../keys/callers/records.ts';
import { disabledByAnnotation } from '../../keys/rules/server-marks.ts';
import type { KeyRecord, StoredSecret } from '../../keys/secret/key-record.ts';
import { cidrsAnnotation } from '../../scope/patterns/source-networks.ts';
import { type ChainState, chainLine, type Digest, maxLineLength, readLine } from '../chain/chain.ts';

/** The limits of a key. A member that is absent here is absent in the object. */
export interface KeyLimitsNow {
  disabled?: boolean;
  scope?: unknown;
  groups?: readonly string[];
  ttl?: number;
  ttlAfterLastActivity?: boolean;
  /** Annotations that limit it. */
  marks?: Readonly<Record<string, string>>;
}

/** The part of the record that moves with the limits: who granted a group, and which direct tokens are too old. */
export type RecordLimits = Pick<KeyRecord, 'grantedGroups' | 'tokenGeneration'>;

export type JournalChange =
  | { kind: 'deleted' }
  /** Somebody has edited its record by hand, and it is not believed; then it is again. */
  | { kind: 'doubted' }
  | { kind: 'believed' }
  /** All limits after a change of one of them; only the last entry about a key counts. */
  | { kind: 'limits'; limits: KeyLimitsNow; record?: RecordLimits }
  | { kind: 'secrets'; secrets: readonly StoredSecret[]; id?: string }
  /** The change does not fit into a line, so that the key can only be disabled. */
  | { kind: 'tooLong' }
  /** The identity of a name, for example after it was given to somebody else. */
  | { kind: 'name'; record: NamedRecord }
  /**
   * From this revision on the journal is complete; earlier revocations are unknown. `replica` writes it, and `others` had written so many
   * lines of their own by then: who has all of these journals lacks nothing of what was acknowledged before.
   */
  | { kind: 'begins'; replica?: string; others?: Readonly<Record<string, number>> }
  /** Up to this revision nothing is missing. */
  | { kind: 'covered' }
  /** No revision above this one was used before the next line of this kind. */
  | { kind: 'ceiling'; ceiling: number }
  /** A backup was restored, with everything that the journal said until then. */
  | { kind: 'restored'; from: number };

export interface JournalEntry {
  /** Revision of the write in the store; all earlier revocations are in the journal. */
  revision: number;
  time: string;
  /** Empty when the change is not about one key. */
  uid: string;
  name: string;
  change: JournalChange;
}

/** The chain adds members to the entry, and the line must have room for them. */
const longestEntry = maxLineLength - 512;

/** A change that does not fit into a line is recorded without its content. */
export function fitting(entry: JournalEntry): JournalEntry {
  return JSON.stringify(entry).length <= longestEntry ? entry : { ...entry, change: { kind: 'tooLong' } };
}

const markFields = [disabledByAnnotation, cidrsAnnotation] as const;
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
  const marks = Object.entries(object.metadata.annotations ?? {}).filter(([name]) =>
    (markFields as readonly string[]).includes(name),
  );
  return {
    ...Object.fromEntries(given.map((field) => [field, spec[field]])),
    ...(marks.length === 0 ? {} : { marks: Object.fromEntries(marks) }),
  };
}

/** The change of one key after a restore. */
export interface Revocation {
  name: string;
  /** Of the last entry. */
  revision: number;
  /** Of the last entry about its limits. */
  limitsRevision: number;
  /** Of the last entry about its secrets. */
  secretsRevision: number;
  isDeleted: boolean;
  /** The last state that was seen of its record was not believed. */
  isDoubted: boolean;
  doubtRevision: number;
  isTooLong: boolean;
  limits: KeyLimitsNow | undefined;
  record: RecordLimits | undefined;
  secrets: readonly StoredSecret[] | undefined;
  id: string | undefined;
}

export interface Replayed {
  /** By uid, because a later key may have the same name. */
  revocations: ReadonlyMap<string, Revocation>;
  /** By kind and name. */
  names: ReadonlyMap<string, NamedRecord>;
  /** Above every revision that was ever used. */
  highestRevision: number;
  /** The time of its last line. */
  until: string | undefined;
}

/**
 * Reads the revocations after a revision from the files of a journal, oldest first. A broken chain is used up to the break,
 * because its lines can only remove rights.
 */
export function replayJournal(texts: readonly string[], digest: Digest, after = 0): Replayed {
  const revocations = new Map<string, Revocation>();
  const names = new Map<string, NamedRecord>();
  let highestRevision = 0;
  let until: string | undefined;
  for (const { revision, time, uid, name, change } of entriesOf(texts, digest)) {
    until = time;
    highestRevision = Math.max(highestRevision, revision, change.kind === 'ceiling' ? change.ceiling : 0);
    if (revision <= after) continue;
    if (change.kind === 'name') names.set(`${change.record.kind}/${change.record.name}`, change.record);
    if (uid !== '')
      revocations.set(
        uid,
        applied({ ...(revocations.get(uid) ?? { ...untouched, name }), revision }, change, revision),
      );
  }
  return { revocations, names, highestRevision, until };
}

/** Of one key in the journals of two replicas: one may have ended before the last word on it. */
export function mergedRevocation(one: Revocation, other: Revocation): Revocation {
  const { limits, record, isTooLong, limitsRevision } = one.limitsRevision >= other.limitsRevision ? one : other;
  const { secrets, id, secretsRevision } = one.secretsRevision >= other.secretsRevision ? one : other;
  const { isDoubted, doubtRevision } = one.doubtRevision >= other.doubtRevision ? one : other;
  const isDeleted = one.isDeleted || other.isDeleted;
  const revision = Math.max(one.revision, other.revision);
  const ofBoth = { name: one.name, revision, isDeleted, isDoubted, doubtRevision };
  return { ...ofBoth, limits, record, isTooLong, limitsRevision, secrets, id, secretsRevision };
}

/** As far as the chain is not broken. */
export function* entriesOf(texts: readonly string[], digest: Digest): Iterable<JournalEntry> {
  for (const line of linesOf(texts)) {
    const read = readLine(line, digest);
    if (read === undefined) return;
    yield read.entry as unknown as JournalEntry;
  }
}

/** Files may be too many for one text. A line without its end was never acknowledged. */
function* linesOf(texts: readonly string[]): Iterable<string> {
  for (const text of texts) yield* text.split('\n').slice(0, -1);
}

const untouched: Omit<Revocation, 'name' | 'revision'> = {
  limitsRevision: 0,
  secretsRevision: 0,
  isDeleted: false,
  isDoubted: false,
  doubtRevision: 0,
  isTooLong: false,
  limits: undefined,
  record: undefined,
  secrets: undefined,
  id: undefined,
};

function applied(before: Revocation, change: JournalChange, revision: number): Revocation {
  switch (change.kind) {
    case 'deleted':
      return { ...before, isDeleted: true };
    case 'doubted':
    case 'believed':
      return { ...before, isDoubted: change.kind === 'doubted', doubtRevision: revision };
    case 'limits':
      return { ...before, limits: change.limits, record: change.record, isTooLong: false, limitsRevision: revision };
    case 'secrets':
      return { ...before, secrets: change.secrets, id: change.id, secretsRevision: revision };
    case 'tooLong':
      return { ...before, isTooLong: true, limitsRevision: revision };
    case 'name':
    case 'begins':
    case 'covered':
    case 'ceiling':
    case 'restored':
      return before;
    default:
      return change satisfies never;
  }
}

/** The restored object with the limits and secrets that it had at last; undefined = it was deleted. */
export function reapply(object: KubeObject, revocation: Revocation): KubeObject | undefined {
  if (revocation.isDeleted) return undefined;
  const { limits, record, secrets, id } = revocation;
  let now = object;
  if (limits !== undefined) now = withLimits(now, limits);
  if (revocation.isTooLong || revocation.isDoubted) now = disabledByRestore(now);
  const changed = { ...record, ...(secrets === undefined ? {} : { secrets }), ...(id === undefined ? {} : { id }) };
  return Object.keys(changed).length === 0 ? now : withRecord(now, changed);
}

/** Only an administrator can enable it again. */
export function disabledByRestore(object: KubeObject): KubeObject {
  const { metadata, ...rest } = object;
  const annotations = { ...metadata.annotations, [disabledByAnnotation]: 'administrator:restore' };
  const spec = { ...(isRecord(object['spec']) ? object['spec'] : {}), disabled: true };
  return { ...rest, metadata: { ...metadata, annotations }, spec };
}

export function withRecord(object: KubeObject, changed: Partial<KeyRecord>): KubeObject {
  const hidden = isRecord(object['hidden']) ? object['hidden'] : {};
  const record = isRecord(hidden['record']) ? hidden['record'] : {};
  return { ...object, hidden: { ...hidden, record: { ...record, ...changed } } };
}

function withLimits(object: KubeObject, limits: KeyLimitsNow): KubeObject {
  const spec = { ...(isRecord(object['spec']) ? object['spec'] : {}) };
  for (const field of limitFields) {
    const value = limits[field];
    if (value === undefined) delete spec[field];
    else spec[field] = value;
  }
  const annotations = { ...object.metadata.annotations };
  for (const mark of markFields) delete annotations[mark];
  Object.assign(annotations, limits.marks);
  const metadata = { ...object.metadata };
  if (Object.keys(annotations).length > 0) metadata.annotations = annotations;
  else delete metadata.annotations;
  return { ...object, metadata, spec };
}
