// The queue of work. In: keys of its parts, in any number and order. Out: turns of the parts and of their lanes, as workers
// become free. A part has the keys of one kind of one cluster; all parts share the turns of the event loop, so that none delays
// another. Must never know what a key means, not even that it names an object.
import type { Clock } from '../clock.ts';
import { QueuePart, type QueuePartOptions } from './queue-part.ts';

/** Keys whose work needs no I/O would block the event loop, so a slice ends after this time or this many keys. */
const sliceMs = 8;
const sliceKeys = 500;

export class WorkQueue {
  readonly #clock: Clock;
  /** The parts with waiting keys, in the order of their next turn. */
  readonly #turns = new Set<QueuePart>();
  /** The running slice, until the event loop has had its turn. */
  #slice: { startMs: number; keys: number } | undefined;
  #isPumpDue = false;
  #isPumping = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A part has workers of its own: one whose cluster does not answer would otherwise hold those of all others. */
  part(options: Omit<QueuePartOptions, 'clock' | 'wake'>): QueuePart {
    const part: QueuePart = new QueuePart({
      ...options,
      clock: this.#clock,
      wake: ({ isLater }) => {
        this.#turns.add(part);
        if (isLater) this.#pumpLater();
        else this.#pump();
      },
    });
    return part;
  }

  /** A source that is being read may add keys, and nobody can read it again before it has answered: the running loop begins those keys. */
  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      this.#beginKeys();
    } finally {
      this.#isPumping = false;
    }
  }

  #beginKeys(): void {
    for (let part = this.#next(); part !== undefined; part = this.#next()) {
      if (this.#isSliceOver()) return;
      this.#turns.delete(part);
      this.#turns.add(part);
      part.begin();
    }
  }

  /** The next part that can begin a key; a part that cannot leaves the line until it wakes the queue. */
  #next(): QueuePart | undefined {
    for (const part of this.#turns) {
      if (part.canBegin) return part;
      this.#turns.delete(part);
    }
    return undefined;
  }

  #isSliceOver(): boolean {
    if (this.#slice === undefined) {
      this.#slice = { startMs: this.#clock.now(), keys: 0 };
      setImmediate(() => {
        this.#slice = undefined;
        this.#pump();
      });
    }
    return ++this.#slice.keys > sliceKeys || this.#clock.now() - this.#slice.startMs > sliceMs;
  }

  /** Workers that become free in one event loop turn begin together, because the processor then has their code in its cache. */
  #pumpLater(): void {
    if (this.#isPumpDue || this.#turns.size === 0) return;
    this.#isPumpDue = true;
    setImmediate(() => {
      this.#isPumpDue = false;
      this.#pump();
    });
  }
}
