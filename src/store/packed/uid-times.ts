// A time for each of very many uids, in forty bytes or so instead of two hundred. In: uids and milliseconds.
import { isUuid } from './packed-ids.ts';
import { TextIndex } from './text-index.ts';

const uidBytes = 16;
const smallest = 64;

export class UidTimes {
  readonly #byUid = new TextIndex(
    (row, uid) => this.#uids.compare(bytesOf(uid), 0, uidBytes, row * uidBytes, (row + 1) * uidBytes) === 0,
  );
  readonly #free: number[] = [];
  /** uids that are no UUIDs, of which nobody makes many. */
  readonly #others = new Map<string, number>();
  /** A request asks several times in a row for its own key. */
  #last: { uid: string; row: number | undefined } | undefined;
  #length = 0;
  #uids = Buffer.alloc(smallest * uidBytes);
  #times = new Float64Array(smallest);

  get bytes(): number {
    return this.#uids.length + this.#times.byteLength + this.#byUid.bytes;
  }

  get(uid: string): number | undefined {
    const row = this.#find(uid);
    return row === undefined ? this.#others.get(uid) : this.#times[row];
  }

  set(uid: string, time: number): void {
    const row = this.#find(uid) ?? (isUuid(uid) ? this.#add(uid) : undefined);
    if (row === undefined) this.#others.set(uid, time);
    else this.#times[row] = time;
  }

  delete(uid: string): void {
    const row = this.#find(uid);
    if (row === undefined) {
      this.#others.delete(uid);
      return;
    }
    this.#byUid.remove(uid, row);
    this.#free.push(row);
    this.#last = undefined;
  }

  #find(uid: string): number | undefined {
    if (this.#last?.uid !== uid) this.#last = { uid, row: isUuid(uid) ? this.#byUid.find(uid) : undefined };
    return this.#last.row;
  }

  #add(uid: string): number {
    const row = this.#free.pop() ?? this.#grow();
    this.#uids.set(bytesOf(uid), row * uidBytes);
    this.#byUid.add(uid, row);
    this.#last = { uid, row };
    return row;
  }

  #grow(): number {
    if (this.#length === this.#times.length) {
      const [uids, times] = [this.#uids, this.#times];
      this.#uids = Buffer.alloc(uids.length * 2);
      this.#uids.set(uids);
      this.#times = new Float64Array(times.length * 2);
      this.#times.set(times);
    }
    return this.#length++;
  }
}

function bytesOf(uid: string): Buffer {
  return Buffer.from(uid.replaceAll('-', ''), 'hex');
}
