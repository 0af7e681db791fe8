import type { Answer } from '../../src/cluster/answer.ts';
import type { Found, Item, ProofState, Window, WindowListener } from '../../src/cluster/window/window.ts';
import type { ResourceRef } from '../../src/cluster/wire/scope.ts';
import type { StillWanted, Writer } from '../../src/cluster/write/writer.ts';
import { type Key, type KubeObject, keyOf } from '../../src/object/meta/object.ts';

/**
 * A fake API server with the write semantics that sync relies on: uid and resourceVersion checks, merge patches, no-op
 * writes. It needs no socket, so that thousands of schedules run in a second. The contract suite checks the same semantics
 * on real servers.
 */
export class FakeServer {
  readonly objects = new Map<string, KubeObject>();
  readonly writes: string[] = [];
  /** By the writer; what windows show is no read. */
  readonly reads: string[] = [];
  readonly windows = new Set<FakeWindow<Item>>();
  #revision = 100;
  #uid = 0;

  get revision(): number {
    return this.#revision;
  }

  put(resource: string, object: KubeObject): KubeObject {
    const id = idOf(resource, object.metadata);
    const before = this.objects.get(id);
    const stored: KubeObject = {
      ...structuredClone(object),
      metadata: {
        creationTimestamp: '2026-01-01T00:00:00Z',
        uid: before?.metadata.uid ?? `uid-${++this.#uid}`,
        ...before?.metadata,
        ...structuredClone(object.metadata),
        resourceVersion: String(++this.#revision),
      },
    };
    this.objects.set(id, stored);
    this.#announce(resource, stored, 'set');
    return stored;
  }

  remove(resource: string, namespace: string, name: string): void {
    const id = `${resource}/${namespace}/${name}`;
    const object = this.objects.get(id);
    if (object === undefined) return;
    this.objects.delete(id);
    const resourceVersion = String(++this.#revision);
    this.#announce(resource, { ...object, metadata: { ...object.metadata, resourceVersion } }, 'removed');
  }

  get(resource: string, namespace: string, name: string): KubeObject | undefined {
    return this.objects.get(`${resource}/${namespace}/${name}`);
  }

  list(resource: string): KubeObject[] {
    return [...this.objects].filter(([id]) => id.startsWith(`${resource}/`)).map(([, object]) => object);
  }

  #announce(resource: string, object: KubeObject, kind: 'set' | 'removed'): void {
    for (const window of this.windows) if (window.resource === resource) window.receive(object, kind);
  }

  writer(): Writer {
    const answer = (object: KubeObject): Answer => ({ kind: 'ok', status: 200, object: structuredClone(object) });
    const find = (ref: ResourceRef, place: { namespace: string; name: string }): KubeObject | undefined =>
      this.get(ref.resource, place.namespace, place.name);
    const missing: Answer = { kind: 'notFound', message: 'not found' };
    return {
      inFlight: 0,
      stop: async () => {},
      get: async (ref, place) => {
        this.reads.push(`get ${ref.resource} ${place.name}`);
        const object = find(ref, place);
        return object ? answer(object) : missing;
      },
      create: async (ref, object) => {
        this.writes.push(`create ${ref.resource} ${object.metadata.name}`);
        if (find(ref, { namespace: object.metadata.namespace ?? '', name: object.metadata.name ?? '' })) {
          return { kind: 'alreadyExists', message: 'already exists' };
        }
        return answer(this.put(ref.resource, object));
      },
      patch: async (ref, place, mergePatch) => {
        this.writes.push(`patch ${ref.resource} ${place.name}`);
        const before = find(ref, place);
        if (before === undefined) return missing;
        const wanted = (mergePatch as KubeObject).metadata;
        if (wanted?.uid !== undefined && wanted.uid !== before.metadata.uid)
          return { kind: 'conflict', message: 'uid' };
        if (wanted?.resourceVersion !== undefined && wanted.resourceVersion !== before.metadata.resourceVersion) {
          return { kind: 'conflict', message: 'resourceVersion' };
        }
        const after = merge(before, mergePatch) as KubeObject;
        if (JSON.stringify(after) === JSON.stringify(before)) return answer(before);
        return answer(this.put(ref.resource, after));
      },
      remove: async (ref, place, preconditions) => {
        this.writes.push(`remove ${ref.resource} ${place.name}`);
        const before = find(ref, place);
        if (before === undefined) return missing;
        const { uid, resourceVersion } = before.metadata;
        const isRight =
          preconditions.uid === uid && (preconditions.resourceVersion ?? resourceVersion) === resourceVersion;
        if (!isRight) return { kind: 'conflict', message: 'precondition' };
        this.remove(ref.resource, place.namespace, place.name);
        return answer(before);
      },
    };
  }
}

/** Between `hold` and `release` writes wait, as for the write rate; then only those leave that are still wanted. */
export function holdableWrites(server: FakeServer): { hold(): void; release(): void } {
  const writer = server.writer();
  let release = (): void => {};
  let held: Promise<void> | undefined;
  const leave = async (isWanted: StillWanted | undefined, write: () => Promise<Answer>): Promise<Answer> => {
    await held;
    return isWanted?.() === false ? { kind: 'notSent', reason: 'noLease' } : write();
  };
  server.writer = () => ({
    ...writer,
    create: (ref, object, isWanted) => leave(isWanted, () => writer.create(ref, object)),
    patch: (ref, place, mergePatch, isWanted) => leave(isWanted, () => writer.patch(ref, place, mergePatch)),
    remove: (ref, place, preconditions, isWanted) => leave(isWanted, () => writer.remove(ref, place, preconditions)),
  });
  const hold = () => {
    held = new Promise<void>((resolve) => {
      release = resolve;
    });
  };
  return { hold, release: () => release() };
}

/**
 * Answers a patch with 404 when `comesBack` returns an object: the old object is deleted before the patch, and the returned
 * object is created before the answer.
 */
export function recreateBeforeAnswers(
  server: FakeServer,
  comesBack: (resource: string, found: KubeObject) => KubeObject | undefined,
): void {
  const writer = server.writer();
  server.writer = () => ({
    ...writer,
    patch: async (ref, place, mergePatch) => {
      const found = server.get(ref.resource, place.namespace, place.name);
      const back = found && comesBack(ref.resource, found);
      if (back === undefined) return writer.patch(ref, place, mergePatch);
      server.remove(ref.resource, place.namespace, place.name);
      server.put(ref.resource, back);
      return { kind: 'notFound', message: 'not found' };
    },
  });
}

/** A fake window. While `isHeld` is true its events wait for deliver(), so that a test controls how outdated the view is. */
export class FakeWindow<T extends Item> implements Window<T> {
  readonly resource: string;
  readonly #server: FakeServer;
  /** Returns undefined to hide an object, as a label selector does. */
  readonly #project: (object: KubeObject) => T | undefined;
  readonly #seen = new Map<Key, KubeObject>();
  readonly #listeners = new Set<WindowListener>();
  #pending: { object: KubeObject; kind: 'set' | 'removed' }[] = [];
  /** When a watch event has last said that the object is gone. */
  readonly #removedAt = new Map<Key, number>();
  /** The version of the last list. */
  #listed = 0;
  isHeld = false;
  /** Events get lost on their way. */
  isLosing = false;
  relists = 0;
  /** The objects that were asked for by name. */
  readonly finds: Key[] = [];
  /** The server does not say whether an object exists. */
  isSilent = false;
  lastHeardMs = 0;
  state: Window<T>['state'] = 'idle';
  hasSynced = false;
  trouble = undefined;
  proof: ProofState = { provenAtMs: undefined, missed: 0 };
  readonly #proven = new Map<Key, { version: string | undefined; atMs: number }>();
  /** The objects of the next list, instead of the server's objects. */
  nextList: KubeObject[] | undefined;
  /** The objects of every further list. */
  laterLists: KubeObject[] | undefined;

