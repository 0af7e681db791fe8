// Keeps a cache equal to one scope of one cluster despite network and server faults; the states are idle, listing page n,
// watching, retrying and stopped. In: objects from lists and watches. Out: changes of the cache, reported to the sink. Must
// never know what the objects are for.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Key } from '../../object/meta/object.ts';
import { LastingTrouble } from '../../pace/lasting-trouble.ts';
import type { WindowMetrics } from '../metrics.ts';
import { type Connection, pauseBefore } from '../wire/connection.ts';
import { type WindowScope, watchPath } from '../wire/scope.ts';
import type { Cache, Gathering } from './cache.ts';
import { EventIntake, type Lacking, type ReflectorSink } from './event-intake.ts';
import { listPages } from './list-pages.ts';
import { isSameContent } from './packed-item.ts';
import { Proof } from './proof.ts';
import {
  afterList,
  afterWatch,
  type Failures,
  failuresAfterWatch,
  type History,
  isSpoilt,
  type ReflectorState,
  type ReflectorStep,
  unservedKinds,
  type WatchEnd,
  watchFloorMs,
} from './reflector-steps.ts';
import { compareVersions } from './text/resource-version.ts';
import { checkVersion } from './version-check.ts';
import { watchOnce } from './watch-session.ts';
import type { Item, WindowTrouble } from './window.ts';

export interface ReflectorOptions<T extends Item> {
  connection: Connection;
  scope: WindowScope;
  cache: Cache<T>;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: WindowMetrics;
  sink: ReflectorSink;
  /** Milliseconds between two proofs of an object at most; 0 = no proofs. */
  proofIntervalMs?: number;
  showsNamespace?: ((namespace: string) => boolean) | undefined;
  isShown?: (key: Key) => boolean;
}

/** Keys reported to listeners before the event loop gets its turn. */
const sliceKeys = 1_000;
/** The numbers of client-go. The server ends every watch after this time, so a hung watch cannot last. */
const shortestWatchSeconds = 300;
/** Without this spread, all watches of all daemons would end at the same moment after a restart of the server. */
const watchSpreadSeconds = 300;

export class Reflector<T extends Item> {
  #options: ReflectorOptions<T>;
  #state: ReflectorState = { kind: 'idle' };
  #running: Promise<void> | undefined;
  #interrupt = new AbortController();
  #trouble: WindowTrouble | undefined;
  readonly #told = new LastingTrouble();
  #lastHeardMs: number;
  #failures: Failures = {};
  #hasListed = false;
  readonly #intake: EventIntake<T>;
  readonly proof: Proof<T>;
  #suspectsRollback = false;
  /** Lists requested so far, and how many of those requests the last complete list answered. */
  #requested = 0;
  #served = 0;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#intake = new EventIntake(options);
    this.proof = new Proof({
      ...options,
      intervalMs: options.proofIntervalMs ?? 0,
      showsNamespace: options.showsNamespace ?? (() => true),
      newestKnown: () => (this.#state.kind === 'watching' ? this.#intake.newestKnown : undefined),
      requestList: () => void this.requestList(),
    });
    options.cache.removed = (key) => this.proof.noteRemoved(key);
    this.#lastHeardMs = options.clock.now();
  }

  get state(): ReflectorState {
    return this.#state;
  }

  get trouble() {
    return this.#trouble;
  }

  get lastHeardMs(): number {
    return this.#lastHeardMs;
  }

