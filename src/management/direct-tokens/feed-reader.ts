// Sends the revocation feed to one reader, as fast as the reader reads: all revocations that there are, each change, and bookmarks.
// A bookmark is sent only when the reader has every revocation before it. In: the entries as lines. Out: bytes on an open answer.
import type { ServerResponse } from 'node:http';
import { drained } from '../../apiserver/wire/respond.ts';
import type { Clock } from '../../clock.ts';

/** The lines of all revocations after one position, up to another one. */
export interface FeedLines {
  chunks: readonly Buffer[];
  position: number;
}

export interface FeedReaderParts {
  response: ServerResponse;
  clock: Clock;
  linesAfter(position: number): FeedLines;
  /** Position of the last change. */
  newest(): number;
  mark(position: number): object;
}

/** A reader that takes no byte for this long is cut off; it connects again and begins anew. */
const stalledMs = 30_000;

export class FeedReader {
  readonly #parts: FeedReaderParts;
  #position: number;
  #owesMark = true;
  #isSending = false;
  sentBytes = 0;

  constructor(parts: FeedReaderParts, position: number) {
    this.#parts = parts;
    this.#position = position;
  }

  /** Called after a change. */
  wake(): void {
    if (this.#isSending) return;
    this.#isSending = true;
    // One change of the configuration can revoke the tokens of thousands of keys: they are sent together.
    queueMicrotask(() => void this.#send().finally(() => (this.#isSending = false)));
  }

  /** Sends a sign of life. */
  beat(): void {
    this.#owesMark = true;
    this.wake();
  }

  async #send(): Promise<void> {
    const { linesAfter, newest, mark } = this.#parts;
    while (!this.#isOver()) {
      if (this.#position < newest()) {
        const { chunks, position } = linesAfter(this.#position);
        for (const chunk of chunks) if (!(await this.#write(chunk))) return;
        this.#position = position;
      } else if (this.#owesMark) {
        this.#owesMark = false;
        await this.#write(Buffer.from(`${JSON.stringify(mark(this.#position))}\n`));
      } else return;
    }
  }

  /** Resolves when the reader can take more; false = the answer is over. */
  async #write(bytes: Buffer): Promise<boolean> {
    const { response, clock } = this.#parts;
    // The end waits for the client to read; a line behind it would be a fault that nothing catches.
    if (this.#isOver()) return false;
    this.sentBytes += bytes.length;
    if (response.write(bytes)) return true;
    const timer = clock.after(stalledMs, () => response.destroy());
    await drained(response);
    timer.cancel();
    return !this.#isOver();
  }

  #isOver(): boolean {
    const { writableEnded, destroyed } = this.#parts.response;
    return writableEnded || destroyed;
  }
}
