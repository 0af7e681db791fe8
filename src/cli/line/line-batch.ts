// Gathers what is written in one turn of the process and writes it as one text: a line at a time would cost a system call
// for every object synced. In: texts. Out: the same texts in the same order, at the latest when the turn is over.

/** Longer than this is not worth gathering, and a reader should not wait for it. */
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
