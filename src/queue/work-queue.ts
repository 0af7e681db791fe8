// The queue of keys that need a look. Keys come in, in any number and order; each goes out to one worker at a time, once
// for all additions that came meanwhile, and again if one came while it was out. Failures wait longer each time. Knows
// nothing of what a key means: not even that it names an object.
import { type Clock, pause, type Timer } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { Delays } from './delays.ts';
import { Lanes } from './lanes.ts';
import { type QueueMetrics, queueMetrics } from './metrics.ts';

export interface WorkQueueOptions {
  name: string;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: Metrics;
  /** Keys of one lane share its turn; default: all keys are one lane. */
  laneOf?(key: string): string;
}

/** Keys that are looked at as the lanes run dry; undefined only takes its time. */
export type Source = Iterable<string | undefined>;

interface Feeding {
  entries: Iterator<string | undefined>;
  /** Keys that are still to come, as far as is known. */
  left: number;
  sinceMs: number;
}

/** What a worker does with a key. What it throws is a bug: counted, logged, and tried again like a failure. */
export type Handle = (key: string) => Promise<void> | void;

/** The numbers of client-go, but for the ceiling: it waits a thousand seconds, which is an outage of its own. */
const firstRetryMs = 5;
export const lastRetryMs = 60_000;
/** Half as long again at most, so that what failed together is not tried together. */
const retryJitter = 0.5;

/** Work that needs no I/O would never let go of the process: after so long, or so many, others have their turn. */
const sliceMs = 8;
const sliceKeys = 500;
/** A source is asked for more when fewer keys wait: enough for every worker, and nothing piles up. */
const fedKeys = 64;

/** A wait elsewhere holds a worker for so long; most are over by then. */
const asideAfterMs = 20;
/** Each of those that wait elsewhere holds what it was working on. Beyond it they hold workers again. */
const mostAside = 2_000;

export class WorkQueue {
  #clock: Clock;
  #random: () => number;
  #log: Log;
  #metrics: QueueMetrics;
  #lanes: Lanes;
  #delays: Delays;
  #running = new Set<string>();
  /** Added again while a worker has them. */
  #dirty = new Map<string, number>();
  #failures = new Map<string, number>();
  /** Running keys that wait for something that needs no worker, by the time since when. */
  #waitingElsewhere = new Map<string, number>();
  /** Those of them that have given their worker back. */
  #aside = new Set<string>();
  #asideTimer: Timer | undefined;
  #feedings = new Map<string, Feeding>();
  #handle: Handle | undefined;
  #concurrency = 0;
  #state: 'open' | 'draining' | 'stopped' = 'open';
  #watchers = new Set<() => void>();
  /** The running slice, until the process has had its turn. */
  #slice: { startMs: number; keys: number } | undefined;
  #isPumpDue = false;