  constructor(server: FakeServer, resource: string, project: (object: KubeObject) => T | undefined) {
    this.resource = resource;
    this.#server = server;
    this.#project = project;
    server.windows.add(this as unknown as FakeWindow<Item>);
  }

  start(): void {
    this.#swap({ isFirst: true });
    this.hasSynced = true;
    this.state = 'watching';
  }

  async stop(): Promise<void> {
    this.state = 'stopped';
    this.#server.windows.delete(this as unknown as FakeWindow<Item>);
  }

  async whenSynced(): Promise<void> {}

  versionOf(key: Key): string | undefined {
    return this.#seen.get(key)?.metadata.resourceVersion;
  }

  provenMs(key: Key): number | undefined {
    const proven = this.#proven.get(key);
    return proven?.version === this.versionOf(key) ? proven?.atMs : undefined;
  }

  /** A proof at this time shows that every object is the server's. */
  prove(atMs: number): void {
    for (const key of this.#seen.keys()) this.#proven.set(key, { version: this.versionOf(key), atMs });
    this.proof = { provenAtMs: atMs, missed: 0 };
    for (const listener of this.#listeners) listener.proven?.();
  }

  receive(object: KubeObject, kind: 'set' | 'removed'): void {
    if (!this.hasSynced || this.isLosing) return;
    this.#pending.push({ object: structuredClone(object), kind });
    if (!this.isHeld) this.deliver();
  }

  deliver(): void {
    const pending = this.#pending;
    this.#pending = [];
    for (const { object, kind } of pending) {
      this.#apply(object, kind, 'watch');
      const key = keyOfObject(object);
      if (!this.has(key)) this.#removedAt.set(key, versionOf(object));
    }
  }

  #apply(object: KubeObject, given: 'set' | 'removed', origin: 'watch' | 'list'): void {
    const kind = this.#project(structuredClone(object)) === undefined ? 'removed' : given;
    const key = keyOfObject(object);
    const seen = this.#seen.get(key);
    if (origin === 'watch' && seen && kind === 'set' && versionOf(seen) >= versionOf(object)) return;
    // The real cache reports no removal of an unknown object either.
    if (kind === 'removed' && seen === undefined) return;
    if (kind === 'set') this.#seen.set(key, object);
    else this.#seen.delete(key);
    for (const listener of this.#listeners) listener.changed?.({ key, kind, origin });
  }

  async find(key: Key): Promise<Found> {
    this.finds.push(key);
    if (this.isSilent) return 'unknown';
    const object = this.#server.list(this.resource).find((each) => keyOfObject(each) === key);
    return object !== undefined && this.#project(structuredClone(object)) !== undefined ? 'found' : 'absent';
  }

  async relist(): Promise<void> {
    this.relists++;
    this.#swap({ isFirst: false });
  }

  #swap({ isFirst }: { isFirst: boolean }): void {
    const listed = (this.nextList ?? this.laterLists ?? this.#server.list(this.resource)).map((object) =>
      structuredClone(object),
    );
    this.nextList = undefined;
    this.#pending = [];
    this.#listed = this.#server.revision;
    const there = new Set(listed.map(keyOfObject));
    const removed = [...this.#seen.keys()].filter((key) => !there.has(key));
    for (const object of listed) this.#apply(object, 'set', 'list');
    for (const key of removed) this.#apply(this.#seen.get(key) as KubeObject, 'removed', 'list');
    for (const listener of this.#listeners) listener.listed?.({ isFirst, count: listed.length, removed });
  }

  get(key: Key): T | undefined {
    const object = this.#seen.get(key);
    return object === undefined ? undefined : this.#project(structuredClone(object));
  }

  markOf(key: Key): string | undefined {
    const item = this.get(key);
    return item && (item.mark ?? '');
  }

  has(key: Key): boolean {
    return this.#seen.has(key);
  }

  get size(): number {
    return this.#seen.size;
  }

  keys(): IterableIterator<Key> {
    return this.#seen.keys();
  }

  /** As in the real window, a late answer does not overwrite a newer version, or restore a deleted object. */
  remember(object: KubeObject): boolean {
    const key = keyOfObject(object);
    const seen = this.#seen.get(key);
    const goneAt = this.#removedAt.get(key) ?? 0;
    const isHidden = this.#project(structuredClone(object)) === undefined;
    if (seen === undefined && !isHidden && versionOf(object) <= Math.max(this.#listed, goneAt)) return false;
    if (versionOf(object) <= (seen === undefined ? goneAt : versionOf(seen))) return true;
    if (isHidden) this.#seen.delete(key);
    else this.#seen.set(key, structuredClone(object));
    return true;
  }

  /** As in the real window, an object newer than the deleted version stays. */
  forget(key: Key, resourceVersion?: string): void {
    const seen = this.#seen.get(key);
    const isNewer = seen !== undefined && resourceVersion !== undefined && versionOf(seen) > Number(resourceVersion);
    if (!isNewer) this.#seen.delete(key);
  }

  subscribe(listener: WindowListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

function versionOf(object: KubeObject): number {
  return Number(object.metadata.resourceVersion);
}

function keyOfObject(object: KubeObject): Key {
  return keyOf(object.metadata.namespace ?? '', object.metadata.name ?? '');
}

function idOf(resource: string, metadata: KubeObject['metadata']): string {
  return `${resource}/${metadata.namespace}/${metadata.name}`;
}

function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> = { ...(typeof target === 'object' && target !== null ? target : {}) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merge(result[key], value);
  }
  return result;
}
