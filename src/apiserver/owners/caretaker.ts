// Follows every change in the store and does what an API server alone does not: objects go with their owners, and the tenant's
// chores are done. In: a kit and chores. Must never hold up a request: the work is done behind the requests, one change after
// another.
import type { KubeObject } from '../../object/meta/object.ts';
import type { StoreEvent, StoreWatch } from '../../store/store.ts';
import type { Catalog } from '../kinds/catalog.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Kit } from '../kinds/kit.ts';
import { Owners } from './owners.ts';

const root = '/registry/';
/** So many records are looked at between two turns of the loop. */
const pageRecords = 500;

/** An object as it stands in the store, or where one stood. */
export interface Place {
  kind: Kind;
  namespace: string;
  name: string;
}

/** Work of the tenant behind the requests. */
export interface Chore {
  /** A marked object was written, or was found at the start. */
  marked(place: Place, object: KubeObject): Promise<void>;
  /** An object is gone. */
  gone(place: Place): Promise<void>;
}

export class Caretaker {
  #kit: Kit;
  #chores: readonly Chore[];
  #kinds: ReadonlyMap<string, Kind>;
  #owners: Owners;
  #watch: StoreWatch | undefined;
  #done: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(kit: Kit, chores: readonly Chore[] = []) {
    this.#kit = kit;
    this.#chores = chores;
    this.#kinds = kindsByStorage(kit.catalog);
    this.#owners = new Owners(kit);
  }

  async start(): Promise<void> {
    const watch = await this.#open();
    this.#done = this.#run(watch);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#owners.stop();
    this.#watch?.close();
    await this.#done;
  }

  /** A caretaker that fell behind, or whose store did, loses its watch and starts again from what there is. */
  async #run(first: StoreWatch): Promise<void> {
    let watch = first;
    for (;;) {
      await this.#follow(watch);
      if (this.#isStopped || watch.ended === 'closed') return;
      watch = await this.#open();
    }
  }

  async #open(): Promise<StoreWatch> {
    const revision = await this.#kit.store.currentRevision();
    const watch = await this.#kit.store.watch(root, revision);
    if (!('events' in watch))
      throw new Error('watch everything: want a watch from now on, the store has forgotten now');
    this.#watch = watch;
    await this.#readAll(revision);
    return watch;
  }

  /** What was left undone when the cluster last stopped. */
  async #readAll(revision: number): Promise<void> {
    let afterKey: string | undefined;
    for (;;) {
      const place = afterKey === undefined ? {} : { afterKey };
      const page = await this.#kit.store.list(root, { atRevision: revision, limit: pageRecords, ...place });
      if (page.kind !== 'page') return;
      for (const { key, value } of page.records) await this.#look(key, value);
      afterKey = page.records.at(-1)?.key;
      if (!page.hasMore) return;
    }
  }

  async #follow(watch: StoreWatch): Promise<void> {
    for await (const batch of watch.events()) {
      for (const event of batch) {
        try {
          await this.#heard(event);
        } catch (error) {
          this.#kit.log.error({ key: event.key, error: String(error) }, 'caretaker failed');
        }
      }
    }
  }

  async #heard(event: StoreEvent): Promise<void> {
    if (event.type === 'put') return this.#look(event.key, event.value);
    await this.#owners.gone(event.key, event.value);
    const place = placeOf(event.key, this.#kinds);
    if (place === undefined) return;
    for (const chore of this.#chores) await chore.gone(place);
  }

  /** Most objects concern nobody here; that is seen in their text. */
  async #look(key: string, value: string): Promise<void> {
    const isMarked = value.includes('"deletionTimestamp"');
    const isOwned = value.includes('"ownerReferences"');
    if (!isMarked && !isOwned && !this.#owners.knows(key)) return;
    const place = placeOf(key, this.#kinds);
    if (place === undefined) return;
    const object = JSON.parse(value) as KubeObject;
    await this.#owners.seen(key, { ...place, object });
    if (object.metadata.deletionTimestamp === undefined) return;
    for (const chore of this.#chores) await chore.marked(place, object);
  }
}

/** One kind for each place in the store; two versions of one kind share theirs. */
export function kindsByStorage(catalog: Catalog): Map<string, Kind> {
  const found = new Map<string, Kind>();
  for (const kind of catalog.kinds) {
    if (kind.answer === undefined && !found.has(kind.storage)) found.set(kind.storage, kind);
  }
  return found;
}

/** The storage name may hold a slash itself; the rest of the key does not. */
function placeOf(key: string, kinds: ReadonlyMap<string, Kind>): Place | undefined {
  const parts = key.slice(root.length).split('/');
  for (const length of [1, 2]) {
    const kind = kinds.get(parts.slice(0, length).join('/'));
    const rest = parts.slice(length);
    if (kind === undefined || rest.length !== (kind.namespaced ? 2 : 1)) continue;
    return { kind, namespace: kind.namespaced ? (rest[0] as string) : '', name: rest.at(-1) as string };
  }
  return undefined;
}
