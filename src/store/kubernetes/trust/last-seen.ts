// What a replica that starts knows of records that it has not seen yet: in their heartbeats the replicas have said how far they had
// read, and what they did not believe. Who puts a record back while none of them looks gives it a version that none has reached, and
// cannot say that its writer had read the store lately. In: the heartbeats. Out: why a record is too old.
import type { StoredRecord } from '../store.ts';
import type { HostRecord } from './host-records.ts';
import { type Sight, versionsIn } from './record-format.ts';
import { Graves, tooOld } from './succession.ts';

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
  readonly #isRevoked: IsRevoked;
  readonly #putBack: ReadonlySet<string>;
  readonly #reached: number;
  readonly since: number;
  /** What was deleted, as far as the replicas had read. */
  readonly gone: readonly string[];
  readonly #graves = new Graves();
  /** True if a replica had more records that it did not believe than it could name. */
  readonly isIncomplete: boolean;
  /** A replica has seen a later state. */
  readonly isSetBack: boolean;

  constructor(told: readonly Told[], { epoch, isRevoked }: { epoch: string; isRevoked: IsRevoked }) {
    this.#isRevoked = isRevoked;
    const sights = told.flatMap(({ sight }) => (sight?.epoch === epoch ? [sight] : []));
    this.#putBack = new Set(sights.flatMap(({ putBack }) => (putBack === 'tooMany' ? [] : putBack)));
    this.isIncomplete = sights.some(({ putBack }) => putBack === 'tooMany');
    this.isSetBack = sights.some(({ isSetBack }) => isSetBack);
    this.since = Math.max(0, ...sights.map(({ since }) => since));
    this.gone = sights.flatMap(({ gone }) => gone);
    this.#graves.hear(this.gone);
    // A replica of an older version does not say how far it had read, and records of its time say less.
    const older = told.filter(({ sight }) => sight === undefined).map(({ version }) => version);
    const reached = sights.map((sight) => sight.reached);
    this.#reached = reached.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...reached, ...older);
  }

  /** A replica has said so in its heartbeat. */
  wasPutBack(found: Pick<HostRecord, 'name' | 'version'>): boolean {
    return this.#putBack.has(placeOf(found));
  }

  fault(found: HostRecord, record: StoredRecord): string | undefined {
    if (this.wasPutBack(found)) return tooOld;
    if (found.version <= this.#reached) return undefined;
    const { after, created, replaced } = versionsIn(found.data);
    if (after === undefined || after < this.since) return tooOld;
    if (this.#graves.isGoneAfter(found.name, created ?? after)) return tooOld;
    const offset = record.revision - found.version;
    return this.#isRevoked(record, replaced === undefined ? undefined : replaced + offset) ? tooOld : undefined;
  }
}

export function recordAt(place: string): { name: string; version: number } {
  const [name = '', version] = place.split('@');
  return { name, version: Number(version) };
}

export function placeOf({ name, version }: Pick<HostRecord, 'name' | 'version'>): string {
  return `${name}@${version}`;
}
