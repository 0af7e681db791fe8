// Makes several windows on one resource look like one: a window for each namespace that is mapped by its exact name, or
// a single cluster-wide window that shows only our namespaces.
import type { Key, KubeObject } from '../../object/meta/object.ts';
import { splitKey } from '../../object/meta/object.ts';
import type { Found, Item, ProofState, Window, WindowListener, WindowState, WindowTrouble } from './window.ts';

export interface CombinedNamespaces<T extends Item> extends Window<T> {
  /** Starts a window onto a further namespace. Its objects are shown from its first complete list on, so that `hasSynced` stays true. */
  join(namespace: string, part: Window<T>): Promise<void>;
}

/** `byNamespace` holds one window for each namespace; each window shows only its namespace. */
export function combineWindows<T extends Item>(byNamespace: ReadonlyMap<string, Window<T>>): CombinedNamespaces<T> {
  return new CombinedWindow(byNamespace);
}

/** Hides every namespace that does not match, as if its objects did not exist. */
export function narrowWindow<T extends Item>(wide: Window<T>, matches: (namespace: string) => boolean): Window<T> {
  return new NarrowedWindow(wide, matches);
}

/** The combined state is the worst state among the windows. */
const worstFirst: readonly WindowState[] = ['stopped', 'idle', 'retrying', 'listing', 'watching'];

class CombinedWindow<T extends Item> implements CombinedNamespaces<T> {
  readonly #parts: Map<string, Window<T>>;
  readonly #joining = new Set<Window<T>>();
  readonly #joined = new Set<(namespace: string, part: Window<T>) => void>();
  #isStopped = false;

  constructor(parts: ReadonlyMap<string, Window<T>>) {
    this.#parts = new Map(parts);
  }

