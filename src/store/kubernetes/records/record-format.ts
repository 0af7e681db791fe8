// How a record of the store lies in a record of the host, and under which name. A name is made of the key alone, so that the host's
// create is the reservation of the key. Pure.
import { createHash } from 'node:crypto';
import type { StoredRecord } from '../../store.ts';
import type { HostRecord } from './host-records.ts';

/**
 * A record of a later format is left alone: a newer program has written it. A field that this program does not know is lost with its next
 * write of the record, so what an older replica must not lose, or not believe, needs a later format.
 */
const recordFormat = 2;
/** Records of format 1 have no seal. A program that knows no seals does not start on a store that has them. */
const unsealedFormat = 1;
export const sealedFormat = 2;
/** The record of a store whose recovery has begun and not ended: a program that does not know that mark does not start on it. */
const recoveringFormat = 3;

/** The offset of revisions and the epoch that they belong to. */
export const metaName = 'hostward-meta';
const replicaPrefix = 'hostward-replica-';
const namePrefix = 'hw-';

export interface StoreMeta {
  /** A revision is the host's version and this. Rises with every restore and migration. */
  offset: number;
  /** Another epoch is another history: revisions of an older one mean nothing any more. */
  epoch: string;
  /** Former epochs of this store, newest last. */
  earlier: readonly string[];
  /** Names the store in the seals of its records; absent = they have none. */
  store?: string;
  /** A recovery has begun and not ended. Up to this revision the store had been written before it. */
  recoversFrom?: number;
}

export type HostData = Readonly<Record<string, string>>;

/** What a replica knew when it beat. One that starts has no other memory of the records. */
export interface Sight {
  /** What was known in another epoch says nothing. */
  epoch: string;
  /** It has judged every record up to this version. */
  reached: number;
  /** Whoever wrote a record after that had read the store up to this version. */
  since: number;
  /** Records that it did not believe because somebody had put an older version back, with their versions. */
  putBack: readonly string[] | 'tooMany';
  /** Records that it could not judge, with their versions: who has believed them knows more of them. */
  guesses: readonly string[];
  /** Records that were deleted after `since`. */
  gone: readonly string[];
  /** Its first heartbeat: it wants to hear what the others know. */
  isNew: boolean;
  /** It has seen a later state of the store than the one that is there now. */
  isSetBack: boolean;
  /** Of a command that brings records back: the newest version before it, so that its own heartbeats do not make the store younger. */
  writtenUpTo?: number;
}

export type ReadReplica = Pick<ReadRecord & { kind: 'replica' }, 'replica' | 'sight'>;

export type ReadRecord =
  | { kind: 'record'; record: StoredRecord }
  | { kind: 'meta'; meta: StoreMeta }
  /** `sight`: undefined of a version that did not tell it. */
  | { kind: 'replica'; replica: string; beat: number; about: string; sight: Sight | undefined }
  /** Somebody else's, damaged, or of a newer program. `putBackAt`: an older version, which is there as this one. `guess`: or perhaps not. */
  | { kind: 'unusable'; why: string; putBackAt?: number; guess?: StoredRecord };

/** 160 bits of the key's hash in 32 characters that a name may have; what was found under it is compared with the key. */
export function nameOf(key: string): string {
  return namePrefix + base32(createHash('sha256').update(key).digest().subarray(0, 20));
}

export function replicaName(replica: string): string {
  return replicaPrefix + replica;
}

export function isReplicaName(name: string): boolean {
  return name.startsWith(replicaPrefix);
}

/** Of a Secret of any type: true if it stands where a record does, or may be made. */
export function isNameOfRecord(name: string): boolean {
  return name === metaName || isReplicaName(name) || /^hw-[0-9a-v]{32}$/.test(name);
}

/**
 * `known`: the record that is replaced. Its version is written too: for the host, a write of the same data is no change. `after`: a
 * version that the writer knew. Both tell an old record that somebody puts back from a new one.
 */
export function recordData(
  key: string,
  value: string,
  known: StoredRecord | undefined,
  { offset, after }: { offset: number; after: number },
): HostData {
  const data = { format: String(unsealedFormat), key, value, after: String(after) };
  if (known === undefined) return data;
  const { createRevision, revision } = known;
  return { ...data, created: String(createRevision - offset), replaced: String(revision - offset) };
}

export function metaData({ offset, epoch, earlier, store, recoversFrom }: StoreMeta): HostData {
  const format = String(recoversFrom === undefined ? unsealedFormat : recoveringFormat);
  const mark = recoversFrom !== undefined && { recoversFrom: String(recoversFrom) };
  const data = { format, offset: String(offset), epoch, earlier: earlier.join(' '), ...mark };
  return store === undefined ? data : { ...data, store };
}

