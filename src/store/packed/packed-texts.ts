// Keeps many short texts outside of the heap: a million strings of V8 would take twice their length, and the garbage collector would
// visit each of them again and again. In: a text. Out: the place where it lies, a number below 2 ** 32.

const chunkBytes = 1024 * 1024;
const unitBytes = 32;
const unitsOfChunk = chunkBytes / unitBytes;
/** The length comes before the text. */
const headBytes = 4;
/** Above this length blocks come in few sizes, so that a block that became free fits the next text. */
const fineUnits = 16;
const coarseStep = 8;

export class PackedTexts {
  readonly #chunks: Buffer[] = [];
  readonly #free = new Map<number, number[]>();
  #nextUnit = unitsOfChunk;
  #bytes = 0;

  /** Of all chunks, free blocks included. */
  get bytes(): number {
    return this.#bytes;
  }

  put(text: string): number {
    const length = Buffer.byteLength(text);
    const units = unitsFor(length);
    const place = this.#free.get(units)?.pop() ?? this.#grow(units);
    const chunk = this.#chunkOf(place);
    const start = startOf(place);
    chunk.writeUInt32LE(length, start);
    chunk.write(text, start + headBytes);
    return place;
  }

  get(place: number): string {
    const start = startOf(place);
    const chunk = this.#chunkOf(place);
    return chunk.toString('utf8', start + headBytes, start + headBytes + chunk.readUInt32LE(start));
  }

  remove(place: number): void {
    const units = unitsFor(this.#chunkOf(place).readUInt32LE(startOf(place)));
    const free = this.#free.get(units) ?? [];
    this.#free.set(units, free);
    free.push(place);
  }

  #grow(units: number): number {
    if (this.#nextUnit + units > unitsOfChunk) {
      // A text longer than a chunk has one for itself.
      const bytes = Math.max(chunkBytes, units * unitBytes);
      this.#chunks.push(Buffer.allocUnsafeSlow(bytes));
      this.#bytes += bytes;
      this.#nextUnit = 0;
    }
    const place = (this.#chunks.length - 1) * unitsOfChunk + this.#nextUnit;
    this.#nextUnit += units;
    return place;
  }

  #chunkOf(place: number): Buffer {
    return this.#chunks[Math.floor(place / unitsOfChunk)] as Buffer;
  }
}

function startOf(place: number): number {
  return (place % unitsOfChunk) * unitBytes;
}

function unitsFor(length: number): number {
  const units = Math.ceil((headBytes + length) / unitBytes);
  return units <= fineUnits ? units : Math.ceil(units / coarseStep) * coarseStep;
}
