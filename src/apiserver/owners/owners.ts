// Owner references, as the garbage collector of a real cluster reads them: an object goes when the last of its owners has gone,
// and a reference to an owner that has gone is taken out while another owner lives. The policy of a delete stands on the owner
// as a finalizer: `orphan` lets the dependents stay, `foregroundDeletion` waits for those that block the owner.
import type { Timer } from '../../clock.ts';
import type { KubeObject, OwnerReference } from '../../object/meta/object.ts';
import type { Kit } from '../kinds/kit.ts';
import { changeIfPresent, deleteIfPresent, setOrDrop, systemCall } from '../verbs/system-call.ts';
import { storageKey } from '../wire/stored-text.ts';
import { type Dependent, Dependents, type Seen } from './dependents.ts';

const orphan = 'orphan';
const foreground = 'foregroundDeletion';

/** An owner that is merely not there may be about to be restored or created: it is looked for again after so long. */
const secondLookMs = 10_000;
/** Owners whose end was seen need no second look; more than any burst of deletes that is still being worked off. */
const maxRemembered = 10_000;

type OwnerState =
  /** Or of a kind that is not served here: nobody can say that it is not there. */
  | 'alive'
  /** Being deleted, and waiting for its dependents. */
  | 'waiting'
  | 'missing'
  | 'gone';

export class Owners {
  #kit: Kit;
  #dependents = new Dependents();
  /** Owners that wait for their dependents, by uid. */
  #waiting = new Map<string, Seen>();
  /** uids whose end was seen, or was made sure of by a second look. */
  #gone = new Set<string>();
  #secondLooks = new Map<string, Timer>();
  #isStopped = false;

