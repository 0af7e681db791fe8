// Reads the records of the host, and remembers which of them nobody can read or believe: they are left as they are, and all others are
// served.
import type { StoredRecord } from '../store.ts';
import type { HostRecord } from './host-records.ts';
import { type ReadRecord, readRecord } from './record-format.ts';
import type { Seals } from './seals.ts';
import type { Predecessor, Succession } from './succession.ts';

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

  constructor(options: RecordReaderOptions, proof: { seals: () => Seals; succession: Succession }) {
    this.#options = options;
    this.#proof = proof;
  }

  /** The records that are left aside, by name. */
  get aside(): ReadonlyMap<string, string> {
    return this.#aside;
  }

  /** `known`: what was known of the name so far; undefined = nothing can be. */
  read(found: HostRecord, offset: number, known?: Predecessor): ReadRecord {
    const read = readRecord(found, offset);
    if (read.kind === 'unusable') return read;
    const { succession } = this.#proof;
    const seals = this.#proof.seals();
    const forged = seals.fault(found);
    if (forged !== undefined) return { kind: 'unusable', why: forged };
    if (read.kind !== 'record') return read;
    const { isUsable = () => true } = this.#options;
    if (!isUsable(read.record)) return { kind: 'unusable', why: 'its value is damaged' };
    const old = known && seals.isSealed ? succession.fault(found, read.record.value, known) : undefined;
    return old === undefined ? read : { kind: 'unusable', why: old };
  }

  /** Of the present state of a record, or undefined for one that is gone. `last`: what was believed of it until now. */
  note(name: string, read: ReadRecord | undefined, last?: StoredRecord): void {
    const why = read?.kind === 'unusable' ? read.why : undefined;
    if (why === undefined) this.#proof.succession.settled(name);
    else if (last !== undefined) this.#proof.succession.spoiled(name, last);
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
