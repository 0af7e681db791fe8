// A list of many items in which an insert or a removal costs the same at every place. A plain array moves all items behind the
// place, so a patch with thousands of inserts at the front of a million items would take seconds.
import { isJsonObject, type Json, type JsonObject, setMember } from '../text/json.ts';

/** A shorter list stays an array: moving so few items costs less than a microsecond. */
const leastItems = 1_024;
/** A piece of the list is split when it has twice as many items. */
const pieceItems = 1_024;

export class LongList {
  readonly #pieces: Json[][] = [];
  length: number;

  constructor(items: readonly Json[]) {
    this.length = items.length;
    for (let at = 0; at < items.length; at += pieceItems) this.#pieces.push(items.slice(at, at + pieceItems));
  }

  /** The index is inside the list, here and below. */
  item(index: number): Json {
    const { piece, at } = this.#find(index);
    return piece[at] as Json;
  }

  replace(index: number, item: Json): void {
    const { piece, at } = this.#find(index);
    piece[at] = item;
  }

  /** The index may also be the length. */
  insert(index: number, item: Json): void {
    if (this.#pieces.length === 0) this.#pieces.push([]);
    const { piece, place, at } = this.#find(index);
    piece.splice(at, 0, item);
    this.length++;
    if (piece.length >= 2 * pieceItems) this.#pieces.splice(place + 1, 0, piece.splice(pieceItems));
  }

  remove(index: number): void {
    const { piece, place, at } = this.#find(index);
    piece.splice(at, 1);
    this.length--;
    if (piece.length === 0) this.#pieces.splice(place, 1);
  }

  *[Symbol.iterator](): Generator<Json> {
    for (const piece of this.#pieces) yield* piece;
  }

  /** For JSON.stringify. */
  toJSON(): Json[] {
    return this.#pieces.flat();
  }

  #find(index: number): { piece: Json[]; place: number; at: number } {
    let at = index;
    let place = 0;
    let piece = this.#pieces[0] as Json[];
    while (at > piece.length || (at === piece.length && place + 1 < this.#pieces.length)) {
      at -= piece.length;
      place++;
      piece = this.#pieces[place] as Json[];
    }
    return { piece, place, at };
  }
}

/** A copy in which long lists are LongLists. The type does not show this: readers of the copy must ask `isLongList` first. */
export function copyWithLongLists(value: Json): Json {
  if (isLongList(value)) return asJson(new LongList(value.toJSON().map(copyWithLongLists)));
  if (Array.isArray(value)) {
    const items = value.map(copyWithLongLists);
    return items.length < leastItems ? items : asJson(new LongList(items));
  }
  return isJsonObject(value) ? mapMembers(value, copyWithLongLists) : value;
}

/** The same value with arrays again. */
export function withoutLongLists(value: Json): Json {
  if (isLongList(value)) return value.toJSON().map(withoutLongLists);
  if (Array.isArray(value)) return value.map(withoutLongLists);
  return isJsonObject(value) ? mapMembers(value, withoutLongLists) : value;
}

export function isLongList(value: unknown): value is LongList {
  return value instanceof LongList;
}

function asJson(list: LongList): Json {
  return list as unknown as Json;
}

function mapMembers(object: JsonObject, change: (member: Json) => Json): JsonObject {
  // The spread keeps the hidden class of the original, which is several times faster than a copy member by member.
  const copy: JsonObject = { ...object };
  for (const name in copy) {
    const member = copy[name];
    // JSON has no undefined, but a value built in code may have it.
    if (member === undefined) delete copy[name];
    else if (typeof member === 'object' && member !== null) setMember(copy, name, change(member));
  }
  return copy;
}
