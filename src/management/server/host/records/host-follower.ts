// Follows the records of the host: one whole list, then every change in order, and on from the last one after each interruption. In: a
// connection. Out: calls of the listener. Its steps and pauses are those of a window, but it keeps no objects and loses no change.
import type { Clock } from '../../../../clock.ts';
import { listPages } from '../../../../cluster/window/list-pages.ts';
import {
  afterList,
  afterWatch,
  type Failures,
  failuresAfterWatch,
  type ReflectorStep,
  type WatchEnd,
  watchFloorMs,
} from '../../../../cluster/window/reflector-steps.ts';
import { checkVersion } from '../../../../cluster/window/version-check.ts';
import { watchOnce } from '../../../../cluster/window/watch-session.ts';
import { type Connection, pauseBefore } from '../../../../cluster/wire/connection.ts';
import { type WindowScope, watchPath } from '../../../../cluster/wire/scope.ts';
import type { Log } from '../../../../log.ts';
import type { KubeObject } from '../../../../object/meta/object.ts';
import { LastingTrouble } from '../../../../pace/lasting-trouble.ts';
import type { HostListener, HostRecord } from '../../../../store/kubernetes/records/host-records.ts';
import { rightsMend } from './host-fault.ts';

export interface HostFollowerOptions {
  connection: Connection;
  scope: WindowScope;
  clock: Clock;
  random: () => number;
  log: Log;
  listener: HostListener;
  /** Undefined for an object that is not ours. */
  recordOf(object: KubeObject): HostRecord | undefined;
  /** It is deleted, and something holds it. */
  isEnding(object: KubeObject): boolean;
}

/** As client-go: the server ends every watch, so that a hung one cannot last. */
const shortestWatchSeconds = 300;

export class HostFollower {
  readonly #options: HostFollowerOptions;
  #interrupt = new AbortController();
  /** What runs, or comes after the pause. */
  #due: 'list' | 'watch' = 'list';
  #then: 'list' | 'watch' | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;
  #reached = '0';
  #failures: Failures = {};
  readonly #trouble = new LastingTrouble();
  /** An older list may come from a server that lags; a second one shows that the host was set back. */
  #olderLists = 0;

  constructor(options: HostFollowerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#interrupt.abort();
    await this.#running;
  }

  /** A list that is due is begun again: a watch in its place would skip what was missed. */
  interrupt(then: 'list' | 'watch'): void {
    this.#then = this.#due === 'list' || this.#then === 'list' ? 'list' : then;
    this.#interrupt.abort();
  }

  async #run(): Promise<void> {
    let step: ReflectorStep = { next: 'list', delayMs: 0, reason: 'first' };
    while (!this.#isStopped) {
      this.#due = step.next;
      this.#interrupt = new AbortController();
      this.#then = undefined;
      await this.#wait(step);
      if (this.#isStopped) return;
      this.#due = this.#then ?? step.next;
      if (this.#then !== undefined) this.#interrupt = new AbortController();
      this.#then = undefined;
      step = this.#due === 'list' ? await this.#list() : await this.#watch(step.checkVersion === true);
      if (this.#then !== undefined) step = { next: this.#then, delayMs: 0, reason: 'requested' };
      this.#note(step);
    }
  }

  /** Each beat asks the host, so its return is noticed at once. */
  async #wait(step: ReflectorStep): Promise<void> {
    if (step.delayMs <= 0) return;
    await pauseBefore(step, { ...this.#options, signal: this.#interrupt.signal, floorMs: watchFloorMs / 4 });
  }

  #note(step: ReflectorStep): void {
    if (step.trouble === undefined || this.#isStopped) return;
    const { failed = 'unreached', reason, next, delayMs } = step;
    const trouble = step.isForbidden === true ? `${rightsMend}: ${step.trouble}` : step.trouble;
    this.#failures[failed] = (this.#failures[failed] ?? 0) + 1;
    this.#options.listener.trouble(trouble);
    const about = { component: 'management', reason, next, delayMs: Math.round(delayMs), trouble };
    if (this.#trouble.isNews(trouble, this.#options.clock.now()))
      this.#options.log.warn(about, 'records of the host not followed');
  }

  #noTrouble(): void {
    this.#trouble.over();
    this.#options.listener.trouble(undefined);
  }

  async #list(): Promise<ReflectorStep> {
    const { connection, scope, random, listener, recordOf, isEnding } = this.#options;
    const records: HostRecord[] = [];
    const result = await listPages({
      connection,
      scope,
      signal: this.#interrupt.signal,
      page: (page) => {
        if (page === 1) records.length = 0;
      },
      accept: (object) => {
        const record = isEnding(object) ? undefined : recordOf(object);
        if (record !== undefined) records.push(record);
      },
    });
    if (result.kind !== 'listed') return afterList(result, { failures: this.#failures }, random);
    const version = Number(result.resourceVersion);
    if (version < Number(this.#reached)) return this.#older(version);
    this.#olderLists = 0;
    this.#failures = {};
    this.#reached = result.resourceVersion;
    listener.listed(records, version);
    this.#noTrouble();
    return { next: 'watch', delayMs: 0, reason: 'first' };
  }

  #older(version: number): ReflectorStep {
    this.#olderLists++;
    const trouble = `it was set back: its records are at version ${version}, and were at ${this.#reached}`;
    if (this.#olderLists > 1) this.#options.listener.wentBack(trouble);
    return { next: 'list', delayMs: watchFloorMs, reason: 'rollback', trouble, failed: 'rollback', isAnswered: true };
  }

  async #watch(checks: boolean): Promise<ReflectorStep> {
    const { connection, scope, clock, random } = this.#options;
    const startMs = clock.now();
    let wasOpened = false;
    const history = () => ({ failures: this.#failures, wasOpened, watchedMs: clock.now() - startMs });
    const problem = checks ? await this.#checkVersion() : undefined;
    if (problem !== undefined) return afterWatch(problem, history(), random);
    const timeoutSeconds = shortestWatchSeconds + Math.floor(random() * shortestWatchSeconds);
    const end = await watchOnce({
      connection,
      path: watchPath(scope, { resourceVersion: this.#reached, timeoutSeconds }),
      clock,
      signal: this.#interrupt.signal,
      opened: () => {
        wasOpened = true;
        this.#noTrouble();
      },
      heard: () => undefined,
      probe: () => this.#checkVersion(),
      skip: () => false,
      event: ({ type, object }) => this.#event(type, object),
      slice: () => undefined,
    });
    this.#failures = failuresAfterWatch(history());
    return afterWatch(end, history(), random);
  }

  #event(type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK', object: KubeObject): WatchEnd | undefined {
    const { listener, recordOf, isEnding } = this.#options;
    const { resourceVersion = '' } = object.metadata;
    if (!/^[1-9]\d*$/.test(resourceVersion))
      return { kind: 'fault', message: 'an event of the watch has no usable resourceVersion' };
    if (Number(resourceVersion) < Number(this.#reached))
      return { kind: 'rollback', message: `the host sent version ${resourceVersion} after ${this.#reached}` };
    const record = type === 'BOOKMARK' ? undefined : recordOf(object);
    const hasEnded = type === 'DELETED' || isEnding(object);
    if (record !== undefined) listener.changed({ type: hasEnded ? 'delete' : 'put', record });
    this.#reached = resourceVersion;
    return undefined;
  }

  #checkVersion(): Promise<WatchEnd | undefined> {
    return checkVersion({ ...this.#options, signal: this.#interrupt.signal, known: this.#reached });
  }
}
