// Owner references: an object goes when the last of its owners has gone. The delete's policy stands on the owner as a
// finalizer: `orphan` lets the dependents stay, `foregroundDeletion` waits for them.

import type { KubeObject, OwnerReference } from '../../object/object.ts';
import type { Kind } from '../kind.ts';
import type { Kit } from '../kit.ts';
import { storageKey } from '../stored-text.ts';
import { changeIfPresent, deleteIfPresent, setOrDrop, systemCall } from '../system-call.ts';

const orphan = 'orphan';
const foreground = 'foregroundDeletion';

interface Dependent {
  kind: Kind;
  namespace: string;
  name: string;
  uid: string;
  owners: readonly OwnerReference[];
}

interface Seen {
  kind: Kind;
  namespace: string;
  name: string;
  object: KubeObject;
}

export class Owners {
  #kit: Kit;
  #dependents = new Map<string, Dependent>();
  /** uid of an owner → keys of what it owns. */
  #keysByOwner = new Map<string, Set<string>>();
  /** Owners that wait for their dependents. */
  #waiting = new Map<string, Seen>();

  constructor(kit: Kit) {
    this.#kit = kit;
  }

  knows(key: string): boolean {
    return this.#dependents.has(key);
  }

  async seen(key: string, seen: Seen): Promise<void> {
    const { kind, namespace, name, object } = seen;
    const owners = object.metadata.ownerReferences ?? [];
    this.#forget(key);
    if (owners.length > 0) {
      const dependent = { kind, namespace, name, uid: object.metadata.uid ?? '', owners };
      this.#dependents.set(key, dependent);
      for (const { uid } of owners) {
        const keys = this.#keysByOwner.get(uid) ?? new Set();
        this.#keysByOwner.set(uid, keys.add(key));
      }
      await this.#collectIfOrphaned(dependent);
    }
    if (object.metadata.deletionTimestamp !== undefined) await this.#workOffPolicy(seen);
  }

  async gone(key: string, value: string): Promise<void> {
    const dependent = this.#dependents.get(key);
    this.#forget(key);
    if (dependent !== undefined) {
      for (const { uid } of dependent.owners) {
        const owner = this.#waiting.get(uid);
        if (owner !== undefined) await this.#workOffPolicy(owner);
      }
    }
    if (this.#keysByOwner.size === 0) return;
    const { metadata } = JSON.parse(value) as KubeObject;
    for (const owned of [...(this.#keysByOwner.get(metadata.uid ?? '') ?? [])]) {
      const left = this.#dependents.get(owned);
      if (left !== undefined) await this.#collectIfOrphaned(left);
    }
  }

  #forget(key: string): void {
    for (const { uid } of this.#dependents.get(key)?.owners ?? []) {
      const keys = this.#keysByOwner.get(uid);
      keys?.delete(key);
      if (keys?.size === 0) this.#keysByOwner.delete(uid);
    }
    this.#dependents.delete(key);
  }

  async #collectIfOrphaned(dependent: Dependent): Promise<void> {
    for (const owner of dependent.owners) if (await this.#mayExist(owner, dependent.namespace)) return;
    await deleteIfPresent(systemCall(this.#kit, dependent.kind, dependent), dependent.uid);
  }

  /** An owner of a kind that is not served here is taken to be alive: nobody can say that it is not. */
  async #mayExist({ apiVersion, kind: kindName, name, uid }: OwnerReference, namespace: string): Promise<boolean> {
    const slash = apiVersion.indexOf('/');
    const group = slash < 0 ? '' : apiVersion.slice(0, slash);
    const kind = this.#kit.catalog.findByKind(group, kindName);
    if (kind === undefined || kind.answer !== undefined) return true;
    const { record } = await this.#kit.store.get(storageKey(kind, namespace, name));
    return record !== undefined && (JSON.parse(record.value) as KubeObject).metadata.uid === uid;
  }

  async #workOffPolicy(owner: Seen): Promise<void> {
    const { finalizers = [], uid = '' } = owner.object.metadata;
    const keys = [...(this.#keysByOwner.get(uid) ?? [])];
    if (finalizers.includes(orphan)) {
      for (const key of keys) await this.#release(key, uid);
      await this.#dropFinalizer(owner, orphan);
    }
    if (!finalizers.includes(foreground)) return;
    if (keys.length === 0) {
      this.#waiting.delete(uid);
      await this.#dropFinalizer(owner, foreground);
      return;
    }
    if (this.#waiting.has(uid)) return;
    this.#waiting.set(uid, owner);
    for (const key of keys) {
      const dependent = this.#dependents.get(key);
      if (dependent !== undefined) {
        await deleteIfPresent(systemCall(this.#kit, dependent.kind, dependent), dependent.uid);
      }
    }
  }

  async #release(key: string, ownerUid: string): Promise<void> {
    const dependent = this.#dependents.get(key);
    if (dependent === undefined) return;
    await changeIfPresent(systemCall(this.#kit, dependent.kind, dependent), dependent.uid, ({ metadata }) => {
      setOrDrop(
        metadata,
        'ownerReferences',
        (metadata.ownerReferences ?? []).filter(({ uid }) => uid !== ownerUid),
      );
    });
    this.#forget(key);
  }

  async #dropFinalizer({ kind, namespace, name, object }: Seen, finalizer: string): Promise<void> {
    await changeIfPresent(
      systemCall(this.#kit, kind, { namespace, name }),
      object.metadata.uid ?? '',
      ({ metadata }) => {
        setOrDrop(
          metadata,
          'finalizers',
          (metadata.finalizers ?? []).filter((entry) => entry !== finalizer),
        );
      },
    );
  }
}
