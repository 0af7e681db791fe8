// The latest events, in revision order, which all watches share with what readers keep of them (frames, parsed objects).
import type { StoreEvent } from './store.ts';
import type { EventStep } from './timeline.ts';

/** In addition to the last commit, which has at most a thousand events. */
const limits = { count: 1000, chars: 2 * 1024 * 1024 };

export class RecentEvents {
  readonly #byRevision = new Map<number, StoreEvent>();
  #chars = 0;
  /** Every later event is here. */
  #since = 0;

  get since(): number {
    return this.#since;
  }

  get(revision: number): StoreEvent | undefined {
    return this.#byRevision.get(revision);
  }

  /** Events of one commit. Makes room before and not after, so that a reader who is up to date finds all of them. */
  add(events: readonly StoreEvent[]): void {
    for (const [revision, oldest] of this.#byRevision) {
      if (this.#byRevision.size <= limits.count && this.#chars <= limits.chars) break;
      this.#byRevision.delete(revision);
      this.#chars -= charsOf(oldest);
      this.#since = revision;
    }
    for (const event of events) {
      this.#byRevision.set(event.revision, event);
      this.#chars += charsOf(event);
    }
  }

  /** All events up to this revision are unknown. */
  startAfter(revision: number): void {
    this.#byRevision.clear();
    this.#chars = 0;
    this.#since = revision;
  }

  /** The next changes of a prefix; undefined when some of them are not here. Numbers must have no gaps. */
  eventsAfter(
    revision: number,
    prefix: string,
    most: { count: number; bytes: number; upTo: number },
  ): EventStep | undefined {
    if (revision < this.#since) return undefined;
    const events: StoreEvent[] = [];
    let chars = 0;
    for (let at = revision + 1; at <= most.upTo; at++) {
      const event = this.#byRevision.get(at) as StoreEvent;
      if (!event.key.startsWith(prefix)) continue;
      chars += charsOf(event);
      if (events.length > 0 && (events.length === most.count || chars > most.bytes))
        return { events, upTo: (events.at(-1) as StoreEvent).revision };
      events.push(event);
    }
    return { events, upTo: Math.max(revision, most.upTo) };
  }
}

function charsOf({ value, previous }: StoreEvent): number {
  return value.length + (previous?.length ?? 0);
}
