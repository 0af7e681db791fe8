// Distributes committed changes to watches. A watch subscribes first, then receives its history, and skips live changes that
// the history already contained, so that no lock is needed. The hub ends the watch of a slow reader and never waits for it.
// Must never copy or encode events: all watches share them.
import type { StoreEvent, StoreWatch } from './store.ts';

/**
 * Waiting changes for one reader: several seconds of the fastest writer. For a reader that is further behind, a new list is
 * cheaper than a replay.
 */
export const defaultWatchBacklog = 10_000;

export class WatchHub {
  #watchesByPrefix = new Map<string, Set<HubWatch>>();
  #backlogLimit: number;

  constructor(options: { backlogLimit?: number } = {}) {
    this.#backlogLimit = options.backlogLimit ?? defaultWatchBacklog;
  }

  get watchCount(): number {
    let count = 0;
    for (const watches of this.#watchesByPrefix.values()) count += watches.size;
    return count;
  }

  subscribe(prefix: string, afterRevision: number): HubWatch {
    const watches = this.#watchesByPrefix.get(prefix) ?? new Set<HubWatch>();
    this.#watchesByPrefix.set(prefix, watches);
    const watch = new HubWatch({
      afterRevision,
      backlogLimit: this.#backlogLimit,
      left: (gone) => {
        watches.delete(gone);
        if (watches.size === 0 && this.#watchesByPrefix.get(prefix) === watches) this.#watchesByPrefix.delete(prefix);
      },
    });
    watches.add(watch);
    return watch;
  }

  /** The caller must publish every change once, in revision order. */
  publish(event: StoreEvent): void {
    for (const [prefix, watches] of this.#watchesByPrefix) {
      if (!event.key.startsWith(prefix)) continue;
      for (const watch of watches) watch.offer(event);
    }
  }

  /** Ends all watches with `lost` after missed changes. */
  loseAll(): void {
    for (const watches of [...this.#watchesByPrefix.values()]) for (const watch of [...watches]) watch.lose();
  }

  closeAll(): void {
    for (const watches of [...this.#watchesByPrefix.values()]) for (const watch of [...watches]) watch.close();
  }
}

export class HubWatch implements StoreWatch {
  #ended: StoreWatch['ended'] = 'open';
  #afterRevision: number;
  #backlog: StoreEvent[] = [];
  /** History at the front of the backlog, which does not count towards the limit: the reader asked for all of it at once. */
  #historyLength = 0;
  #backlogLimit: number;
  #left: (watch: HubWatch) => void;
  #wake: (() => void) | undefined;

  constructor(options: { afterRevision: number; backlogLimit: number; left: (watch: HubWatch) => void }) {
    this.#afterRevision = options.afterRevision;
    this.#backlogLimit = options.backlogLimit;
    this.#left = options.left;
  }

  get ended(): StoreWatch['ended'] {
    return this.#ended;
  }

  /** Adds the changes between the requested revision and the subscription. Must run before the first offer(). */
  replay(events: StoreEvent[]): void {
    this.#backlog = events;
    this.#historyLength = events.length;
    this.#afterRevision = Math.max(this.#afterRevision, events.at(-1)?.revision ?? 0);
  }

  offer(event: StoreEvent): void {
    if (this.#ended !== 'open' || event.revision <= this.#afterRevision) return;
    this.#afterRevision = event.revision;
    if (this.#backlog.length - this.#historyLength >= this.#backlogLimit) {
      this.#end('overflow');
      return;
    }
    this.#backlog.push(event);
    this.#wake?.();
  }

  close(): void {
    if (this.#ended === 'open') this.#end('closed');
  }

  lose(): void {
    if (this.#ended === 'open') this.#end('lost');
  }

  async *events(): AsyncGenerator<StoreEvent[], void, undefined> {
    try {
      for (;;) {
        if (this.#backlog.length > 0) {
          const batch = this.#backlog;
          this.#backlog = [];
          this.#historyLength = 0;
          yield batch;
        } else if (this.#ended === 'open') {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
          this.#wake = undefined;
        } else {
          return;
        }
      }
    } finally {
      // Runs also when the reader breaks out of its loop.
      this.close();
    }
  }

  #end(how: 'closed' | 'overflow' | 'lost'): void {
    this.#ended = how;
    this.#backlog = [];
    this.#historyLength = 0;
    this.#left(this);
    this.#wake?.();
  }
}
