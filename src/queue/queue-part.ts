// The keys of one part of the queue. In: keys, in any number and order. Out: each key to one worker at a time, once for all
// additions while it waits, and again after an addition while a worker has it. The delay grows with each failure of a key.

import { type Clock, pause } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { backOffMs } from '../pace/back-off.ts';
import { Aside } from './aside.ts';
import { Delays } from './delays.ts';
import { Feedings, type Source } from './feedings.ts';
import { Lanes } from './lanes.ts';
import { type QueueMetrics, queueMetrics } from './metrics.ts';

export interface QueuePartOptions {
  name: string;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: Metrics;
  /** The lane of a key; lanes take turns. Default: all keys are in one lane. */
  laneOf?(key: string): string;
  /** Called when a key may begin: at once, or later in this turn of the event loop. */
  wake: (when: { isLater: boolean }) => void;
}

/** Processes one key. A thrown error is a bug: it is counted and logged, and the key is retried. */
export type Handle = (key: string) => Promise<void> | void;

/** The numbers of client-go, except for the maximum: its thousand seconds would be an outage of their own. */
const retry = { firstMs: 5, mostMs: 60_000 };
/** Up to half of the delay is added at random, so that keys that failed together are not retried together. */
const retryJitter = 0.5;

/** The source is read while fewer keys wait: enough for every worker, without a long line in memory. */
const fedKeys = 64;

/** A hundred thousand keys may be delayed. */
const mostLooks = 1000;

export class QueuePart {
  #clock: Clock;
  #random: () => number;
  #log: Log;
  #metrics: QueueMetrics;
  #lanes: Lanes;
  #delays: Delays;
  #running = new Set<string>();
  /** Keys that were added again while a worker has them, and when. */
  #dirty = new Map<string, number>();
  #failures = new Map<string, number>();
  /** Keys that a worker has since before the last hurry: what fails there may have begun before the reason of delays was over. */
  #overtaken = new Set<string>();
  #aside: Aside;
  #feedings = new Feedings();
  #fed = (key: string, sinceMs: number): void => this.#accept(key, sinceMs);
  #handle: Handle | undefined;
  #concurrency = 0;
  #state: 'open' | 'draining' | 'stopped' = 'open';
  #watchers = new Set<() => void>();
  #wake: QueuePartOptions['wake'];

