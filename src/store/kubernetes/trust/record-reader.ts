// Reads the records of the host, and remembers which of them nobody can read or believe: they are left as they are, and all others are
// served.
import type { StoredRecord } from '../../store.ts';
import type { HostRecord } from '../records/host-records.ts';
import { type ReadRecord, readRecord } from '../records/record-format.ts';
import type { Seals } from './seals.ts';
import type { AgeVerdict, Succession } from './succession.ts';

/** Whether a record with a good seal is the newest one. `guessed`: its version when it could not be judged. */
export type Judge = (found: HostRecord, record: StoredRecord, guessed: number | undefined) => AgeVerdict;

export const whyNot = {
  old: 'it is an older version of this record, which somebody has put back by hand',
  perhapsOld:
    'it may be an older version of this record, put back by hand: no replica that runs has followed the store since it was deleted',
};

export interface RecordReaderOptions {
  /** False for a value that nobody could read; default: every value is good. */
  isUsable?: (record: StoredRecord) => boolean;
  /** Called for a record that is left aside, and for one that is good again or gone (`why` undefined). */
  unusable?: (name: string, why: string | undefined, is: { gone: boolean }) => void;
}

export class RecordReader {
  readonly #options: RecordReaderOptions;
  readonly #proof: { seals: () => Seals; succession: Succession };
  readonly #aside = new Map<string, string>();
  /** Versions of those among them that somebody has put back. */
  readonly #putBack = new Map<string, number>();
  /** Those among them that could not be judged. */
  readonly #guesses = new Map<string, StoredRecord>();

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

  get guesses(): ReadonlyMap<string, StoredRecord> {
    return this.#guesses;
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
    const putBackAt = this.#putBack.get(found.name);
    const guess = this.#guesses.get(found.name);
    if (putBackAt === found.version) return unusable(found, guess);
    const verdict = judge?.(found, read.record, guess === undefined ? undefined : putBackAt);
    if (verdict === undefined) return read;
    return unusable(found, verdict === 'perhapsOld' ? read.record : undefined);
  }

  /** Of the present state of a record, or undefined for one that is gone. `last`: what was believed of it until now. */
  note(name: string, read: ReadRecord | undefined, last?: StoredRecord): void {
    const why = read?.kind === 'unusable' ? read.why : undefined;
    if (why === undefined) this.#proof.succession.settled(name);
    else if (last !== undefined) this.#proof.succession.spoiled(name, last);
    if (read?.kind === 'unusable' && read.putBackAt !== undefined) this.#putBack.set(name, read.putBackAt);
    else this.#putBack.delete(name);
    if (read?.kind === 'unusable' && read.guess !== undefined) this.#guesses.set(name, read.guess);
    else this.#guesses.delete(name);
    if (this.#aside.get(name) === why) return;
    if (why === undefined) this.#aside.delete(name);
    else this.#aside.set(name, why);
    this.#options.unusable?.(name, why, { gone: read === undefined });
  }

  /** After a whole list. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const name of [...this.#aside.keys()]) if (!names.has(name)) this.note(name, undefined);
  }
}

function unusable({ version }: HostRecord, guess: StoredRecord | undefined): ReadRecord {
  if (guess === undefined) return { kind: 'unusable', why: whyNot.old, putBackAt: version };
  return { kind: 'unusable', why: whyNot.perhapsOld, putBackAt: version, guess };
}