  constructor(options: WorkQueueOptions) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#log = options.log;
    this.#lanes = new Lanes(options.laneOf ?? (() => ''));
    this.#delays = new Delays(options.clock, (key) => this.add(key));
    this.#metrics = queueMetrics(options.metrics, options.name, () => ({
      waiting: this.waiting,
      delayed: this.delayed,
      running: this.running,
      oldestSeconds: this.oldestMs / 1000,
    }));
  }

  /** Keys that wait for a worker now. */
  get waiting(): number {
    let fed = 0;
    for (const { left } of this.#feedings.values()) fed += Math.max(1, left);
    return this.#lanes.size + this.#dirty.size + fed;
  }

  get delayed(): number {
    return this.#delays.size;
  }

  get running(): number {
    return this.#running.size;
  }

  /** How long the oldest waiting key has waited. */
  get oldestMs(): number {
    const sinceMs = this.#lanes.oldestSinceMs();
    return sinceMs === undefined ? 0 : this.#clock.now() - sinceMs;
  }

  /** Nothing waits, nothing runs; what is delayed does not count. */
  get isIdle(): boolean {
    return this.waiting === 0 && this.#running.size === 0;
  }

  add(key: string): void {
    if (this.#state !== 'open') return;
    this.#accept(key, this.#clock.now());
    this.#pump();
  }

  #accept(key: string, sinceMs: number): void {
    this.#metrics.added();
    if (!this.#running.has(key)) this.#lanes.push(key, sinceMs);
    else if (!this.#dirty.has(key)) this.#dirty.set(key, sinceMs);
  }

  /** Later, unless it is due earlier already. */
  addAfter(key: string, delayMs: number): void {
    if (this.#state !== 'open') return;
    if (delayMs <= 0) this.add(key);
    else this.#delays.add(key, delayMs);
  }

  /**
   * Everything is to be looked at: the source is asked as workers come free, since a hundred thousand keys added in one go
   * would stall the process and stand in line before what changes meanwhile. The same name again begins anew.
   */
  feed(name: string, source: Source, size: number): void {
    if (this.#state !== 'open') return;
    this.#feedings.delete(name);
    this.#feedings.set(name, { entries: source[Symbol.iterator](), left: size, sinceMs: this.#clock.now() });
    this.#pump();
  }

  /** Said by the worker of the key before it looks at the world: what was added until now is seen by that look. */
  looking(key: string): void {
    this.#dirty.delete(key);
  }

  /** For the worker of the key: whether it was added again since it looked. */
  hasNews(key: string): boolean {
    return this.#dirty.has(key);
  }

  /**
   * For the worker of the key, around a wait for something that needs no worker: when it takes long, another key begins
   * meanwhile, so that however many keys wait there, those that do not wait go on.
   */
  async aside<T>(key: string, wait: Promise<T>): Promise<T> {
    this.#waitingElsewhere.set(key, this.#clock.now());
    this.#asideTimer ??= this.#clock.after(asideAfterMs, () => this.#putAside());
    try {
      return await wait;
    } finally {
      this.#waitingElsewhere.delete(key);
      this.#aside.delete(key);
    }
  }

  #putAside(): void {
    this.#asideTimer = undefined;
    const before = this.#clock.now() - asideAfterMs;
    for (const [key, sinceMs] of this.#waitingElsewhere) {
      if (sinceMs <= before && this.#aside.size < mostAside) this.#aside.add(key);
    }
    if (this.#waitingElsewhere.size > this.#aside.size) {
      this.#asideTimer = this.#clock.after(asideAfterMs, () => this.#putAside());
    }
    this.#pump();
  }

  /** After a failure: each time the delay doubles, until `forget`. */
  retry(key: string): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    this.#metrics.retried();
    const delayMs = Math.min(lastRetryMs, firstRetryMs * 2 ** Math.min(failures, 20));
    this.addAfter(key, delayMs * (1 + retryJitter * this.#random()));
  }

  /** Success: the next failure is the first again. What is delayed stays so. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Begins to work; once. */
  work(concurrency: number, handle: Handle): void {
    this.#concurrency = concurrency;
    this.#handle = handle;
    this.#pump();
  }

  /** Resolves when nothing waits and nothing runs. */
  async whenIdle(): Promise<void> {
    while (!this.isIdle) await this.#nextChange();
  }

  /** Takes no more keys, hands out none; what runs may finish within the time. True if it did. */
  async stop(withinMs: number): Promise<boolean> {
    if (this.#state === 'open') this.#state = 'draining';
    this.#lanes.clear();
    this.#delays.clear();
    this.#dirty.clear();
    this.#feedings.clear();
    const timeUp = new AbortController();
    const waited = pause(this.#clock, withinMs, timeUp.signal);
    let isLate = false;
    void waited.then(() => (isLate = true));
    while (this.#running.size > 0 && !isLate) await Promise.race([this.#nextChange(), waited]);
    timeUp.abort();
    this.#state = 'stopped';
    this.#failures.clear();
    return this.#running.size === 0;
  }

  #nextChange(): Promise<void> {
    return new Promise((resolve) => this.#watchers.add(resolve));
  }

  /** Nothing is to be had for a worker. */
  get #isEmpty(): boolean {
    return this.#lanes.size === 0 && this.#feedings.size === 0;
  }

  get #hasFreeWorker(): boolean {
    return this.#running.size - this.#aside.size < this.#concurrency;
  }

  #pump(): void {
    while (this.#handle !== undefined && this.#state === 'open' && this.#hasFreeWorker) {
      if (this.#isEmpty || this.#isSliceOver()) return;
      if (this.#lanes.size < fedKeys) this.#pull();
      const taken = this.#lanes.take();
      if (taken === undefined) continue;
      this.#running.add(taken.key);
      this.#metrics.waited((this.#clock.now() - taken.sinceMs) / 1000);
      void this.#run(taken.key, this.#handle);
    }
  }

  /** One entry of the source that came first. */
  #pull(): void {
    for (const [name, feeding] of this.#feedings) {
      const { done, value } = feeding.entries.next();
      feeding.left--;
      if (done === true) {
        this.#feedings.delete(name);
        this.#tellWatchers();
      } else if (value !== undefined) this.#accept(value, feeding.sinceMs);
      return;
    }
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

  async #run(key: string, handle: Handle): Promise<void> {
    const startMs = this.#clock.now();
    try {
      // In a turn of its own: a handler that finishes at once must not nest the next one into this call.
      await Promise.resolve();
      await handle(key);
    } catch (error) {
      this.#metrics.bug();
      this.#log.error({ err: error, key }, 'worker failed');
      this.retry(key);
    }
    this.#metrics.worked((this.#clock.now() - startMs) / 1000);
    this.#running.delete(key);
    const sinceMs = this.#dirty.get(key);
    if (sinceMs !== undefined) {
      this.#dirty.delete(key);
      this.#lanes.push(key, sinceMs);
    }
    this.#pumpLater();
    this.#tellWatchers();
  }

  /** Those that come free in one turn of the loop begin together: the code that they run through is at hand for all but the first. */
  #pumpLater(): void {
    if (this.#isPumpDue || this.#isEmpty) return;
    this.#isPumpDue = true;
    setImmediate(() => {
      this.#isPumpDue = false;
      this.#pump();
    });
  }

  #tellWatchers(): void {
    for (const watcher of this.#watchers) watcher();
    this.#watchers.clear();
  }
}
