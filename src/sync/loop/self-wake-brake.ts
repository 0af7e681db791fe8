// Slows down objects that wake each other again and again although nothing changes on either side: a cycle that nobody has thought
// of must not storm an API server. In: changes of both sides, and wakes that come from outcomes of passes. Out: how long a wake
// waits. Work for a change of a window, a timer or new rules never comes here.

import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Key } from '../../object/meta/object.ts';
import { backOffMs } from '../../pace/back-off.ts';
import type { QueuePart } from '../../queue/queue-part.ts';
import type { LedgerPage } from '../world/ledger.ts';
import { waitsForServer } from '../world/refused-requests.ts';
import type { SyncMetrics } from './pass/metrics.ts';

const windowMs = 1000;
/** Wakes of one object in a second that need no change. */
const freeWakes = 50;
/** Each change may wake an object this often: through its Service, its source, and its rivals of both kinds. */
const wakesOfChange = 4;
const brakePause = { firstMs: 1000, mostMs: 60_000 };
/** The pauses start again from the shortest after this time without a brake. */
const quietMs = 120_000;

interface Braked {
  untilMs: number;
  /** How often the object was braked in a row. */
  times: number;
  /** The count of changes when the brake began. */
  changes: number;
  /** The wakes that later changes have paid for. */
  wakes: number;
}

export class SelfWakeBrake {
  readonly #clock: Clock;
  #changes = 0;
  #windowSinceMs = 0;
  #changesBefore = 0;
  readonly #wakes = new Map<string, number>();
  readonly #braked = new Map<string, Braked>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Called for each change that a window shows, each write that a server has carried out, and each object of a full pass. */
  noteChanges(count = 1): void {
    this.#changes += count;
  }

  /** The time that a wake must wait; 0 for no wait. `isNews` is true for the first wake of a cycle that has to wait. */
  take(object: string): { waitMs: number; isNews: boolean } {
    const now = this.#clock.now();
    if (now - this.#windowSinceMs >= windowMs) this.#beginWindow(now);
    const braked = this.#braked.get(object);
    if (braked !== undefined && now < braked.untilMs) {
      const isFree = braked.wakes < wakesOfChange * (this.#changes - braked.changes);
      if (isFree) braked.wakes++;
      return { waitMs: isFree ? 0 : braked.untilMs - now, isNews: false };
    }
    const wakes = (this.#wakes.get(object) ?? 0) + 1;
    this.#wakes.set(object, wakes);
    if (wakes <= freeWakes + wakesOfChange * (this.#changes - this.#changesBefore)) return { waitMs: 0, isNews: false };
    const times = (braked?.times ?? 0) + 1;
    const waitMs = backOffMs(times, brakePause);
    this.#braked.set(object, { untilMs: now + waitMs, times, changes: this.#changes, wakes: 0 });
    return { waitMs, isNews: true };
  }

  #beginWindow(now: number): void {
    this.#windowSinceMs = now;
    this.#changesBefore = this.#changes;
    this.#wakes.clear();
    for (const [object, { untilMs }] of this.#braked) if (now - untilMs >= quietMs) this.#braked.delete(object);
  }
}

export interface SelfWakesOptions {
  brake: SelfWakeBrake;
  kind: string;
  queue: QueuePart;
  ledger: LedgerPage;
  enqueue: (key: Key) => void;
  log: Log;
  metrics: SyncMetrics;
}

/** The wakes of the objects of one kind. */
export class SelfWakes {
  readonly #options: SelfWakesOptions;
  /** Objects that were woken and whose pass has not begun: further wakes cost nothing. */
  readonly #waiting = new Set<Key>();

  constructor(options: SelfWakesOptions) {
    this.#options = options;
  }

  noteChanges(count: number): void {
    this.#options.brake.noteChanges(count);
  }

  /**
   * For news of another kind. A key that waits after a failure, or because a server forbade or rejected its write, looks at
   * everything again when its time comes: two kinds that fail would otherwise wake each other without a pause.
   */
  wakeFor(key: Key): void {
    const { ledger, queue } = this.#options;
    if (!waitsForServer(ledger.outcomeOf(key)) || !queue.isDelayed(key)) this.wake(key);
  }

  /** Queues the object again because of the outcome of another pass. */
  wake(key: Key): void {
    const { brake, kind, queue, enqueue, log, metrics } = this.#options;
    const { waitMs, isNews } = this.#waiting.has(key) ? { waitMs: 0, isNews: false } : brake.take(`${kind} ${key}`);
    if (isNews) {
      metrics.bugs.inc();
      const message =
        'a bug of Hostward: an object is looked at again and again though nothing changes; it has to wait';
      log.error({ component: 'sync', kind, key, waitMs }, message);
    }
    if (waitMs > 0) queue.addAfter(key, waitMs);
    else {
      this.#waiting.add(key);
      enqueue(key);
    }
  }

  /** Called when the pass of an object begins. */
  begun(key: Key): void {
    this.#waiting.delete(key);
  }
}
