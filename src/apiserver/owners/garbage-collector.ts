// Does the work of the controllers that a bare API server lacks: garbage collection by owner references, and the tenant's
// chores. In: a kit, chores, and every change in the store. Out: updates and deletes through the kit's own pipelines.
// Must never delay a request: the garbage collector works in the background, one change at a time.
import type { KubeObject } from '../../object/meta/object.ts';
import { Follower } from '../../store/follow/follower.ts';
import type { StoreEvent } from '../../store/store.ts';
import type { Catalog } from '../kinds/catalog.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Kit } from '../kinds/kit.ts';
import { Owners } from './owners.ts';

const root = '/registry/';

/** The location of a present or former object. */
export interface ObjectPlace {
  kind: Kind;
  namespace: string;
  name: string;
}

/** Background work of the tenant. */
export interface Chore {
  /** Runs for an object with a deletionTimestamp, after each write and at the start. */
  marked(place: ObjectPlace, object: KubeObject): Promise<void>;
  /** Runs after an object has been removed. */
  gone(place: ObjectPlace): Promise<void>;
}

export class GarbageCollector {
  #kit: Kit;
  #chores: readonly Chore[];
  #kinds: ReadonlyMap<string, Kind>;
  #owners: Owners;
  readonly #follower: Follower;

  /** `pace` is waited for before each delete; where it throws, the object stays. */
  constructor(kit: Kit, chores: readonly Chore[] = [], pace?: () => Promise<void>) {
    const { store, clock, log } = kit;
    const about = { store, clock, log, prefix: root, what: 'objects and their owners' };
    this.#kit = kit;
    // What it finds was unfinished when the cluster last stopped, or when a watch was lost.
    this.#follower = new Follower({
      ...about,
      found: ({ key, value }) => this.#found(key, value),
      changed: (event) => this.#try(event.key, () => this.#handle(event)),
    });
    this.#chores = chores;
    this.#kinds = kindsByStorage(kit.catalog);
    this.#owners = new Owners(kit, pace);
  }

  /** Does not wait until every object has been read: there may be a million. */
  async start(): Promise<void> {
    await this.#follower.startUnread();
  }

  async stop(): Promise<void> {
    this.#owners.stop();
    await this.#follower.stop();
  }

  #found(key: string, value: string): Promise<void> | undefined {
    return this.#concerns(key, value) ? this.#try(key, () => this.#inspect(key, value)) : undefined;
  }

  /** One object that fails must not end the work for all others. */
  async #try(key: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#kit.log.error({ key, error: String(error) }, 'garbage collector failed');
    }
  }

  async #handle(event: StoreEvent): Promise<void> {
    if (event.type === 'put') return this.#inspect(event.key, event.value);
    await this.#owners.gone(event.key, event.value);
    const place = placeOf(event.key, this.#kinds);
    if (place === undefined) return;
    for (const chore of this.#chores) await chore.gone(place);
  }

  /** Most objects need no work; searching their text is cheaper than parsing them. */
  #concerns(key: string, value: string): boolean {
    return value.includes('"deletionTimestamp"') || value.includes('"ownerReferences"') || this.#owners.knows(key);
  }

  async #inspect(key: string, value: string): Promise<void> {
    if (!this.#concerns(key, value)) return;
    const place = placeOf(key, this.#kinds);
    if (place === undefined) return;
    const object = JSON.parse(value) as KubeObject;
    await this.#owners.seen(key, { ...place, object });
    if (object.metadata.deletionTimestamp === undefined) return;
    for (const chore of this.#chores) await chore.marked(place, object);
  }
}

/** One kind for each storage name; of two versions with the same storage name, the first. */
export function kindsByStorage(catalog: Catalog): Map<string, Kind> {
  const found = new Map<string, Kind>();
  for (const kind of catalog.kinds) {
    if (kind.answer === undefined && !found.has(kind.storage)) found.set(kind.storage, kind);
  }
  return found;
}

/** Only the storage name may contain a slash; namespace and name cannot. */
function placeOf(key: string, kinds: ReadonlyMap<string, Kind>): ObjectPlace | undefined {
  const parts = key.slice(root.length).split('/');
  for (const length of [1, 2]) {
    const kind = kinds.get(parts.slice(0, length).join('/'));
    const rest = parts.slice(length);
    if (kind === undefined || rest.length !== (kind.namespaced ? 2 : 1)) continue;
    return { kind, namespace: kind.namespaced ? (rest[0] as string) : '', name: rest.at(-1) as string };
  }
  return undefined;
}
