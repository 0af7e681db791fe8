// The records that were read or written last, up to a number of bytes. The least recently used one goes first.
import type { StoredRecord } from '../store.ts';

/** A record without its text: the object, its key, its place in the map. */
const recordOverheadBytes = 256;

export class RecentTexts {
  readonly #mostBytes: number;
  readonly #records = new Map<string, StoredRecord>();
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): StoredRecord | undefined {
    const record = this.#records.get(key);
    if (record === undefined) return undefined;
    this.#records.delete(key);
    this.#records.set(key, record);
    return record;
  }

  put(record: StoredRecord): void {
    this.remove(record.key);
    this.#records.set(record.key, record);
    this.#bytes += sizeOf(record);
    for (const oldest of this.#records.values()) {
      if (this.#bytes <= this.#mostBytes) return;
      this.remove(oldest.key);
    }
  }

  remove(key: string): void {
    const record = this.#records.get(key);
    if (record === undefined) return;
    this.#records.delete(key);
    this.#bytes -= sizeOf(record);
  }
}

/** V8 takes two bytes a character at most. */
function sizeOf({ key, value }: StoredRecord): number {
  return recordOverheadBytes + 2 * (key.length + value.length);
}
