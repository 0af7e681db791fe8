// Collects garbage by owner references, with the rules of a real cluster: an object is deleted after its last owner, and loses
// the reference to a deleted owner while another owner lives. The owner's finalizers hold the policy of a delete: `orphan`
// keeps the dependents, `foregroundDeletion` waits for the dependents that block the owner.
import type { Timer } from '../../clock.ts';
import type { KubeObject, OwnerReference } from '../../object/meta/object.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Kit } from '../kinds/kit.ts';
import { changeIfPresent, deleteIfPresent, setOrDrop, systemCall } from '../verbs/system-call.ts';
import { storageKey } from '../wire/stored-text.ts';
import { type Dependent, Dependents, type Seen } from './dependents.ts';

const orphan = 'orphan';
const foreground = 'foregroundDeletion';

/** A missing owner may be restored or created a moment later, so its dependents live until a second look. */
const secondLookMs = 10_000;
/** Deleted owners to remember, so that they need no second look; larger than any burst of deletes in progress. */
const maxRemembered = 10_000;

type OwnerState =
  | 'alive'
  /** In foreground deletion: the owner waits for its dependents. */
  | 'waiting'
  | 'missing'
  | 'gone';

export class Owners {
  #kit: Kit;
  #dependents = new Dependents();
  /** Owners in foreground deletion, by uid. */
  #waiting = new Map<string, Seen>();
  /** uids of owners that a delete event or a second look has proven gone. */
  #gone = new Set<string>();
  #secondLooks = new Map<string, Timer>();
  #isStopped = false;

  readonly #pace: (() => Promise<void>) | undefined;

  constructor(kit: Kit, pace?: () => Promise<void>) {
    this.#kit = kit;
    this.#pace = pace;
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
    this.#dependents.put(key, seen, (owner) => this.#ownerKind(owner, seen.namespace) !== undefined);
    const dependent = this.#dependents.get(key);
    if (dependent !== undefined) await this.#collect(key, dependent);
    if (before !== undefined) await this.#recheckWaitingOwners(before);
    if (seen.object.metadata.deletionTimestamp !== undefined) await this.#applyDeletePolicy(seen);
  }

  async gone(key: string, value: string): Promise<void> {
    const dependent = this.#dependents.get(key);
    this.#dependents.remove(key);
    this.#secondLooks.get(key)?.cancel();
    this.#secondLooks.delete(key);
    if (dependent !== undefined) await this.#recheckWaitingOwners(dependent);
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

  async #recheckWaitingOwners({ owners }: Dependent): Promise<void> {
    for (const { uid } of owners) {
      const owner = this.#waiting.get(uid);
      if (owner !== undefined) await this.#applyDeletePolicy(owner);
    }
  }

  async #collect(key: string, dependent: Dependent): Promise<void> {
    const states = new Map<OwnerReference, OwnerState>();
    for (const owner of dependent.owners) states.set(owner, await this.#stateOf(owner, dependent));
    const all = [...states.values(), ...(dependent.isHeld ? ['alive' as const] : [])];
    if (all.includes('missing')) this.#scheduleSecondLook(key, dependent);
    const lives = all.includes('alive') || all.includes('missing');
    if (!lives) {
      await this.#remove(dependent, all.includes('waiting'));
      return;
    }
    // A living owner keeps the dependent; the references to gone and waiting owners are removed.
    const ended = new Set([...states].filter(([, state]) => state === 'gone').map(([{ uid }]) => uid));
    if (all.includes('alive')) {
      for (const [{ uid }, state] of states) if (state === 'waiting') ended.add(uid);
    }
    if (ended.size > 0) await this.#release(dependent, ended);
  }

  /** Undefined for an owner that cannot be checked: of a kind that is not served, or in a namespace that the object cannot name. */
  #ownerKind({ apiVersion, kind: kindName }: OwnerReference, namespace: string): Kind | undefined {
    const slash = apiVersion.indexOf('/');
    const group = slash < 0 ? '' : apiVersion.slice(0, slash);
    const kind = this.#kit.catalog.findByKind(group, kindName);
    if (kind === undefined || kind.answer !== undefined) return undefined;
    return kind.namespaced && namespace === '' ? undefined : kind;
  }

  async #stateOf(owner: OwnerReference, dependent: Dependent): Promise<OwnerState> {
    const { name, uid } = owner;
    if (this.#gone.has(uid)) return 'gone';
    const kind = this.#ownerKind(owner, dependent.namespace);
    if (kind === undefined) return 'alive';
    const { record } = await this.#kit.store.get(storageKey(kind, dependent.namespace, name));
    if (record === undefined) return 'missing';
    const { metadata } = JSON.parse(record.value) as KubeObject;
    if (metadata.uid !== uid) return 'missing';
    const isWaiting = metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(foreground) === true;
    return isWaiting ? 'waiting' : 'alive';
  }

  #scheduleSecondLook(key: string, { uid, owners }: Dependent): void {
    if (this.#secondLooks.has(key) || this.#isStopped) return;
    const timer = this.#kit.clock.after(secondLookMs, () => {
      this.#secondLooks.delete(key);
      this.#secondLook(key, uid, owners).catch((error: unknown) => {
        this.#kit.log.error({ key, error: String(error) }, 'second look for an owner failed');
      });
    });
    this.#secondLooks.set(key, timer);
  }

  /** An owner that is missing at both looks is gone. */
  async #secondLook(key: string, uid: string, owners: readonly OwnerReference[]): Promise<void> {
    const dependent = this.#dependents.get(key);
    if (dependent === undefined || dependent.uid !== uid || this.#isStopped) return;
    for (const owner of owners) {
      if ((await this.#stateOf(owner, dependent)) === 'missing') await this.#ownerIsGone(owner.uid);
    }
  }

  async #remove(dependent: Dependent, isForeground: boolean): Promise<void> {
    if (dependent.isDeleting) return;
    await this.#pace?.();
    const ownDependents = this.#dependents.ownedBy(dependent.uid);
    const isCircle = ownDependents.some(([, { uid }]) => this.#waiting.has(uid));
    // In a circle of blocking owners every delete would wait for the next one for ever.
    if (isForeground && isCircle) await this.#unblock(dependent);
    const propagation = isForeground && ownDependents.length > 0 ? 'Foreground' : undefined;
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

  async #applyDeletePolicy(owner: Seen): Promise<void> {
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
