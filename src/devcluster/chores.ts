// Does the work of two controllers of a real cluster: empties deleted namespaces before they are removed, and removes the
// protection finalizer of deleted claims, since this cluster runs no pods that could use a claim.
import { items } from '../apiserver/kinds/fields.ts';
import type { Kind } from '../apiserver/kinds/kind.ts';
import type { Kit } from '../apiserver/kinds/kit.ts';
import { type Chore, kindsByStorage, type ObjectPlace } from '../apiserver/owners/garbage-collector.ts';
import { changeIfPresent, deleteIfPresent, setOrDrop, systemCall } from '../apiserver/verbs/system-call.ts';
import { storagePrefix } from '../apiserver/wire/stored-text.ts';
import type { KubeObject } from '../object/meta/object.ts';
import { claimProtection } from './kinds/claim-kind.ts';
import { contentFinalizer } from './kinds/namespace-kind.ts';

export class NamespaceChore implements Chore {
  #kit: Kit;
  #kinds: ReadonlyMap<string, Kind>;
  /** Deleted namespaces that still have contents, with their uids. */
  #emptying = new Map<string, string>();

  constructor(kit: Kit) {
    this.#kit = kit;
    this.#kinds = kindsByStorage(kit.catalog);
  }

  async marked({ kind, name }: ObjectPlace, object: KubeObject): Promise<void> {
    if (kind.namespaced || !items(object, 'spec', 'finalizers').includes(contentFinalizer)) return;
    await this.#emptyNamespace(name, object.metadata.uid ?? '');
  }

  async gone({ namespace }: ObjectPlace): Promise<void> {
    const uid = this.#emptying.get(namespace);
    if (uid !== undefined) await this.#finishNamespace(namespace, uid);
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
    // For a Namespace object the namespace of the target is empty and the name is the namespace.
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

export class ClaimChore implements Chore {
  #kit: Kit;

  constructor(kit: Kit) {
    this.#kit = kit;
  }

  async marked({ kind, namespace, name }: ObjectPlace, object: KubeObject): Promise<void> {
    if (object.metadata.finalizers?.includes(claimProtection) !== true) return;
    const uid = object.metadata.uid ?? '';
    await changeIfPresent(systemCall(this.#kit, kind, { namespace, name }), uid, (claim) => {
      const left = (claim.metadata.finalizers ?? []).filter((entry) => entry !== claimProtection);
      setOrDrop(claim.metadata, 'finalizers', left);
    });
  }

  async gone(): Promise<void> {}
}
