// Reads the records of the host, and remembers which of them nobody can read: they are left as they are, and all others are served.
import type { StoredRecord } from '../store.ts';
import type { HostRecord } from './host-records.ts';
import { type ReadRecord, readRecord } from './record-format.ts';

export interface RecordReaderOptions {
  /** False for a value that nobody could read; default: every value is good. */
  isUsable?: (record: StoredRecord) => boolean;
  /** Hears of a record that is left aside, and of one that is good again (`why` undefined). */
  unusable?: (name: string, why: string | undefined) => void;
}

export class RecordReader {
  readonly #options: RecordReaderOptions;
  readonly #aside = new Map<string, string>();

  constructor(options: RecordReaderOptions) {
    this.#options = options;
  }

  /** Names of the records that are left aside. */
  get aside(): readonly string[] {
    return [...this.#aside.keys()];
  }

  read(found: HostRecord, offset: number): ReadRecord {
    const read = readRecord(found, offset);
    const { isUsable = () => true } = this.#options;
    if (read.kind !== 'record' || isUsable(read.record)) return read;
    return { kind: 'unusable', why: 'its value is damaged' };
  }

  /** Of the present state of a record, or undefined for one that is gone. */
  note(name: string, read: ReadRecord | undefined): void {
    const why = read?.kind === 'unusable' ? read.why : undefined;
    if (this.#aside.get(name) === why) return;
    if (why === undefined) this.#aside.delete(name);
    else this.#aside.set(name, why);
    this.#options.unusable?.(name, why);
  }

  /** After a whole list. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const name of this.aside) if (!names.has(name)) this.note(name, undefined);
  }
}
