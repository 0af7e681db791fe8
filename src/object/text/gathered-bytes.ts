// Bytes of one text that arrive in chunks. A chunk of one byte costs several hundred bytes as a Buffer of its own, so a
// peer that sends single bytes could fill our memory within every limit on bytes: short chunks are copied into blocks.

/** A longer chunk is kept as it came: for it the cost of a Buffer no longer counts. */
const blockBytes = 16 * 1024;

export class GatheredBytes {
  #pieces: Buffer[] = [];
  #block: Buffer | undefined;
  #blockUsed = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(chunk: Buffer): void {
    if (chunk.length === 0) return;
    // Most texts arrive as one chunk and are never copied.
    const isKept = this.#size === 0 || chunk.length >= blockBytes;
    this.#size += chunk.length;
    if (isKept) {
      this.#closeBlock();
      this.#pieces.push(chunk);
      return;
    }
    if (this.#block !== undefined && this.#blockUsed + chunk.length > blockBytes) this.#closeBlock();
    this.#block ??= Buffer.allocUnsafeSlow(blockBytes);
    chunk.copy(this.#block, this.#blockUsed);
    this.#blockUsed += chunk.length;
  }

  /** All bytes so far, in order; afterwards nothing is kept here. */
  take(): Buffer {
    this.#closeBlock();
    const pieces = this.#pieces;
    const size = this.#size;
    this.#pieces = [];
    this.#size = 0;
    const [first] = pieces;
    return first !== undefined && pieces.length === 1 ? first : Buffer.concat(pieces, size);
  }

  #closeBlock(): void {
    if (this.#block !== undefined) this.#pieces.push(this.#block.subarray(0, this.#blockUsed));
    this.#block = undefined;
    this.#blockUsed = 0;
  }
}
