// Opens a window: a reflector and a cache behind the Window interface. Isolates the listeners from each other, and
// resolves the promises of callers who wait for a list.
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { type Key, type KubeObject, splitKey } from '../../object/meta/object.ts';
import { matchesLabels, parseLabelSelector } from '../../object/select/label-selector.ts';
import { WindowStoppedError } from '../errors.ts';
import { type WindowMetrics, windowMetrics } from '../metrics.ts';
import type { Connection } from '../wire/connection.ts';
import { objectPath, type ResourceRef, type WindowScope } from '../wire/scope.ts';
import { Cache, keyOfObject } from './cache.ts';
import type { Lacking } from './event-intake.ts';
import { objectProblem } from './list-pages.ts';
import { Reflector } from './reflector.ts';
import { compareVersions, isVersion } from './text/resource-version.ts';
import type { Found, Item, ProofState, Window, WindowListener, WindowState, WindowTrouble } from './window.ts';

export interface WindowOptions<T extends Item> {
  connection: Connection;
  ref: ResourceRef;
  /** Undefined = all namespaces. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Returns the item to keep of an object, a new value at each call; undefined hides the object. */
  project(object: KubeObject): T | undefined;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: Metrics;
  /** For messages; default: cluster, resource and namespace. */
  name?: string;
  /** Milliseconds between two proofs of an object at most; none by default. */
  proofIntervalMs?: number;
  /** Namespaces whose objects `project` may show; a proof passes over the others. Default: all. */
  showsNamespace?: (namespace: string) => boolean;
}

/** An API server answers for a single object within milliseconds. */
const findTimeoutMs = 15_000;
/** A server whose lists lack what it shows to who asks by name is not listed at each answer. */
const doubtPauseMs = 5_000;

export function openWindow<T extends Item>(options: WindowOptions<T>): Window<T> {
  return new ReflectedWindow(options);
}

function selectedBy({
  labelSelector = '',
  fieldSelector,
}: Pick<WindowOptions<Item>, 'labelSelector' | 'fieldSelector'>): (object: KubeObject) => boolean {
  const parsed = parseLabelSelector(labelSelector);
  if (fieldSelector !== undefined || !parsed.ok) return () => false;
  return ({ metadata }) => matchesLabels(parsed.selector, metadata.labels);
}

interface Waiter {
  upTo: number;
  resolve(): void;
  reject(error: Error): void;
}

class ReflectedWindow<T extends Item> implements Window<T> {
  #name: string;
  #log: Log;
  #cache: Cache<T>;
  /** Whether the selectors include the object: a GET may return an object that the watch never shows. */
  #isWatched: (object: KubeObject) => boolean;
  readonly #options: WindowOptions<T>;
  #reflector: Reflector<T>;
  #metrics: WindowMetrics;
  #listeners = new Set<WindowListener>();
  #hasSynced = false;
  #waiters: Waiter[] = [];
  /** Objects that are remembered from answers although the selectors leave them out. */
  readonly #unselected = new Set<Key>();
  /** When an answer last contradicted a list. */
  #doubtedMs = Number.NEGATIVE_INFINITY;

