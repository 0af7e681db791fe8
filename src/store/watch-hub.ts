// Tells watches of committed changes. A watch holds no changes but a place in the history, and reads on from there in small steps,
// so that a thousand slow readers cost no more memory than the history. When the history has forgotten the place of a reader, the
// watch ends. Must never copy or encode events: all watches share them.
import { RecentEvents } from './recent-events.ts';
import type { StoreEvent, StoreWatch } from './store.ts';
import type { EventStep } from './timeline.ts';

/** What a watch hands out at a time: as long as its reader is busy with it, the store cannot free it. */
const stepLimits = { count: 1000, bytes: 64 * 1024 };

/** What watches read. */
export interface WatchedHistory {
  readonly revision: number;
  /** The oldest readable revision. */
  readonly compactedRevision: number;
  /** The next changes of a prefix; at once for a reader who is up to date with all but the last commit. */
  eventsAfter(revision: number, prefix: string, most: typeof stepLimits): EventStep | Promise<EventStep>;
}

export class WatchHub {
  #watchesByPrefix = new Map<string, Set<HubWatch>>();
  readonly recent = new RecentEvents();
  #history: () => WatchedHistory;

  /** The history must have a change before the change is published. */
  constructor(history: () => WatchedHistory) {
    this.#history = history;
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
      prefix,
      history: this.#history,
      shared: (event) => this.recent.get(event.revision) ?? event,
      left: (gone) => {
        watches.delete(gone);
        if (watches.size === 0 && this.#watchesByPrefix.get(prefix) === watches) this.#watchesByPrefix.delete(prefix);
      },
    });
    watches.add(watch);
    return watch;
  }

  /** The caller must publish every change once, in revision order. */
  publish(...events: StoreEvent[]): void {
    this.recent.add(events);
    for (const event of events)
      for (const [prefix, watches] of this.#watchesByPrefix)
        if (event.key.startsWith(prefix)) for (const watch of watches) watch.changed(event.revision);
  }

  /** Ends all watches with `lost` after missed changes. */
  loseAll(): void {
    for (const watches of [...this.#watchesByPrefix.values()]) for (const watch of [...watches]) watch.lose();
    this.recent.startAfter(this.#history().revision);
  }

  closeAll(): void {
    for (const watches of [...this.#watchesByPrefix.values()]) for (const watch of [...watches]) watch.close();
  }
}

interface HubWatchOptions {
  afterRevision: number;
  prefix: string;
  history: () => WatchedHistory;
  /** The same event, as all watches have it. */
  shared(event: StoreEvent): StoreEvent;
  left(watch: HubWatch): void;
}

class HubWatch implements StoreWatch {
  #ended: StoreWatch['ended'] = 'open';
  /** Everything up to this revision was handed out, or does not concern this watch. */
  #after: number;
  #isUpToDate: boolean;
  #options: HubWatchOptions;
  #wake: (() => void) | undefined;

  constructor(options: HubWatchOptions) {
    this.#options = options;
    this.#after = options.afterRevision;
    this.#isUpToDate = options.afterRevision >= options.history().revision;
  }

  get ended(): StoreWatch['ended'] {
    const isBehindHistory = !this.#isUpToDate && this.#after < this.#options.history().compactedRevision;
    if (this.#ended === 'open' && isBehindHistory) this.#end('overflow');
    return this.#ended;
  }

  get upTo(): number {
    return this.#isUpToDate ? Math.max(this.#after, this.#options.history().revision) : this.#after;
  }

  changed(revision: number): void {
    if (this.#ended !== 'open' || revision <= this.#after || !this.#isUpToDate) return;
    // The changes before it do not concern this watch.
    this.#after = revision - 1;
    this.#isUpToDate = false;
    this.#wake?.();
  }

  close(): void {
    if (this.ended === 'open') this.#end('closed');
  }

  /** Also one that is behind, and would end as too slow. */
  lose(): void {
    if (this.#ended === 'open') this.#end('lost');
  }

  async *events(): AsyncGenerator<StoreEvent[], void, undefined> {
    try {
      while (this.ended === 'open') {
        if (this.#isUpToDate) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
          this.#wake = undefined;
        } else {
          const { history, prefix, shared } = this.#options;
          const reading = history().eventsAfter(this.#after, prefix, stepLimits);
          // Without a wait, a reader who is up to date has a change before the writer has its answer.
          const step = reading instanceof Promise ? await reading : reading;
          if (this.ended !== 'open') return;
          this.#after = step.upTo;
          this.#isUpToDate = step.upTo >= history().revision;
          if (step.events.length > 0) yield step.events.map(shared);
        }
      }
    } finally {
      // Runs also when the reader breaks out of its loop.
      this.close();
    }
  }

  #end(how: 'closed' | 'overflow' | 'lost'): void {
    this.#ended = how;
    this.#options.left(this);
    this.#wake?.();
  }
}
