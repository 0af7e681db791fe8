// What a replica that starts knows of records that it has not seen yet: in their heartbeats the replicas have said how far they had
// read, and what they did not believe. Who puts a record back while none of them looks gives it a version that none has reached, and
// cannot say that its writer had read the store lately. In: the heartbeats. Out: whether a record is too old.
import type { StoredRecord } from '../../store.ts';
import type { HostRecord } from '../records/host-records.ts';
import { replicaName, type Sight } from '../records/record-format.ts';
import { mostTold } from './graves.ts';
import type { AgeVerdict, Succession } from './succession.ts';

export interface Told {
  /** The host's version of the record that this replica wrote about itself. */
  version: number;
  sight: Sight | undefined;
}

/** `replaced`: the revision before the record, or undefined for a new one. True if this replica has seen that later. */
export type IsRevoked = (record: StoredRecord, replaced: number | undefined) => boolean;

/** More are no accident with single records, and a heartbeat must stay small. */
export const mostPutBack = 500;
export const seenSetBack = 'the cluster was set back, as another replica has seen';

export class LastSeen {
  readonly #putBack: ReadonlySet<string>;
  readonly #guesses: ReadonlySet<string>;
  readonly #sights: readonly Sight[];
  readonly #reached: number;
  readonly since: number;
  /** False where a replica could not tell all deletions. */
  readonly isSinceCertain: boolean;
  /** What was deleted, as far as the replicas had read. */
  readonly gone: readonly string[];
  /** True if a replica had more records that it did not believe than it could name. */
  readonly isIncomplete: boolean;
  /** A replica has seen a later state. */
  readonly isSetBack: boolean;

  constructor(told: readonly Told[], epoch: string) {
    const sights = told.flatMap(({ sight }) => (sight?.epoch === epoch ? [sight] : []));
    this.#sights = sights;
    this.#putBack = new Set(sights.flatMap(({ putBack }) => (putBack === 'tooMany' ? [] : putBack)));
    this.#guesses = new Set(sights.flatMap(({ guesses }) => guesses));
    this.isIncomplete = sights.some(({ putBack }) => putBack === 'tooMany');
    this.isSetBack = sights.some(({ isSetBack }) => isSetBack);
    this.since = Math.max(0, ...sights.map(({ since }) => since));
    this.isSinceCertain = sights.every(({ gone }) => gone.length < mostTold);
    this.gone = sights.flatMap(({ gone }) => gone);
    // A replica of an older version does not say how far it had read, and records of its time say less.
    const older = told.filter(({ sight }) => sight === undefined).map(({ version }) => version);
    const reached = sights.map((sight) => sight.reached);
    this.#reached = reached.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...reached, ...older);
  }

  /** What the replicas have said in their heartbeats. */
  told(found: Pick<HostRecord, 'name' | 'version'>): AgeVerdict {
    const place = placeOf(found);
    if (this.#putBack.has(place)) return 'old';
    const isGuess = this.#guesses.has(place) && !this.#sights.some((sight) => believes(sight, found));
    return isGuess ? 'perhapsOld' : undefined;
  }

  /** `succession`: has heard what was told here. */
  verdict(found: HostRecord, record: StoredRecord, by: { succession: Succession; isRevoked: IsRevoked }): AgeVerdict {
    const told = this.told(found);
    if (told === 'old' || (told === undefined && found.version <= this.#reached)) return told;
    const isRevoked = (replaced: number | undefined) => by.isRevoked(record, replaced);
    return by.succession.verdictOfUnheard(found, { offset: record.revision - found.version, isRevoked }) ?? told;
  }
}

/** True if a replica had read the record when it said this, and could judge it. */
export function believes({ reached, putBack, guesses }: Sight, found: Pick<HostRecord, 'name' | 'version'>): boolean {
  const place = placeOf(found);
  return reached >= found.version && putBack !== 'tooMany' && !putBack.includes(place) && !guesses.includes(place);
}

export function recordAt(place: string): { name: string; version: number } {
  const [name = '', version] = place.split('@');
  return { name, version: Number(version) };
}

export function placeOf({ name, version }: Pick<HostRecord, 'name' | 'version'>): string {
  return `${name}@${version}`;
}

/** Why the last word of this replica itself cannot be relied on. */
export function lostWord(
  { replica, told }: { replica: string; told: number },
  words: readonly (Told & { replica: string })[],
): string | undefined {
  const own = words.find((one) => one.replica === replica);
  if (own === undefined) return `record "${replicaName(replica)}", the last word of this replica, is gone or edited`;
  if (own.sight === undefined || own.sight.reached >= told) return undefined;
  return `it was set back: this replica had read up to version ${told}, and its record there says ${own.sight.reached}`;
}