  constructor(options: WindowOptions<T>) {
    const { connection, ref, namespace, labelSelector, fieldSelector } = options;
    this.#options = options;
    this.#name =
      options.name ?? `${connection.name} ${ref.resource}${namespace === undefined ? '' : ` in ${namespace}`}`;
    this.#log = options.log.child({ window: this.#name });
    this.#metrics = windowMetrics(options.metrics, { cluster: connection.name, resource: ref.resource });
    this.#cache = new Cache((object) => options.project(object));
    this.#isWatched = selectedBy(options);
    this.#reflector = new Reflector({
      connection,
      scope: { ref, namespace, labelSelector, fieldSelector },
      cache: this.#cache,
      clock: options.clock,
      random: options.random,
      log: this.#log,
      metrics: this.#metrics,
      proofIntervalMs: options.proofIntervalMs ?? 0,
      showsNamespace: options.showsNamespace,
      isShown: (key) => !this.#unselected.has(key),
      sink: {
        proven: () => this.#tell((listener) => listener.proven?.()),
        changed: (change) => {
          this.#unselected.delete(change.key);
          this.#tell((listener) => listener.changed?.(change));
        },
        listed: (list) => this.#listed(list),
      },
    });
  }

  start(): void {
    this.#reflector.start();
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
    this.#metrics.size(0);
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter.reject(new WindowStoppedError(this.#name));
  }

  get state(): WindowState {
    return this.#reflector.state.kind;
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  whenSynced(): Promise<void> {
    return this.#hasSynced ? Promise.resolve() : this.#waitFor(0);
  }

  get(key: Key): T | undefined {
    return this.#cache.get(key);
  }

  markOf(key: Key): string | undefined {
    return this.#cache.markOf(key);
  }

  has(key: Key): boolean {
    return this.#cache.has(key);
  }

  versionOf(key: Key): string | undefined {
    return this.#cache.versionOf(key);
  }

  provenMs(key: Key): number | undefined {
    return this.#cache.provenMs(key);
  }

  get proof(): ProofState {
    const { provenAtMs, missed } = this.#reflector.proof;
    return { provenAtMs, missed };
  }

  async find(key: Key): Promise<Found> {
    const { connection, ref, project } = this.#options;
    const place = splitKey(key);
    const answer = await connection.request({ method: 'GET', path: objectPath(ref, place), timeoutMs: findTimeoutMs });
    if (answer.kind === 'notFound') return answer.name === place.name ? 'absent' : 'unknown';
    if (answer.kind !== 'ok') return 'unknown';
    const scope: WindowScope = { ref, namespace: undefined, labelSelector: undefined, fieldSelector: undefined };
    if (objectProblem(answer.object, scope) !== undefined || keyOfObject(answer.object) !== key) return 'unknown';
    return this.#isWatched(answer.object) && project(answer.object) !== undefined ? 'found' : 'absent';
  }

  get size(): number {
    return this.#cache.size;
  }

  keys(): IterableIterator<Key> {
    return this.#cache.keys();
  }

  /** Begins the list at once; only the backoff after a failure delays it. */
  relist(reason: string): Promise<void> {
    this.#log.info({ reason }, 'list asked for');
    return this.#waitFor(this.#reflector.requestList());
  }

  remember(object: KubeObject, seen?: string): boolean {
    const { resourceVersion = '' } = object.metadata;
    this.#reflector.noteOwnVersion(resourceVersion);
    const key = keyOfObject(object);
    const lacking = this.#judgeLacking(key, object);
    if (lacking === 'removed') return false;
    // Who asks again is shown an older state by a server that was set back.
    const isOlder = seen !== undefined && isVersion(resourceVersion) && compareVersions(resourceVersion, seen) < 0;
    const isRemoved = lacking !== undefined && this.#cache.hasForgotten(key, resourceVersion);
    if (isOlder || isRemoved || lacking === 'unlisted') {
      this.#doubtList();
      return false;
    }
    this.#cache.remember(object);
    if (this.#isWatched(object) || this.#options.fieldSelector !== undefined) this.#unselected.delete(key);
    else this.#unselected.add(key);
    if (lacking === 'missed') this.#reflector.proof.noteFound(key, resourceVersion);
    return true;
  }

  #judgeLacking(key: Key, object: KubeObject): Lacking | undefined {
    if (this.#cache.has(key) || !this.#isWatched(object)) return undefined;
    const lacking = this.#reflector.judgeLacking(key, object.metadata.resourceVersion);
    const isHidden = lacking !== 'newer' && this.#options.project(object) === undefined;
    return isHidden ? undefined : lacking;
  }

  /** The object was deleted while its answer was on its way, the list was wrong, or the server was set back; another list tells. */
  #doubtList(): void {
    const nowMs = this.#options.clock.now();
    if (nowMs - this.#doubtedMs < doubtPauseMs) return;
    this.#doubtedMs = nowMs;
    this.#log.info({}, 'an answer contradicts what the server has shown before, listing again');
    this.#reflector.requestList();
  }

  forget(key: Key, resourceVersion?: string): void {
    this.#cache.forget(key, resourceVersion);
    if (!this.#cache.has(key)) this.#unselected.delete(key);
  }

  subscribe(listener: WindowListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get trouble(): WindowTrouble | undefined {
    return this.#reflector.trouble;
  }

  get lastHeardMs(): number {
    return this.#reflector.lastHeardMs;
  }

  #waitFor(upTo: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.state === 'stopped') return reject(new WindowStoppedError(this.#name));
      this.#waiters.push({ upTo, resolve, reject });
    });
  }

  #listed(list: { isFirst: boolean; count: number; removed: readonly Key[]; upTo: number }): void {
    this.#hasSynced = true;
    this.#tell((listener) => listener.listed?.({ isFirst: list.isFirst, count: list.count, removed: list.removed }));
    const served = this.#waiters.filter((waiter) => waiter.upTo <= list.upTo);
    this.#waiters = this.#waiters.filter((waiter) => waiter.upTo > list.upTo);
    for (const waiter of served) waiter.resolve();
  }

  /** An error of one listener is logged here and must not reach the stream or the other listeners. */
  #tell(say: (listener: WindowListener) => unknown): void {
    for (const listener of this.#listeners) {
      try {
        const said = say(listener);
        // Listeners should not return promises, but an unhandled rejection would end the process.
        if (said instanceof Promise) said.catch((error: unknown) => this.#listenerFailed(error));
      } catch (error) {
        this.#listenerFailed(error);
      }
    }
  }

  #listenerFailed(error: unknown): void {
    this.#metrics.listenerFailed();
    this.#log.error({ err: error }, 'a listener of the window failed');
  }
}
