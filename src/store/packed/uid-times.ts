// A time for each of very many uids, in forty bytes or so instead of two hundred. In: uids and milliseconds.
import { isUuid } from './packed-ids.ts';
import { TextIndex } from './text-index.ts';

const uidBytes = 16;
const smallest = 64;

export class UidTimes {
  readonly #byUid = new TextIndex(
    (row, uid) => this.#uids.compare(bytesOf(uid) as Buffer, 0, uidBytes, row * uidBytes, (row + 1) * uidBytes) === 0,
  );
  readonly #free: number[] = [];
  /** uids that are no UUIDs, of which nobody makes many. */
  readonly #others = new Map<string, number>();
  #length = 0;
  #uids = Buffer.alloc(smallest * uidBytes);
  #times = new Float64Array(smallest);

  get bytes(): number {
    return this.#uids.length + this.#times.byteLength + this.#byUid.bytes;
  }

  get(uid: string): number | undefined {
    if (bytesOf(uid) === undefined) return this.#others.get(uid);
    const row = this.#byUid.find(uid);
    return row === undefined ? undefined : this.#times[row];
  }

  set(uid: string, time: number): void {
    const bytes = bytesOf(uid);
    if (bytes === undefined) {
      this.#others.set(uid, time);
      return;
    }
    const row = this.#byUid.find(uid) ?? this.#add(uid, bytes);
    this.#times[row] = time;
  }

  delete(uid: string): void {
    this.#others.delete(uid);
    const row = bytesOf(uid) === undefined ? undefined : this.#byUid.find(uid);
    if (row === undefined) return;
    this.#byUid.remove(uid, row);
    this.#free.push(row);
  }

  #add(uid: string, bytes: Buffer): number {
    const row = this.#free.pop() ?? this.#grow();
    this.#uids.set(bytes, row * uidBytes);
    this.#byUid.add(uid, row);
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

/** A request asks for the uid of its own key five times in a row. */
let last: { uid: string; bytes: Buffer | undefined } = { uid: '', bytes: undefined };

/** Undefined for a uid that is no UUID. */
function bytesOf(uid: string): Buffer | undefined {
  if (last.uid !== uid)
    last = { uid, bytes: isUuid(uid) ? Buffer.from(uid.replaceAll('-', ''), 'hex') : undefined };
  return last.bytes;
}