  constructor(kit: Kit) {
    this.#kit = kit;
  }

  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#secondLooks.values()) timer.cancel();
    this.#secondLooks.clear();
  }

  knows(key: string): boolean {
    return this.#dependents.get(key) !== undefined;
  }

  async seen(key: string, seen: Seen): Promise<void> {
    const before = this.#dependents.get(key);
    this.#dependents.put(key, seen);
    const dependent = this.#dependents.get(key);
    if (dependent !== undefined) await this.#collect(key, dependent);
    if (before !== undefined) await this.#workOffOwnersOf(before);
    if (seen.object.metadata.deletionTimestamp !== undefined) await this.#workOffPolicy(seen);
  }

  async gone(key: string, value: string): Promise<void> {
    const dependent = this.#dependents.get(key);
    this.#dependents.remove(key);
    this.#secondLooks.get(key)?.cancel();
    this.#secondLooks.delete(key);
    if (dependent !== undefined) await this.#workOffOwnersOf(dependent);
    if (this.#dependents.isEmpty) return;
    const { metadata } = JSON.parse(value) as KubeObject;
    await this.#ownerIsGone(metadata.uid ?? '');
  }

  async #ownerIsGone(uid: string): Promise<void> {
    this.#waiting.delete(uid);
    const owned = this.#dependents.ownedBy(uid);
    if (owned.length === 0) return;
    this.#gone.add(uid);
    const [oldest] = this.#gone;
    if (this.#gone.size > maxRemembered && oldest !== undefined) this.#gone.delete(oldest);
    for (const [key, dependent] of owned) await this.#collect(key, dependent);
  }

  async #workOffOwnersOf({ owners }: Dependent): Promise<void> {
    for (const { uid } of owners) {
      const owner = this.#waiting.get(uid);
      if (owner !== undefined) await this.#workOffPolicy(owner);
    }
  }

  async #collect(key: string, dependent: Dependent): Promise<void> {
    const states = new Map<OwnerReference, OwnerState>();
    for (const owner of dependent.owners) states.set(owner, await this.#stateOf(owner, dependent));
    const all = [...states.values()];
    if (all.includes('missing')) this.#lookAgain(key, dependent);
    const lives = all.includes('alive') || all.includes('missing');
    if (!lives) {
      await this.#remove(dependent, all.includes('waiting'));
      return;
    }
    // Another owner keeps it: what has gone or is going is no owner any more.
    const ended = new Set([...states].filter(([, state]) => state === 'gone').map(([{ uid }]) => uid));
    if (all.includes('alive')) {
      for (const [{ uid }, state] of states) if (state === 'waiting') ended.add(uid);
    }
    if (ended.size > 0) await this.#release(dependent, ended);
  }

  async #stateOf({ apiVersion, kind: kindName, name, uid }: OwnerReference, of: Dependent): Promise<OwnerState> {
    if (this.#gone.has(uid)) return 'gone';
    const slash = apiVersion.indexOf('/');
    const group = slash < 0 ? '' : apiVersion.slice(0, slash);
    const kind = this.#kit.catalog.findByKind(group, kindName);
    if (kind === undefined || kind.answer !== undefined) return 'alive';
    // A reference from the cluster scope into some namespace leads nowhere that could be looked at.
    if (kind.namespaced && of.namespace === '') return 'alive';
    const { record } = await this.#kit.store.get(storageKey(kind, of.namespace, name));
    if (record === undefined) return 'missing';
    const { metadata } = JSON.parse(record.value) as KubeObject;
    if (metadata.uid !== uid) return 'missing';
    const isWaiting = metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(foreground) === true;
    return isWaiting ? 'waiting' : 'alive';
  }

  #lookAgain(key: string, { uid, owners }: Dependent): void {
    if (this.#secondLooks.has(key) || this.#isStopped) return;
    const timer = this.#kit.clock.after(secondLookMs, () => {
      this.#secondLooks.delete(key);
      this.#secondLook(key, uid, owners).catch((error: unknown) => {
        this.#kit.log.error({ key, error: String(error) }, 'second look for an owner failed');
      });
    });
    this.#secondLooks.set(key, timer);
  }

  /** Owners that were named at the first look and are missing at the second one are gone. */
  async #secondLook(key: string, uid: string, owners: readonly OwnerReference[]): Promise<void> {
    const dependent = this.#dependents.get(key);
    if (dependent === undefined || dependent.uid !== uid || this.#isStopped) return;
    for (const owner of owners) {
      if ((await this.#stateOf(owner, dependent)) === 'missing') await this.#ownerIsGone(owner.uid);
    }
  }

  async #remove(dependent: Dependent, isForeground: boolean): Promise<void> {
    if (dependent.isDeleting) return;
    const ofItsOwn = this.#dependents.ownedBy(dependent.uid);
    const isCircle = ofItsOwn.some(([, { uid }]) => this.#waiting.has(uid));
    // In a circle everyone would wait for everyone: it is cut where it is found.
    if (isForeground && isCircle) await this.#unblock(dependent);
    const propagation = isForeground && ofItsOwn.length > 0 ? 'Foreground' : undefined;
    await deleteIfPresent(systemCall(this.#kit, dependent.kind, dependent), dependent.uid, propagation);
  }

  async #unblock(dependent: Dependent): Promise<void> {
    await changeIfPresent(systemCall(this.#kit, dependent.kind, dependent), dependent.uid, ({ metadata }) => {
      metadata.ownerReferences = (metadata.ownerReferences ?? []).map((owner) => ({
        ...owner,
        blockOwnerDeletion: false,
      }));
    });
  }

  async #workOffPolicy(owner: Seen): Promise<void> {
    const { finalizers = [], uid = '' } = owner.object.metadata;
    const owned = this.#dependents.ownedBy(uid);
    if (finalizers.includes(orphan)) {
      for (const [key, dependent] of owned) {
        await this.#release(dependent, new Set([uid]));
        this.#dependents.remove(key);
      }
      await this.#dropFinalizer(owner, orphan);
    }
    if (!finalizers.includes(foreground)) return;
    const isNew = !this.#waiting.has(uid);
    this.#waiting.set(uid, owner);
    if (
      !owned.some(([, { owners }]) => owners.some((entry) => entry.uid === uid && entry.blockOwnerDeletion === true))
    ) {
      this.#waiting.delete(uid);
      await this.#dropFinalizer(owner, foreground);
      return;
    }
    if (isNew) for (const [key, dependent] of owned) await this.#collect(key, dependent);
  }

  async #release(dependent: Dependent, ended: ReadonlySet<string>): Promise<void> {
    await changeIfPresent(systemCall(this.#kit, dependent.kind, dependent), dependent.uid, ({ metadata }) => {
      const left = (metadata.ownerReferences ?? []).filter(({ uid }) => !ended.has(uid));
      setOrDrop(metadata, 'ownerReferences', left);
    });
  }

  async #dropFinalizer({ kind, namespace, name, object }: Seen, finalizer: string): Promise<void> {
    const call = systemCall(this.#kit, kind, { namespace, name });
    await changeIfPresent(call, object.metadata.uid ?? '', ({ metadata }) => {
      const left = (metadata.finalizers ?? []).filter((entry) => entry !== finalizer);
      setOrDrop(metadata, 'finalizers', left);
    });
  }
}
