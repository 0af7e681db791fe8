// Tells watches of committed changes. A watch holds no changes but a place in the history, and reads on from there in small steps,
// so that a thousand slow readers cost no more memory than the history. When the history has forgotten the place of a reader, the
// watch ends. Must never copy or encode events: all watches share them.
import type { StoreEvent, StoreWatch } from './store.ts';
import { eventOf, type Timeline, type Version } from './timeline.ts';

/** What a watch hands out at a time: as long as its reader is busy with it, the store cannot free it. */
const stepLimits = { count: 1000, bytes: 64 * 1024 };

/** The latest events, which all watches share, with what readers keep of them (frames, parsed objects). A commit has at most 1,000. */
const sharedLimits = { count: 1000, bytes: 2 * 1024 * 1024 };

export class WatchHub {
  #watchesByPrefix = new Map<string, Set<HubWatch>>();
  #shared = new Map<number, StoreEvent>();
  #sharedBytes = 0;
  #timeline: () => Timeline;

  /** The timeline must have a change before the change is published. */
  constructor(timeline: () => Timeline) {
    this.#timeline = timeline;
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
      timeline: this.#timeline,
      eventOf: (version) => this.#shared.get(version.revision) ?? eventOf(version),
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
    if (this.#watchesByPrefix.size === 0) return;
    this.#share(event);
    for (const [prefix, watches] of this.#watchesByPrefix) {
      if (!event.key.startsWith(prefix)) continue;
      for (const watch of watches) watch.changed(event.revision);
    }
  }

  /** Ends all watches with `lost` after missed changes. */
  loseAll(): void {
    for (const watches of [...this.#watchesByPrefix.values()]) for (const watch of [...watches]) watch.lose();
    this.#shared.clear();
    this.#sharedBytes = 0;
  }

  closeAll(): void {
    for (const watches of [...this.#watchesByPrefix.values()]) for (const watch of [...watches]) watch.close();
  }

  #share(event: StoreEvent): void {
    this.#shared.set(event.revision, event);
    this.#sharedBytes += charsOf(event);
    for (const [revision, oldest] of this.#shared) {
      if (this.#shared.size <= sharedLimits.count && this.#sharedBytes <= sharedLimits.bytes) return;
      this.#shared.delete(revision);
      this.#sharedBytes -= charsOf(oldest);
    }
  }
}

interface HubWatchOptions {
  afterRevision: number;
  prefix: string;
  timeline: () => Timeline;
  eventOf(version: Version): StoreEvent;
  left(watch: HubWatch): void;
}

export class HubWatch implements StoreWatch {
  #ended: StoreWatch['ended'] = 'open';
  /** Everything up to this revision was handed out, or does not concern this watch. */
  #after: number;
  #isUpToDate: boolean;
  #options: HubWatchOptions;
  #wake: (() => void) | undefined;

  constructor(options: HubWatchOptions) {
    this.#options = options;
    this.#after = options.afterRevision;
    this.#isUpToDate = options.afterRevision >= options.timeline().revision;
  }

  get ended(): StoreWatch['ended'] {
    const isBehindHistory = !this.#isUpToDate && this.#after < this.#options.timeline().compactedRevision;
    if (this.#ended === 'open' && isBehindHistory) this.#end('overflow');
    return this.#ended;
  }

  changed(revision: number): void {
    if (this.#ended !== 'open' || revision <= this.#after || !this.#isUpToDate) return;
    // Of the changes before it, none concerns this watch.
    this.#after = revision - 1;
    this.#isUpToDate = false;
    this.#wake?.();
  }

  close(): void {
    if (this.ended === 'open') this.#end('closed');
  }

  lose(): void {
    if (this.ended === 'open') this.#end('lost');
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
          const { timeline, prefix, eventOf: shared } = this.#options;
          const step = timeline().versionsAfter(this.#after, prefix, stepLimits);
          this.#after = step.upTo;
          this.#isUpToDate = step.isAll;
          if (step.versions.length > 0) yield step.versions.map(shared);
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

function charsOf({ value, previous }: StoreEvent): number {
  return value.length + (previous?.length ?? 0);
}
