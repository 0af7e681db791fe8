// Keeps the promises that an API server alone does not: a deleted namespace loses its contents and goes, objects go with
// their owners, claims with nobody to protect them from go at once. In: every change in the store. Must never hold up a
// request: it works behind them, one thing after another.
import type { Catalog } from '../apiserver/kinds/catalog.ts';
import type { Kind } from '../apiserver/kinds/kind.ts';
import type { Kit } from '../apiserver/kinds/kit.ts';
import { storagePrefix } from '../apiserver/wire/stored-text.ts';
import type { KubeObject } from '../object/meta/object.ts';
import type { StoreEvent, StoreWatch } from '../store/store.ts';
import { claimProtection } from './kinds/claim-kind.ts';
import { items } from './kinds/fields.ts';
import { contentFinalizer } from './kinds/namespace-kind.ts';
import { Owners } from './owners.ts';
import { changeIfPresent, deleteIfPresent, setOrDrop, systemCall } from './system-call.ts';

const root = '/registry/';
/** So many records are looked at between two turns of the loop. */
const pageRecords = 500;

export class Caretaker {
  #kit: Kit;
  #kinds: ReadonlyMap<string, Kind>;
  #owners: Owners;
  #watch: StoreWatch | undefined;
  #done: Promise<void> = Promise.resolve();
  #isStopped = false;
  /** Namespaces that wait for the last of their contents. */
  #emptying = new Map<string, string>();

  constructor(kit: Kit) {
    this.#kit = kit;
    this.#kinds = kindsByStorage(kit.catalog);
    this.#owners = new Owners(kit);
  }

  async start(): Promise<void> {
    const watch = await this.#open();
    this.#done = this.#run(watch);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#watch?.close();
    await this.#done;
  }

  /** A caretaker that fell behind loses its watch, and starts again from what there is. */
  async #run(first: StoreWatch): Promise<void> {
    let watch = first;
    for (;;) {
      await this.#follow(watch);
      if (this.#isStopped || watch.ended !== 'overflow') return;
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
    const { namespace } = partsOf(event.key, this.#kinds);
    const uid = this.#emptying.get(namespace);
    if (uid !== undefined) await this.#finishNamespace(namespace, uid);
  }

  /** Most objects concern nobody here; that is seen in their text. */
  async #look(key: string, value: string): Promise<void> {
    const isMarked = value.includes('"deletionTimestamp"');
    const isOwned = value.includes('"ownerReferences"');
    if (!isMarked && !isOwned && !this.#owners.knows(key)) return;
    const { kind, namespace, name } = partsOf(key, this.#kinds);
    if (kind === undefined) return;
    const object = JSON.parse(value) as KubeObject;
    await this.#owners.seen(key, { kind, namespace, name, object });
    if (object.metadata.deletionTimestamp === undefined) return;
    const uid = object.metadata.uid ?? '';
    if (items(object, 'spec', 'finalizers').includes(contentFinalizer) && !kind.namespaced) {
      await this.#emptyNamespace(name, uid);
    }
    if (object.metadata.finalizers?.includes(claimProtection) === true) {
      await changeIfPresent(systemCall(this.#kit, kind, { namespace, name }), uid, (claim) => {
        const left = (claim.metadata.finalizers ?? []).filter((entry) => entry !== claimProtection);
        setOrDrop(claim.metadata, 'finalizers', left);
      });
    }
  }

  async #emptyNamespace(namespace: string, uid: string): Promise<void> {
    if (this.#emptying.has(namespace)) return;
    this.#emptying.set(namespace, uid);
    for (const kind of this.#contents()) {
      for (const key of await this.#keysOf(kind, namespace)) {
        const name = key.slice(storagePrefix(kind, namespace).length);
        await deleteIfPresent(systemCall(this.#kit, kind, { namespace, name }), undefined);
      }
    }
    await this.#finishNamespace(namespace, uid);
  }

  async #finishNamespace(namespace: string, uid: string): Promise<void> {
    for (const kind of this.#contents()) {
      const page = await this.#kit.store.list(storagePrefix(kind, namespace), { limit: 1 });
      if (page.kind !== 'page' || page.records.length > 0) return;
    }
    this.#emptying.delete(namespace);
    const kind = this.#kinds.get('namespaces');
    if (kind === undefined) return;
    // A namespace finds itself in its URL.
    const call = systemCall(this.#kit, kind, { namespace: '', name: namespace, subresource: 'finalize' });
    await changeIfPresent(call, uid, (object) => {
      const left = items(object, 'spec', 'finalizers').filter((entry) => entry !== contentFinalizer);
      object['spec'] = left.length === 0 ? {} : { finalizers: left };
    });
  }

  #contents(): Kind[] {
    return [...this.#kinds.values()].filter((kind) => kind.namespaced);
  }

  async #keysOf(kind: Kind, namespace: string): Promise<string[]> {
    const page = await this.#kit.store.list(storagePrefix(kind, namespace));
    return page.kind === 'page' ? page.records.map((record) => record.key) : [];
  }
}

/** One kind for each place in the store; two versions of one kind share theirs. */
function kindsByStorage(catalog: Catalog): Map<string, Kind> {
  const found = new Map<string, Kind>();
  for (const kind of catalog.kinds) {
    if (kind.answer === undefined && !found.has(kind.storage)) found.set(kind.storage, kind);
  }
  return found;
}

/** The storage name may hold a slash itself; the rest of the key does not. */
function partsOf(
  key: string,
  kinds: ReadonlyMap<string, Kind>,
): { kind: Kind | undefined; namespace: string; name: string } {
  const parts = key.slice(root.length).split('/');
  for (const length of [1, 2]) {
    const kind = kinds.get(parts.slice(0, length).join('/'));
    const rest = parts.slice(length);
    if (kind === undefined || rest.length !== (kind.namespaced ? 2 : 1)) continue;
    return { kind, namespace: kind.namespaced ? (rest[0] as string) : '', name: rest.at(-1) as string };
  }
  return { kind: undefined, namespace: '', name: '' };
}