  constructor(options: QueuePartOptions) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#log = options.log;
    this.#wake = options.wake;
    this.#lanes = new Lanes(options.laneOf ?? (() => ''));
    this.#delays = new Delays(options.clock, (key) => this.add(key));
    this.#aside = new Aside(options.clock, () => this.#pump());
    this.#metrics = queueMetrics(options.metrics, options.name, () => ({
      waiting: this.waiting,
      delayed: this.delayed,
      running: this.running,
      oldestSeconds: this.oldestMs / 1000,
    }));
  }

  /** The number of keys that wait for a worker now. */
  get waiting(): number {
    return this.#lanes.size + this.#dirty.size + this.#feedings.expectedKeys;
  }

  get delayed(): number {
    return this.#delays.size;
  }

  get running(): number {
    return this.#running.size;
  }

  get runningKeys(): Iterable<string> {
    return this.#running;
  }

  /** How long the oldest waiting key has waited. */
  get oldestMs(): number {
    const sinceMs = this.#lanes.oldestSinceMs();
    return sinceMs === undefined ? 0 : this.#clock.now() - sinceMs;
  }

  /** True when no key waits and no worker runs; delayed keys do not count. */
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

  /** Adds the key after a delay, or keeps an earlier time of that key. */
  addAfter(key: string, delayMs: number): void {
    if (this.#state !== 'open') return;
    if (delayMs <= 0) this.add(key);
    else this.#delays.add(key, delayMs);
  }

  isDelayed(key: string): boolean {
    return this.#delays.has(key);
  }

  /**
   * Tries delayed keys as workers become free, because the reason of their delay is over. Their failures count on. Keys that workers have are tried
   * once more without a delay if they fail.
   */
  hurry(isConcerned: (key: string) => boolean): void {
    const keys = [...this.#delays.keys];
    this.#overtaken = new Set(this.#running);
    this.feed('hurry', this.#hurried(keys, isConcerned), keys.length);
  }

  /** Tries one delayed key at once: the one that was delayed the longest ago, so that they take turns. */
  hurryOne(isConcerned: (key: string) => boolean): void {
    let looks = 0;
    for (const key of this.#delays.keys) {
      if (++looks > mostLooks) return;
      if (!isConcerned(key)) continue;
      this.#delays.remove(key);
      this.add(key);
      return;
    }
  }

  *#hurried(keys: readonly string[], isConcerned: (key: string) => boolean): Generator<string | undefined> {
    for (const key of keys) yield isConcerned(key) && this.#delays.remove(key) ? key : undefined;
  }

  /**
   * Adds the keys of a source as workers become free. A hundred thousand keys added at once would block the event loop and
   * delay all later changes. A second call with the same name replaces the source.
   */
  feed(name: string, source: Source, size: number): void {
    if (this.#state !== 'open') return;
    this.#feedings.add(name, source, { size, sinceMs: this.#clock.now() });
    this.#pump();
  }

  /** The worker calls this just before it reads the current state: that reading covers all additions so far. */
  looking(key: string): void {
    this.#dirty.delete(key);
  }

  /** Whether the key was added again since `looking`. */
  hasNews(key: string): boolean {
    return this.#dirty.has(key);
  }

  /**
   * For the worker of the key, around a wait for something that needs no worker: when it takes long, another key begins
   * while it waits, so that however many keys wait there, those that do not wait go on.
   */
  aside<T>(key: string, wait: Promise<T>): Promise<T> {
    return this.#aside.during(key, wait);
  }

  /** Adds the key again after a failure. The delay doubles with each failure until `forget`. */
  retry(key: string): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    this.#metrics.retried();
    const delayMs = this.#overtaken.delete(key) ? 0 : backOffMs(failures + 1, retry);
    this.addAfter(key, delayMs * (1 + retryJitter * this.#random()));
  }

  /** After a success: the next failure counts as the first. A delayed key stays delayed. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Starts the workers; call it once. */
  work(concurrency: number, handle: Handle): void {
    this.#concurrency = concurrency;
    this.#handle = handle;
    this.#pump();
  }

  /** Resolves when the queue is idle. */
  async whenIdle(): Promise<void> {
    while (!this.isIdle) await this.#nextChange();
  }

  /** Stops the queue and drops its keys. Running work may finish within the time; returns whether it did. */
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

  get #isEmpty(): boolean {
    return this.#lanes.size === 0 && this.#feedings.size === 0;
  }

  get #hasFreeWorker(): boolean {
    return this.#running.size - this.#aside.size < this.#concurrency;
  }

  #pump(): void {
    if (this.canBegin) this.#wake({ isLater: false });
  }

  /** Whether a key waits and a worker is free for it. */
  get canBegin(): boolean {
    return this.#handle !== undefined && this.#state === 'open' && this.#hasFreeWorker && !this.#isEmpty;
  }

  /** Takes one key from the lanes, or one entry from a source. */
  begin(): void {
    if (this.#handle === undefined) return;
    if (this.#lanes.size < fedKeys && this.#feedings.pull(this.#fed)) this.#tellWatchers();
    const taken = this.#lanes.take();
    if (taken === undefined) return;
    this.#running.add(taken.key);
    this.#metrics.waited((this.#clock.now() - taken.sinceMs) / 1000);
    void this.#run(taken.key, this.#handle);
  }

  async #run(key: string, handle: Handle): Promise<void> {
    const startMs = this.#clock.now();
    try {
      // Without this turn, handlers that finish at once would nest into each other's calls.
      await Promise.resolve();
      await handle(key);
    } catch (error) {
      this.#metrics.bug();
      this.#log.error({ err: error, key }, 'worker failed');
      this.retry(key);
    }
    this.#metrics.worked((this.#clock.now() - startMs) / 1000);
    this.#running.delete(key);
    this.#overtaken.delete(key);
    const sinceMs = this.#dirty.get(key);
    if (sinceMs !== undefined) {
      this.#dirty.delete(key);
      this.#lanes.push(key, sinceMs);
    }
    if (!this.#isEmpty) this.#wake({ isLater: true });
    this.#tellWatchers();
  }

  #tellWatchers(): void {
    for (const watcher of this.#watchers) watcher();
    this.#watchers.clear();
  }
}
