// What a store that several replicas use says of them, and what they tell each other: each writes it into its heartbeat.
import { counted } from '../../../object/text/in-words.ts';
import { isRecord, parsedJson } from '../../../object/text/json.ts';
import type { KubernetesStore } from '../../../store/kubernetes/kubernetes-store.ts';
import type { LiveReplica } from '../../../store/kubernetes/live-replicas.ts';
import { isOfNewer } from '../../../store/kubernetes/records/record-format.ts';
import type { ChainHead } from '../../audit/chain/chain.ts';
import { keyPrefix } from '../../keys/book/key-book.ts';
import type { HiddenRecords } from './records/hidden-records.ts';
import { recordText } from './records/marked-records.ts';
import type { RecordRights } from './records/record-rights.ts';

/** What one replica says of itself. A replica of an older version leaves things out. */
export interface ReplicaWords {
  /** Whether it removes what is over. */
  sweeps?: boolean;
  /** How far it was behind at its last heartbeat. */
  lagMs?: number;
  /** Names the configuration file that it has; see ruling-configuration.ts. */
  configuration?: string;
  /** Versions of secrets that it has, newest first. */
  peppers?: readonly string[];
  tokenKeys?: readonly string[];
  /** Where its audit log ends. */
  audit?: ChainHead;
  /** Where its journal of revocations ends. */
  journal?: ChainHead;
}

export interface OtherReplica {
  replica: string;
  words: ReplicaWords;
}

export interface ReplicaStatus {
  replica: string;
  heardSecondsAgo: number;
  lagMs: number | undefined;
  sweeps: 'yes' | undefined;
  generation: number | undefined;
  peppers: string | undefined;
  tokenKeys: string | undefined;
}

/** For `hostward status`. */
export interface SharedStatus {
  place: string;
  replica: string;
  /** Those that were heard in the last seconds. */
  replicas: readonly ReplicaStatus[];
  /** The one that removes what is over. */
  sweeper: string | undefined;
  /** How long ago this replica was shown to know everything. */
  lagMs: number;
  records: number;
  bytes: number;
  /** Whether a record that somebody made by hand is noticed. */
  isSealed: boolean;
  /** Records that are not believed. */
  aside: number;
  /** Rights on the records that the account of this replica lacks. */
  missingRights: number;
  /** What somebody must mend. */
  troubles: readonly string[];
}

/** Of a store that several replicas use. */
export interface Shared {
  /** The name of this one. */
  replica: string;
  /** Another one after each restore and migration. */
  epoch(): string;
  /** Whether this one does what one of them must do for all. */
  sweeps(): boolean;
  /** Those that were heard in the last seconds, without this one. */
  others(): readonly OtherReplica[];
  /** How many lines every other replica says its journal has, also replicas that have ended. */
  journals(): Readonly<Record<string, number>>;
  /** From the next heartbeat on the others read this too. */
  tells(words: () => ReplicaWords): void;
  /** What this replica said in its last heartbeat before the start. */
  saidBefore(): ReplicaWords;
  status(): SharedStatus;
}

/** A text of an older version, or one that is damaged, says nothing. */
export function wordsIn(about: string): ReplicaWords {
  if (about === 'sweeps') return { sweeps: true };
  const words = parsedJson(about);
  if (!isRecord(words)) return {};
  const { sweeps, lagMs, configuration, peppers, tokenKeys, audit, journal } = words;
  return {
    ...(sweeps === true && { sweeps }),
    ...(typeof lagMs === 'number' && { lagMs }),
    ...(typeof configuration === 'string' && { configuration }),
    ...(areTexts(peppers) && { peppers }),
    ...(areTexts(tokenKeys) && { tokenKeys }),
    ...(isHead(audit) && { audit }),
    ...(isHead(journal) && { journal }),
  };
}

/** How many lines each replica says its journal has, without the one that asks. */
export function journalLines(words: ReadonlyMap<string, string>, own: string): Record<string, number> {
  const lines = [...words].flatMap(([replica, about]): [string, number][] => {
    const { journal } = wordsIn(about);
    return replica === own || journal === undefined ? [] : [[replica, journal.line]];
  });
  return Object.fromEntries(lines);
}

function areTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function isHead(value: unknown): value is ChainHead {
  return isRecord(value) && Number.isSafeInteger(value['line']) && typeof value['digest'] === 'string';
}

/** Of records that are left aside, in one sentence. */
const mostNamed = 20;

