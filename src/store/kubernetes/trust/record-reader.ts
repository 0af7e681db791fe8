// Reads the records of the host, and remembers which of them nobody can read or believe: they are left as they are, and all others are
// served.
import type { StoredRecord } from '../store.ts';
import type { HostRecord } from './host-records.ts';
import { type ReadRecord, readRecord } from './record-format.ts';
import type { Seals } from './seals.ts';
import { type Succession, tooOld } from './succession.ts';

/** Why a record with a good seal is not the newest one. */
export type Judge = (found: HostRecord, record: StoredRecord) => string | undefined;

export interface RecordReaderOptions {
  /** False for a value that nobody could read; default: every value is good. */
  isUsable?: (record: StoredRecord) => boolean;
  /** Called for a record that is left aside, and for one that is good again (`why` undefined). */
  unusable?: (name: string, why: string | undefined) => void;
}

export class RecordReader {
  readonly #options: RecordReaderOptions;
  readonly #proof: { seals: () => Seals; succession: Succession };
  readonly #aside = new Map<string, string>();
  /** Versions of those among them that somebody has put back. */
  readonly #putBack = new Map<string, number>();

  constructor(options: RecordReaderOptions, proof: { seals: () => Seals; succession: Succession }) {
    this.#options = options;
    this.#proof = proof;
  }

  /** The records that are left aside, by name. */
  get aside(): ReadonlyMap<string, string> {
    return this.#aside;
  }

  get putBack(): ReadonlyMap<string, number> {
    return this.#putBack;
  }

  /** `judge`: undefined where nothing can be known of the records so far. */
  read(found: HostRecord, offset: number, judge?: Judge): ReadRecord {
    const read = readRecord(found, offset);
    if (read.kind === 'unusable') return read;
    const seals = this.#proof.seals();
    const forged = seals.fault(found);
    if (forged !== undefined) return { kind: 'unusable', why: forged };
    if (read.kind !== 'record') return read;
    const { isUsable = () => true } = this.#options;
    if (!isUsable(read.record)) return { kind: 'unusable', why: 'its value is damaged' };
    if (!seals.isSealed) return read;
    const isKnown = this.#putBack.get(found.name) === found.version;
    const old = isKnown ? tooOld : judge?.(found, read.record);
    return old === undefined ? read : { kind: 'unusable', why: old, putBackAt: found.version };
  }

  /** Of the present state of a record, or undefined for one that is gone. `last`: what was believed of it until now. */
  note(name: string, read: ReadRecord | undefined, last?: StoredRecord): void {
    const why = read?.kind === 'unusable' ? read.why : undefined;
    if (why === undefined) this.#proof.succession.settled(name);
    else if (last !== undefined) this.#proof.succession.spoiled(name, last);
    if (read?.kind === 'unusable' && read.putBackAt !== undefined) this.#putBack.set(name, read.putBackAt);
    else this.#putBack.delete(name);
    if (this.#aside.get(name) === why) return;
    if (why === undefined) this.#aside.delete(name);
    else this.#aside.set(name, why);
    this.#options.unusable?.(name, why);
  }

  /** After a whole list. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const name of [...this.#aside.keys()]) if (!names.has(name)) this.note(name, undefined);
  }
}
