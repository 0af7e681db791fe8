// The store of an embedded cluster with a memory: every write with its time and its author, so that oracles can ask what was
// where and when, and the cluster can be set back to an older state, as from a backup, with the same revisions as then.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../../../src/clock.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { MemoryStore } from '../../../src/store/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';

/** Who sends the request that is being served: the number of a daemon's request, or people. */
export interface Author {
  /** Undefined = somebody who is no daemon. */
  daemon: string | undefined;
  request: number;
}

export const author = new AsyncLocalStorage<Author>();

export interface Written {
  key: string;
  revision: number;
  atMs: number;
  by: Author | undefined;
  before: KubeObject | undefined;
  after: KubeObject | undefined;
}

/** Of an object that is synced: leases and events are the daemon's own affairs. */
export function isSyncWrite({ by, key }: Written): boolean {
  return by?.daemon !== undefined && !/\/(leases|events)\//.test(key);
}

interface RawWrite {
  key: string;
  value: string | undefined;
  revision: number;
}

export class ReplayedStore implements Store {
  readonly written: Written[] = [];
  readonly #raw: RawWrite[] = [];
  readonly #now = new Map<string, KubeObject>();
  readonly #clock: Clock;
  readonly #note: () => void;
  #store: MemoryStore;

  constructor(clock: Clock, note: () => void) {
    this.#clock = clock;
    this.#note = note;
    this.#store = new MemoryStore({ clock });
  }

  start = () => this.#store.start();
  stop = () => this.#store.stop();
  currentRevision: Store['currentRevision'] = () => this.#store.currentRevision();
  get: Store['get'] = (key, options) => this.#store.get(key, options);
  list: Store['list'] = (prefix, options) => this.#store.list(prefix, options);
  read: Store['read'] = (keys, atRevision) => this.#store.read(keys, atRevision);
  watch: Store['watch'] = (prefix, afterRevision) => this.#store.watch(prefix, afterRevision);
  compact: Store['compact'] = (upToRevision) => this.#store.compact(upToRevision);
  sideValues: Store['sideValues'] = (prefix, options) => this.#store.sideValues(prefix, options);
  writeSideValues: Store['writeSideValues'] = (changes) => this.#store.writeSideValues(changes);

  write: Store['write'] = async (key, change) => {
    const result = await this.#store.write(key, change);
    if (!result.ok) return result;
    this.#note();
    this.#raw.push({ key, value: change.value, revision: result.revision });
    this.#remember(key, change.value, result.revision);
    return result;
  };

  #remember(key: string, value: string | undefined, revision: number): void {
    const before = this.#now.get(key);
    const after = value === undefined ? undefined : stored(value, revision);
    if (after === undefined) this.#now.delete(key);
    else this.#now.set(key, after);
    const at = { key, revision, atMs: this.#clock.now() };
    const by = author.getStore();
    const asked = by?.daemon !== undefined && after && !hasSeal(before) && hasSeal(after) ? unsealed(after) : undefined;
    if (asked === undefined) return void this.written.push({ ...at, by, before, after });
    // What a webhook adds to the write of a daemon is a deed of people.
    this.written.push({ ...at, by, before, after: asked }, { ...at, by: undefined, before: asked, after });
  }

  /** What is there at this moment. */
  peek(key: string): KubeObject | undefined {
    return this.#now.get(key);
  }

  entries(prefix: string): [string, KubeObject][] {
    return [...this.#now].filter(([key]) => key.startsWith(prefix));
  }

  get revision(): number {
    return this.#raw.at(-1)?.revision ?? 0;
  }

  /** Remembers nothing but what is there now; events for people go. Nothing can be set back any more. */
  async forget(): Promise<void> {
    for (const [key] of this.entries('/registry/events/'))
      await this.#store.write(key, { expect: undefined, value: undefined });
    for (const [key] of this.entries('/registry/events/')) this.#now.delete(key);
    this.written.length = 0;
    this.#raw.splice(0, this.#raw.length - 1);
    await this.#store.compact(await this.#store.currentRevision());
  }

  /** The state at an older revision, and the writes since then never happened. Watches must be ended by the caller. */
  async setBack(toRevision: number): Promise<void> {
    const kept = this.#raw.filter(({ revision }) => revision <= toRevision);
    const store = new MemoryStore({ clock: this.#clock });
    await store.start();
    for (const { key, value, revision } of kept) {
      const again = await store.write(key, { expect: undefined, value });
      if (!again.ok || again.revision !== revision)
        throw new Error(`set a store back: wanted revision ${revision}, found ${again.revision}`);
    }
    await this.#store.stop();
    this.#store = store;
    this.#raw.splice(0, this.#raw.length, ...kept);
    const undone = new Map(this.#now);
    this.#now.clear();
    for (const { key, value, revision } of kept) {
      if (value === undefined) this.#now.delete(key);
      else this.#now.set(key, stored(value, revision));
    }
    // For everybody else a restore is a deed of people.
    for (const key of new Set([...undone.keys(), ...this.#now.keys()])) {
      const [before, after] = [undone.get(key), this.#now.get(key)];
      if (before?.metadata.resourceVersion === after?.metadata.resourceVersion) continue;
      this.written.push({ key, revision: toRevision, atMs: this.#clock.now(), by: undefined, before, after });
    }
    this.#note();
  }
}

/** The label that a mutating webhook of the host puts on everything that is written. */
export const webhookLabel = 'webhook.example.com/seen';

function hasSeal(object: KubeObject | undefined): boolean {
  return object?.metadata.labels?.[webhookLabel] !== undefined;
}

function unsealed(object: KubeObject): KubeObject {
  const { [webhookLabel]: _, ...labels } = object.metadata.labels ?? {};
  return { ...object, metadata: { ...object.metadata, labels } };
}

function stored(value: string, revision: number): KubeObject {
  const object = JSON.parse(value) as KubeObject;
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}