/** `hidden`: what the watch does not show. `marked`: those that nobody can change, with their keys. */
export function sharedStatus(
  { replicas, unusable, trouble, place, size, silentMs, sealedAs }: KubernetesStore,
  {
    replica,
    hidden,
    marked,
    rights,
  }: {
    replica: string;
    hidden: Pick<HiddenRecords, 'names' | 'inTheWay'>;
    marked: ReadonlyMap<string, string>;
    rights: Pick<RecordRights, 'trouble' | 'lackedCount'>;
  },
): SharedStatus {
  const { live } = replicas;
  const troubles = [trouble, rights.trouble].filter((each) => each !== undefined);
  const newer = [...unusable].filter(([, why]) => isOfNewer(why));
  const doubted = [...unusable].filter(([, why]) => !isOfNewer(why));
  if (doubted.length > 0) {
    const [are, give] = doubted.length === 1 ? ['is', 'lets'] : ['are', 'let'];
    troubles.push(
      `${counted(doubted.length, 'record')} in ${place} ${are} not believed and ${give} nobody in: ${namedText(doubted)}; the log names all with their reasons, and \`hostward doctor\` says what to do`,
    );
  }
  if (newer.length > 0) {
    const [are, give] = newer.length === 1 ? ['is', 'lets'] : ['are', 'let'];
    troubles.push(
      `${counted(newer.length, 'record')} in ${place} ${are} of a newer version of Hostward and ${give} nobody in here: ${namedText(newer)}; run that version, or a newer one, on all replicas`,
    );
  }
  const { names, inTheWay } = hidden;
  if (names.length > 0)
    troubles.push(
      `${counted(names.length, 'record')} in ${place} ${names.length === 1 ? 'has lost its label and counts' : 'have lost their label and count'} as deleted; the first is ${names[0]}: delete the Secret; the log names all`,
    );
  if (inTheWay.length > 0)
    troubles.push(
      `${counted(inTheWay.length, 'Secret')} of another type in ${place} ${inTheWay.length === 1 ? 'has the name of a record, which counts' : 'have the names of records, which count'} as deleted; the first is ${inTheWay[0]}: delete the Secret; the log names all`,
    );
  const [fixed] = marked;
  if (fixed !== undefined) troubles.push(markedText(fixed, marked.size, place));
  return {
    ...{ place, replica, troubles },
    replicas: live.map((one) => replicaRow(one, one.replica === replica ? Math.round(silentMs) : undefined)),
    isSealed: sealedAs !== undefined,
    aside: unusable.size,
    missingRights: rights.lackedCount,
    sweeper: live.find(({ about }) => wordsIn(about).sweeps === true)?.replica,
    lagMs: Math.round(silentMs),
    ...size,
  };
}

function namedText([first, ...others]: readonly [string, string][]): string {
  if (first === undefined) return '';
  const named = others.slice(0, mostNamed - 1).map(([name]) => `, ${name}`);
  const more = others.length > named.length ? ` and ${others.length - named.length} more` : '';
  return `${first[0]} (${first[1]})${named.join('')}${more}`;
}

function markedText([name, key]: [string, string], count: number, place: string): string {
  const [are, they] = count === 1 ? ['is', 'it'] : ['are', 'they'];
  return `${counted(count, 'record')} in ${place} ${are} marked immutable, so that ${they} cannot be disabled or rotated; the first is ${name}, ${recordText(key, keyPrefix)}: delete that object, which works, and make a new one; the log names all`;
}

/** For `hostward status`. `silentMs`: of this replica, which knows it better than its last heartbeat. */
function replicaRow({ replica, about, heardMsAgo }: LiveReplica, silentMs: number | undefined): ReplicaStatus {
  const { lagMs, sweeps, configuration, peppers, tokenKeys } = wordsIn(about);
  return {
    replica,
    heardSecondsAgo: Math.round(heardMsAgo / 100) / 10,
    lagMs: silentMs ?? lagMs,
    sweeps: sweeps === true ? 'yes' : undefined,
    generation: configuration === undefined ? undefined : Number(configuration.split(' ')[0]),
    peppers: versionNames(peppers),
    tokenKeys: versionNames(tokenKeys),
  };
}

/** Versions as replicas report them: the first part is known to people, and the rest distinguishes two secrets of one version. */
function versionNames(versions: readonly string[] | undefined): string | undefined {
  return versions?.map((version) => version.split(' ')[0]).join(', ');
}

/** A version whose bytes are others on another replica. Names of peppers are a version and a digest. */
export function differentPepper(
  own: readonly string[],
  others: readonly OtherReplica[],
): { replica: string; version: string } | undefined {
  const versionOf = (name: string) => name.split(' ')[0] ?? '';
  for (const { replica, words } of others)
    for (const name of words.peppers ?? [])
      if (!own.includes(name) && own.some((one) => versionOf(one) === versionOf(name)))
        return { replica, version: versionOf(name) };
  return undefined;
}