  start(): void {
    for (const part of this.#parts.values()) part.start();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([...this.#parts.values(), ...this.#joining].map((part) => part.stop()));
  }

  async join(namespace: string, part: Window<T>): Promise<void> {
    if (this.#isStopped) return;
    this.#joining.add(part);
    part.start();
    // A window that is stopped before its first list rejects.
    const hasSynced = await part.whenSynced().then(
      () => true,
      () => false,
    );
    this.#joining.delete(part);
    if (!hasSynced || this.#isStopped) return;
    this.#parts.set(namespace, part);
    for (const tell of [...this.#joined]) tell(namespace, part);
  }

  get state(): WindowState {
    const states = new Set([...this.#parts.values()].map((part) => part.state));
    return worstFirst.find((state) => states.has(state)) ?? 'watching';
  }

  get hasSynced(): boolean {
    return [...this.#parts.values()].every((part) => part.hasSynced);
  }

  async whenSynced(): Promise<void> {
    await Promise.all([...this.#parts.values()].map((part) => part.whenSynced()));
  }

  get(key: Key): T | undefined {
    return this.#partOf(key)?.get(key);
  }

  markOf(key: Key): string | undefined {
    return this.#partOf(key)?.markOf(key);
  }

  has(key: Key): boolean {
    return this.#partOf(key)?.has(key) ?? false;
  }

  versionOf(key: Key): string | undefined {
    return this.#partOf(key)?.versionOf(key);
  }

  provenMs(key: Key): number | undefined {
    return this.#partOf(key)?.provenMs(key);
  }

  /** The time of the window whose proof is oldest. */
  get proof(): ProofState {
    const all = [...this.#parts.values()].map(({ proof }) => proof);
    const times = all.map(({ provenAtMs }) => provenAtMs ?? Number.NEGATIVE_INFINITY);
    const oldest = Math.min(...times);
    const missed = all.reduce((sum, each) => sum + each.missed, 0);
    return { provenAtMs: Number.isFinite(oldest) ? oldest : undefined, missed };
  }

  async find(key: Key): Promise<Found> {
    return this.#partOf(key)?.find(key) ?? 'absent';
  }

  get size(): number {
    let size = 0;
    for (const part of this.#parts.values()) size += part.size;
    return size;
  }

  *keys(): IterableIterator<Key> {
    for (const part of this.#parts.values()) yield* part.keys();
  }

  async relist(reason: string): Promise<void> {
    await Promise.all([...this.#parts.values()].map((part) => part.relist(reason)));
  }

  remember(object: KubeObject, seen?: string): boolean {
    return this.#parts.get(object.metadata.namespace ?? '')?.remember(object, seen) ?? true;
  }

  forget(key: Key, resourceVersion?: string): void {
    this.#partOf(key)?.forget(key, resourceVersion);
  }

  /** `listed` is called for the list of each namespace, but for the first time only when every namespace has a list. */
  subscribe(listener: WindowListener): () => void {
    const counts = new Map<string, number>();
    const removed: Key[] = [];
    const waiting = new Set([...this.#parts].filter(([, part]) => !part.hasSynced).map(([namespace]) => namespace));
    const follow = (namespace: string, part: Window<T>): (() => void) =>
      part.subscribe({
        changed: (change) => listener.changed?.(change),
        proven: () => listener.proven?.(),
        listed: (list) => {
          if (waiting.size === 0) return listener.listed?.(list);
          waiting.delete(namespace);
          counts.set(namespace, list.count);
          removed.push(...list.removed);
          const count = [...counts.values()].reduce((sum, each) => sum + each, 0);
          if (waiting.size === 0) listener.listed?.({ isFirst: true, count, removed });
        },
      });
    const ends = [...this.#parts].map(([namespace, part]) => follow(namespace, part));
    const joined = (namespace: string, part: Window<T>): void => {
      ends.push(follow(namespace, part));
      for (const key of part.keys()) listener.changed?.({ key, kind: 'set', origin: 'list' });
    };
    this.#joined.add(joined);
    return () => {
      this.#joined.delete(joined);
      for (const end of ends) end();
    };
  }

  get trouble(): WindowTrouble | undefined {
    let oldest: WindowTrouble | undefined;
    for (const { trouble } of this.#parts.values()) {
      if (trouble !== undefined && (oldest === undefined || trouble.sinceMs < oldest.sinceMs)) oldest = trouble;
    }
    return oldest;
  }

  /** The time of the window that has been silent longest. */
  get lastHeardMs(): number {
    return Math.min(...[...this.#parts.values()].map((part) => part.lastHeardMs));
  }

  #partOf(key: Key): Window<T> | undefined {
    return this.#parts.get(splitKey(key).namespace);
  }
}

class NarrowedWindow<T extends Item> implements Window<T> {
  #wide: Window<T>;
  #matches: (namespace: string) => boolean;

  constructor(wide: Window<T>, matches: (namespace: string) => boolean) {
    this.#wide = wide;
    this.#matches = matches;
  }

  start(): void {
    this.#wide.start();
  }

  stop(): Promise<void> {
    return this.#wide.stop();
  }

  get state(): WindowState {
    return this.#wide.state;
  }

  get hasSynced(): boolean {
    return this.#wide.hasSynced;
  }

  whenSynced(): Promise<void> {
    return this.#wide.whenSynced();
  }

  get(key: Key): T | undefined {
    return this.#shows(key) ? this.#wide.get(key) : undefined;
  }

  markOf(key: Key): string | undefined {
    return this.#shows(key) ? this.#wide.markOf(key) : undefined;
  }

  has(key: Key): boolean {
    return this.#shows(key) && this.#wide.has(key);
  }

  versionOf(key: Key): string | undefined {
    return this.#shows(key) ? this.#wide.versionOf(key) : undefined;
  }

  provenMs(key: Key): number | undefined {
    return this.#shows(key) ? this.#wide.provenMs(key) : undefined;
  }

  get proof(): ProofState {
    return this.#wide.proof;
  }

  async find(key: Key): Promise<Found> {
    return this.#shows(key) ? this.#wide.find(key) : 'absent';
  }

  get size(): number {
    let size = 0;
    for (const _ of this.keys()) size++;
    return size;
  }

  *keys(): IterableIterator<Key> {
    for (const key of this.#wide.keys()) if (this.#shows(key)) yield key;
  }

  relist(reason: string): Promise<void> {
    return this.#wide.relist(reason);
  }

  remember(object: KubeObject, seen?: string): boolean {
    return !this.#matches(object.metadata.namespace ?? '') || this.#wide.remember(object, seen);
  }

  forget(key: Key, resourceVersion?: string): void {
    if (this.#shows(key)) this.#wide.forget(key, resourceVersion);
  }

  subscribe(listener: WindowListener): () => void {
    return this.#wide.subscribe({
      changed: (change) => {
        if (this.#shows(change.key)) listener.changed?.(change);
      },
      proven: () => listener.proven?.(),
      listed: (list) => listener.listed?.({ ...list, removed: list.removed.filter((key) => this.#shows(key)) }),
    });
  }

  get trouble(): WindowTrouble | undefined {
    return this.#wide.trouble;
  }

  get lastHeardMs(): number {
    return this.#wide.lastHeardMs;
  }

  #shows(key: Key): boolean {
    return this.#matches(splitKey(key).namespace);
  }
}