/** `beat` makes every write of a replica a change. */
export function replicaData(
  { replica, beat, about }: { replica: string; beat: number; about: string },
  { epoch, reached, since, putBack, guesses, gone, isNew, isSetBack, writtenUpTo }: Sight,
): HostData {
  const found = writtenUpTo !== undefined && { writtenUpTo: String(writtenUpTo) };
  const marks = { ...(isSetBack && { setBack: 'yes' }), ...(isNew && { new: 'yes' }), ...found };
  const guessed = guesses.length > 0 && { guesses: guesses.join(' ') };
  const sight = { epoch, reached: String(reached), since: String(since), gone: gone.join(' '), ...guessed, ...marks };
  const told = putBack === 'tooMany' ? putBack : putBack.join(' ');
  return { format: String(unsealedFormat), replica, beat: String(beat), about, ...sight, putBack: told };
}

const ofNewer = 'a newer version has written it';

/** A reason to leave a record aside that is no fault of the record: nobody has touched it, and the newer version serves it. */
export function isOfNewer(why: string): boolean {
  return why.startsWith(ofNewer);
}

export function readRecord({ name, version, data }: HostRecord, offset: number): ReadRecord {
  const format = Number(data['format']);
  if (!Number.isInteger(format) || format < 1) return { kind: 'unusable', why: 'it is damaged, or of another program' };
  const newest = name === metaName ? recoveringFormat : recordFormat;
  if (format > newest) return { kind: 'unusable', why: `${ofNewer} in format ${format}; this one reads ${newest}` };
  if (name === metaName) return readMeta(data, format === recoveringFormat);
  if (isReplicaName(name)) return readReplica(data);
  const { key, value, created } = data;
  if (key === undefined || value === undefined) return { kind: 'unusable', why: 'its key or its value is missing' };
  if (name !== nameOf(key)) return { kind: 'unusable', why: 'its name does not belong to its key' };
  const createdVersion = created === undefined ? version : wholeNumber(created);
  if (createdVersion === undefined) return { kind: 'unusable', why: 'its creation is damaged' };
  // A backup that is put into a new cluster brings versions that the cluster has not reached.
  const createRevision = offset + Math.min(createdVersion, version);
  const record = { key, value, createRevision, revision: offset + version };
  return { kind: 'record', record };
}

function readMeta({ offset, epoch, earlier = '', store, ...data }: HostData, isRecovering: boolean): ReadRecord {
  const number = wholeNumber(offset ?? '');
  const recoversFrom = isRecovering ? wholeNumber(data['recoversFrom'] ?? '') : undefined;
  if (number === undefined || epoch === undefined || epoch === '' || (isRecovering && recoversFrom === undefined))
    return { kind: 'unusable', why: 'its offset, its epoch or the mark of a recovery is damaged' };
  const meta = { offset: number, epoch, earlier: earlier.split(' ').filter((one) => one !== '') };
  const more = { ...(store !== undefined && { store }), ...(recoversFrom !== undefined && { recoversFrom }) };
  return { kind: 'meta', meta: { ...meta, ...more } };
}

function readReplica({ replica, beat, about = '', ...data }: HostData): ReadRecord {
  const number = wholeNumber(beat ?? '');
  if (number === undefined || replica === undefined) return { kind: 'unusable', why: 'it is damaged' };
  return { kind: 'replica', replica, beat: number, about, sight: sightIn(data) };
}

function sightIn(data: HostData): Sight | undefined {
  const { epoch, reached, since, putBack, guesses = '', gone = '', new: isNew, setBack } = data;
  const writtenUpTo = wholeNumber(data['writtenUpTo'] ?? '');
  const [to, from] = [wholeNumber(reached ?? ''), wholeNumber(since ?? '')];
  if (epoch === undefined || putBack === undefined || to === undefined || from === undefined) return undefined;
  const wordsOf = (text: string) => text.split(' ').filter((one) => one !== '');
  const found = writtenUpTo !== undefined && { writtenUpTo };
  const marks = { isNew: isNew === 'yes', isSetBack: setBack === 'yes', ...found };
  const told = putBack === 'tooMany' ? putBack : wordsOf(putBack);
  return { epoch, reached: to, since: from, putBack: told, guesses: wordsOf(guesses), gone: wordsOf(gone), ...marks };
}

/** What the writer of a record knew of the versions before it. */
export function versionsIn({ after, created, replaced }: HostData): {
  after: number | undefined;
  created: number | undefined;
  replaced: number | undefined;
} {
  const [a, c, r] = [after, created, replaced].map((text) => (text === undefined ? undefined : wholeNumber(text)));
  return { after: a, created: c, replaced: r };
}

function wholeNumber(text: string): number | undefined {
  const number = Number(text);
  return /^\d+$/.test(text) && Number.isSafeInteger(number) ? number : undefined;
}

const alphabet = '0123456789abcdefghijklmnopqrstuv';

function base32(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet[(held >> bits) & 31];
    }
    held &= (1 << bits) - 1;
  }
  return text;
}
