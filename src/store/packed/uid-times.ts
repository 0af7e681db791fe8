// A time for each of very many uids, in forty bytes or so instead of two hundred. In: uids and milliseconds.
import { packedUid } from './packed-ids.ts';
import { TextIndex } from './text-index.ts';

const uidBytes = 16;
const smallest = 64;

export class UidTimes {
  readonly #byUid = new TextIndex((row, uid) =>
    this.#uids.subarray(row * uidBytes, (row + 1) * uidBytes).equals(bytesOf(uid)),
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
    if (!isPacked(uid)) return this.#others.get(uid);
    const row = this.#byUid.find(uid);
    return row === undefined ? undefined : this.#times[row];
  }

  set(uid: string, time: number): void {
    if (!isPacked(uid)) {
      this.#others.set(uid, time);
      return;
    }
    const row = this.#byUid.find(uid) ?? this.#add(uid);
    this.#times[row] = time;
  }

  delete(uid: string): void {
    this.#others.delete(uid);
    const row = isPacked(uid) ? this.#byUid.find(uid) : undefined;
    if (row === undefined) return;
    this.#byUid.remove(uid, row);
    this.#free.push(row);
  }

  #add(uid: string): number {
    const row = this.#free.pop() ?? this.#grow();
    this.#uids.set(bytesOf(uid), row * uidBytes);
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

function isPacked(uid: string): boolean {
  return uid.length === 36 && !packedUid(uid).startsWith('!');
}

function bytesOf(uid: string): Buffer {
  return Buffer.from(packedUid(uid), 'base64url');
}
