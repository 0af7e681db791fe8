// Collects the bytes of one text that arrives in chunks. Short chunks are copied into blocks: a one-byte chunk would cost
// several hundred bytes as a separate Buffer, so a peer that sends single bytes could fill our memory within every limit.

/** A longer chunk is kept without a copy, because the cost of its Buffer is small in comparison. */
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
    // The first chunk is not copied, because most texts arrive as one chunk.
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

  /** Returns all bytes so far in order, and empties this object. */
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