  start(): void {
    if (this.#isStopped) return;
    // The state alone does not show a start: the first list begins a turn later, and kinds that share a window start together.
    this.#running ??= this.#run();
    this.proof.start();
  }

  async stop(): Promise<void> {
    this.#enter({ kind: 'stopped' });
    this.#interrupt.abort();
    await Promise.all([this.#running, this.proof.stop()]);
  }

  /** Requests a list. `listed({upTo})` reaches the returned number when a list that began after this call is complete. */
  requestList(): number {
    this.#requested++;
    if (this.#state.kind === 'watching') this.#interrupt.abort();
    return this.#requested;
  }

  /** A later list with an older version shows that the server has gone back in time. */
  noteOwnVersion(resourceVersion: string | undefined): void {
    this.#intake.noteOwnVersion(resourceVersion);
  }

  judgeLacking(key: Key, resourceVersion: string | undefined): Lacking {
    return this.#intake.judgeLacking(key, resourceVersion);
  }

  get #isStopped(): boolean {
    return this.#state.kind === 'stopped';
  }

  #enter(state: ReflectorState): void {
    if (this.#state.kind !== 'stopped') this.#state = state;
  }

  async #run(): Promise<void> {
    let step: ReflectorStep = { next: 'list', delayMs: 0, reason: 'first' };
    while (!this.#isStopped) {
      this.#interrupt = new AbortController();
      await this.#wait(step);
      if (this.#isStopped) break;
      if (this.#requested > this.#served) step = { ...step, next: 'list', reason: 'requested' };
      step = step.next === 'list' ? await this.#list(step) : await this.#watch(step);
      this.#note(step);
    }
  }

  async #wait(step: ReflectorStep): Promise<void> {
    if (step.reason !== 'first') this.#options.metrics.restart(step.reason);
    if (step.delayMs <= 0 || step.reason === 'first') return;
    this.#enter({ kind: 'retrying', next: step.next, delayMs: step.delayMs, reason: step.reason });
    await pauseBefore(step, { ...this.#options, signal: this.#interrupt.signal, floorMs: watchFloorMs });
  }

  #note(step: ReflectorStep): void {
    if (step.trouble === undefined || this.#isStopped) return;
    const { failed = 'unreached', isAnswered = false, isForbidden = false, isUnserved = false, trouble } = step;
    // A spoilt answer still shows that the server answers us.
    if (isSpoilt(failed)) this.#servedAgain();
    this.#failures[failed] = (this.#failures[failed] ?? 0) + 1;
    // A server that answers again has another trouble now, which began with this answer. Nobody was served in between.
    const { connection, scope, log, clock } = this.#options;
    const { sinceMs, unservedMs = clock.now() } = this.#trouble ?? {};
    const beganMs = this.#trouble?.isAnswered === isAnswered ? sinceMs : undefined;
    const is = { isAnswered, isForbidden, isUnserved };
    this.#trouble = { message: trouble, sinceMs: beganMs ?? clock.now(), ...is, unservedMs };
    const where = { cluster: connection.name, resource: scope.ref.resource, namespace: scope.namespace };
    const about = { ...where, reason: step.reason, next: step.next, delayMs: Math.round(step.delayMs), trouble };
    if (this.#told.isNews(trouble, clock.now())) log.warn(about, 'watch interrupted');
    else log.debug(about, 'watch interrupted');
  }

  #noTrouble(): void {
    this.#trouble = undefined;
    this.#told.over();
  }

  #servedAgain(): void {
    for (const kind of unservedKinds) delete this.#failures[kind];
  }

  #hear(): void {
    this.#lastHeardMs = this.#options.clock.now();
  }

  async #list(step: ReflectorStep): Promise<ReflectorStep> {
    const { cache, clock, metrics, connection, scope, random } = this.#options;
    const upTo = this.#requested;
    const seenBefore = this.#intake.newestKnown;
    this.#enter({ kind: 'listing', page: 1, reason: step.reason });
    const gathered = cache.gather();
    const result = await listPages({
      connection,
      scope,
      signal: this.#interrupt.signal,
      page: (page) => {
        if (page > 1) this.#hear();
        this.#enter({ kind: 'listing', page, reason: step.reason });
      },
      accept: (object) => gathered.add(object),
    });
    if (result.kind !== 'listed') {
      cache.giveUpGathering();
      metrics.list(result.kind);
      return afterList(result, { failures: this.#failures }, random);
    }
    this.#hear();
    const isOlder = compareVersions(result.resourceVersion, seenBefore) < 0;
    if (isOlder && !this.#suspectsRollback) {
      // One older list may come from a replica that lags; a second one shows that the server has gone back in time.
      cache.giveUpGathering();
      this.#suspectsRollback = true;
      metrics.list('rollback');
      const trouble = `the list has resource version ${result.resourceVersion}, older than the known ${seenBefore}`;
      return afterWatch({ kind: 'rollback', message: trouble }, this.#history(clock.now()), random);
    }
    this.#suspectsRollback = false;
    this.#servedAgain();
    this.#intake.begin({ ...result, isOlder });
    gathered.rv = result.resourceVersion;
    await this.#swapIn(gathered, { isAuthoritative: isOlder, upTo, count: result.count });
    metrics.list('ok');
    return { next: 'watch', delayMs: 0, reason: 'first' };
  }

  async #swapIn(
    gathered: Gathering<T>,
    list: { isAuthoritative: boolean; upTo: number; count: number },
  ): Promise<void> {
    const { cache, metrics, sink } = this.#options;
    const before = cache.swap(gathered, list);
    metrics.size(cache.size);
    const removed: Key[] = [];
    let count = 0;
    const inSlices = async (): Promise<boolean> => {
      if (++count % sliceKeys === 0) await nextTurn();
      return !this.#isStopped;
    };
    for (const key of before.keys()) {
      if (!cache.has(key)) {
        removed.push(key);
        sink.changed({ key, kind: 'removed', origin: 'list' });
      }
      if (!(await inSlices())) return;
    }
    for (const key of cache.keys()) {
      const known = before.get(key);
      const now = cache.packed(key);
      if (now !== undefined && (known === undefined || !isSameContent(known, now)))
        sink.changed({ key, kind: 'set', origin: 'list' });
      if (!(await inSlices())) return;
    }
    this.#served = list.upTo;
    this.#noTrouble();
    sink.listed({ isFirst: !this.#hasListed, count: list.count, removed, upTo: list.upTo });
    this.#hasListed = true;
  }

  #history(sinceMs: number, wasOpened = false): History {
    return { failures: this.#failures, wasOpened, watchedMs: this.#options.clock.now() - sinceMs };
  }

  async #watch(step: ReflectorStep): Promise<ReflectorStep> {
    const { clock, random, connection, scope, metrics, cache } = this.#options;
    const startMs = clock.now();
    if (step.checkVersion === true) {
      const problem = await this.#checkVersion();
      if (problem !== undefined) return afterWatch(problem, this.#history(startMs), random);
    }
    this.#enter({ kind: 'watching', resourceVersion: this.#intake.reached });
    const timeoutSeconds = shortestWatchSeconds + Math.floor(random() * watchSpreadSeconds);
    let wasOpened = false;
    const end = await watchOnce({
      connection,
      path: watchPath(scope, { resourceVersion: this.#intake.reached, timeoutSeconds }),
      clock,
      signal: this.#interrupt.signal,
      opened: () => {
        this.#hear();
        this.#noTrouble();
        this.#servedAgain();
        wasOpened = true;
      },
      heard: () => this.#hear(),
      probe: () => this.#checkVersion(),
      skip: (line) => this.#intake.isEcho(line),
      event: (event) => this.#intake.apply(event),
      slice: () => metrics.size(cache.size),
    });
    this.#failures = failuresAfterWatch(this.#history(startMs, wasOpened));
    return afterWatch(end, this.#history(startMs, wasOpened), random);
  }

  #checkVersion(): Promise<WatchEnd | undefined> {
    // A running watch may advance before the answer arrives, so the version is read first. A lost write of our own may be all that was lost.
    return checkVersion({ ...this.#options, signal: this.#interrupt.signal, known: this.#intake.newestKnown });
  }
}
