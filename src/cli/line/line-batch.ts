// Gathers the lines of one turn of the event loop into one write, because a write for each line would cost a system call for
// every synced object. In: lines. Out: the same lines in the same order, when the turn is over at the latest.

/** A larger batch saves no time and makes the reader wait. */
const batchLimit = 64 * 1024;

export class LineBatch {
  readonly #write: (text: string) => void;
  #lines: string[] = [];
  #length = 0;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  add(line: string): void {
    if (this.#lines.length === 0) setImmediate(() => this.flush());
    this.#lines.push(line);
    this.#length += line.length;
    if (this.#length >= batchLimit) this.flush();
  }

  flush(): void {
    if (this.#lines.length === 0) return;
    const text = this.#lines.join('');
    this.#lines = [];
    this.#length = 0;
    this.#write(text);
  }
}
