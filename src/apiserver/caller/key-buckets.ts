// Which keys of the store have which values of a field, packed: sixty bytes or so for each key. A bucket is a field with a value. Keys
// in the same buckets are linked in a list.
import { PackedTexts } from '../../store/packed/packed-texts.ts';
import { TextIndex } from '../../store/packed/text-index.ts';

const smallest = 64;

/** Keys that are in exactly these buckets. */
interface Group {
  id: string;
  buckets: readonly string[];
  /** Row of the first key, plus one. */
  first: number;
}

const nowhere: readonly string[] = [];

export class KeyBuckets {
  readonly #prefix: string;
  readonly #texts = new PackedTexts();
  readonly #rows = new TextIndex((row, key) => this.#texts.get(this.#places[row] as number) === key);
  readonly #groups = new Map<string, Group>();
  readonly #groupsByBucket = new Map<string, Set<Group>>();
  readonly #groupOf: (Group | undefined)[] = [];
  readonly #free: number[] = [];
  #length = 0;
  #places = new Uint32Array(smallest);
  /** The next and the previous entry in the list of the group, counted from one; 0 at an end. */
  #next = new Uint32Array(smallest);
  #previous = new Uint32Array(smallest);

  /** All keys begin with the prefix. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  bucketsOf(key: string): readonly string[] {
    const row = this.#rows.find(this.#short(key));
    return row === undefined ? nowhere : (this.#groupOf[row] as Group).buckets;
  }

  keysIn(bucket: string): string[] {
    const keys: string[] = [];
    for (const group of this.#groupsByBucket.get(bucket) ?? [])
      for (let at = group.first; at !== 0; at = this.#next[at - 1] as number)
        keys.push(this.#prefix + this.#texts.get(this.#places[at - 1] as number));
    return keys;
  }

  put(key: string, buckets: readonly string[]): void {
    const short = this.#short(key);
    const known = this.#rows.find(short);
    if (known !== undefined) this.#leave(known);
    if (buckets.length === 0) {
      if (known !== undefined) this.#forget(short, known);
      return;
    }
    const row = known ?? this.#add(short);
    const group = this.#groupWith(buckets);
    this.#groupOf[row] = group;
    this.#previous[row] = 0;
    this.#next[row] = group.first;
    if (group.first !== 0) this.#previous[group.first - 1] = row + 1;
    group.first = row + 1;
  }

  #short(key: string): string {
    return key.slice(this.#prefix.length);
  }

  #groupWith(buckets: readonly string[]): Group {
    const id = JSON.stringify(buckets);
    const known = this.#groups.get(id);
    if (known !== undefined) return known;
    const group = { id, buckets, first: 0 };
    this.#groups.set(id, group);
    for (const bucket of buckets) {
      const groups = this.#groupsByBucket.get(bucket) ?? new Set<Group>();
      this.#groupsByBucket.set(bucket, groups.add(group));
    }
    return group;
  }

  #leave(row: number): void {
    const group = this.#groupOf[row] as Group;
    const [next, previous] = [this.#next[row] as number, this.#previous[row] as number];
    if (next !== 0) this.#previous[next - 1] = previous;
    if (previous !== 0) this.#next[previous - 1] = next;
    else group.first = next;
    this.#groupOf[row] = undefined;
    if (group.first !== 0) return;
    this.#groups.delete(group.id);
    for (const bucket of group.buckets) {
      const groups = this.#groupsByBucket.get(bucket);
      groups?.delete(group);
      if (groups?.size === 0) this.#groupsByBucket.delete(bucket);
    }
  }

  #add(short: string): number {
    const row = this.#free.pop() ?? this.#grow();
    this.#places[row] = this.#texts.put(short);
    this.#rows.add(short, row);
    return row;
  }

  #forget(short: string, row: number): void {
    this.#rows.remove(short, row);
    this.#texts.remove(this.#places[row] as number);
    this.#free.push(row);
  }

  #grow(): number {
    if (this.#length === this.#places.length)
      [this.#places, this.#next, this.#previous] = [
        doubled(this.#places),
        doubled(this.#next),
        doubled(this.#previous),
      ];
    return this.#length++;
  }
}

function doubled(column: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const longer = new Uint32Array(column.length * 2);
  longer.set(column);
  return longer;
}
