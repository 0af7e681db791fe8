// Says in the log which keys of others are known to users who have left, once for each change.
import type { Clock } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import type { KeyBook } from '../../keys/book/key-book.ts';
import type { KeyWorld } from '../../keys/life/credential.ts';
import { keysOfLeavers, leaverSentence } from '../../keys/life/leavers.ts';

export class SaidLeavers {
  readonly #options: { clock: Clock; log: Log };
  #said: ReadonlySet<string> = new Set();

  constructor(options: { clock: Clock; log: Log }) {
    this.#options = options;
  }

  look({ book, world }: { book: Pick<KeyBook, 'heldByOthers'>; world: KeyWorld }): void {
    const { clock, log } = this.#options;
    const said = keysOfLeavers(book.heldByOthers(), world, clock.wallTime().getTime()).map(leaverSentence);
    for (const line of said) if (!this.#said.has(line)) log.warn({ component: 'management' }, line);
    this.#said = new Set(said);
  }
}
