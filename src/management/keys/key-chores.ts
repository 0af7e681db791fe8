// What happens to keys by time alone: their expiry is written down once, and they are deleted at the end of their grace period, and a
// week after they expired or, if their maker is gone, were used. In: the kit's garbage collector, a clock. Out: writes and deletes;
// finalizers delay these like every delete.
import type { Kind } from '../../apiserver/kinds/kind.ts';
import type { Kit } from '../../apiserver/kinds/kit.ts';
import type { Chore, ObjectPlace } from '../../apiserver/owners/garbage-collector.ts';
import { deleteIfPresent, systemCall } from '../../apiserver/verbs/system-call.ts';
import { fromStoredText, toStoredText } from '../../apiserver/wire/stored-text.ts';
import { pause, type Timer } from '../../clock.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { type KeyBook, keyPrefix } from './book/key-book.ts';
import { properties } from './book/key-table.ts';
import { hiddenPart } from './book/stored-key.ts';
import { type KeyWorld, makersOf } from './life/credential.ts';
import { expiryOf, isDueForRemoval, keptAfterExpiryMs, kubeconfigKeptAfterExpiryMs } from './life/expiry.ts';
import { inTurns } from './life/in-turns.ts';
import type { KeyFacts } from './life/key-facts.ts';

/** The grace period ends by the wall clock, which a timer does not follow when somebody sets the clock. */
const longestTimerMs = 24 * 60 * 60 * 1000;
/** Removal is a week after the expiry: a minute more or less is nothing. */
const expiredEveryMs = 60_000;

export class GraceChore implements Chore {
  readonly #kit: Kit;
  readonly #kind: Kind;
  readonly #timers = new Map<string, Timer>();

  constructor(kit: Kit, kind: Kind) {
    this.#kit = kit;
    this.#kind = kind;
  }

  async marked({ kind, name }: ObjectPlace, object: KubeObject): Promise<void> {
    const { deletionTimestamp, deletionGracePeriodSeconds = 0, uid } = object.metadata;
    if (kind !== this.#kind || deletionTimestamp === undefined || deletionGracePeriodSeconds === 0) return;
    this.#set(name, uid, Date.parse(deletionTimestamp));
  }

  async gone({ name }: ObjectPlace): Promise<void> {
    this.#timers.get(name)?.cancel();
    this.#timers.delete(name);
  }

  stop(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  #set(name: string, uid: string | undefined, endMs: number): void {
    const { clock, log } = this.#kit;
    const leftMs = endMs - clock.wallTime().getTime();
    this.#timers.get(name)?.cancel();
    const timer = clock.after(Math.max(0, Math.min(leftMs, longestTimerMs)), () => {
      this.#timers.delete(name);
      if (leftMs > longestTimerMs) return this.#set(name, uid, endMs);
      deleteIfPresent(systemCall(this.#kit, this.#kind, { namespace: '', name }), uid).catch((error: unknown) =>
        log.error({ component: 'management', key: name, error: String(error) }, 'key not removed'),
      );
    });
    this.#timers.set(name, timer);
  }
}

/** A new key may end sooner than all others; many new keys are looked at together. */
const lookAgainMs = 1_000;

/** Writes down once that a key has expired: time makes no event, and `kubectl wait` waits for one. Uses move no resourceVersion. */
class ExpiryNotes {
  readonly #kit: Kit;
  readonly #kind: Kind;
  readonly #book: KeyBook;
  readonly #lastActivityMs: KeyWorld['lastActivityMs'];
  #timer: Timer | undefined;
  #dueMs = 0;
  #looking: Promise<void> = Promise.resolve();
  readonly #mayAct: () => boolean;
  #isStopped = false;

  constructor(kit: Kit, kind: Kind, book: KeyBook, world: KeyWorld, mayAct: () => boolean) {
    this.#kit = kit;
    this.#kind = kind;
    this.#book = book;
    this.#lastActivityMs = world.lastActivityMs.bind(world);
    this.#mayAct = mayAct;
  }

  start(): void {
    this.#book.onChange(() => this.#lookWithin(lookAgainMs));
    this.#lookWithin(0);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#looking;
  }

  #lookWithin(delayMs: number): void {
    const dueMs = this.#kit.clock.now() + delayMs;
    if (this.#isStopped || (this.#timer !== undefined && this.#dueMs <= dueMs)) return;
    this.#timer?.cancel();
    this.#dueMs = dueMs;
    this.#timer = this.#kit.clock.after(delayMs, () => {
      this.#timer = undefined;
      this.#looking = this.#looking.then(() => this.#look());
    });
  }

  async #look(): Promise<void> {
    const { clock, log } = this.#kit;
    const nowMs = clock.wallTime().getTime();
    // The clock on the wall may be set, and a machine may sleep.
    let nextMs = expiredEveryMs;
    try {
      for await (const facts of inTurns(this.#book.facts(properties.ends))) {
        if (facts.isDeleted || facts.record.isExpiryTold) continue;
        const expiryMs = expiryOf(facts.times, this.#lastActivityMs(facts));
        if (expiryMs === undefined || this.#isStopped) continue;
        if (expiryMs > nowMs) nextMs = Math.min(nextMs, expiryMs - nowMs);
        else if (this.#mayAct()) await this.#note(facts);
      }
    } catch (error) {
      log.error({ component: 'management', error: String(error) }, 'expiry of keys not written down');
    }
    this.#lookWithin(nextMs);
  }

  /** A write that meets another one is left: the other one calls for a new look. */
  async #note({ name, record }: KeyFacts): Promise<void> {
    const { store } = this.#kit;
    const { record: stored } = await store.get(keyPrefix + name);
    if (stored === undefined) return;
    const object = fromStoredText(stored.value, this.#kind, stored.revision);
    const part = hiddenPart(object);
    if (part?.record.uid !== record.uid) return;
    const value = toStoredText({ ...object, hidden: { ...part, record: { ...part.record, isExpiryTold: true } } });
    await store.write(keyPrefix + name, { expect: stored.revision, value });
  }
}

/** Who sweeps, where several programs share a store, and how fast. */
export interface Sweeping {
  mayAct: () => boolean;
  /** Absent = as fast as the store. */
  deletesPerSecond?: number;
}

const alone: Sweeping = { mayAct: () => true };

export class ExpiredKeys {
  readonly #kit: Kit;
  readonly #kind: Kind;
  readonly #book: KeyBook;
  readonly #lastActivityMs: KeyWorld['lastActivityMs'];
  readonly #instanceUid: KeyWorld['instanceUid'];
  readonly #notes: ExpiryNotes;
  readonly #sweeping: Sweeping;
  #timer: Timer | undefined;

  constructor(kit: Kit, kind: Kind, book: KeyBook, world: KeyWorld, sweeping: Sweeping = alone) {
    this.#kit = kit;
    this.#kind = kind;
    this.#book = book;
    this.#lastActivityMs = world.lastActivityMs.bind(world);
    this.#instanceUid = world.instanceUid.bind(world);
    this.#sweeping = sweeping;
    this.#notes = new ExpiryNotes(kit, kind, book, world, sweeping.mayAct);
  }

  start(): void {
    this.#notes.start();
    this.#wait();
  }

  #wait(): void {
    this.#timer = this.#kit.clock.after(expiredEveryMs, () => {
      void this.#removeAndGoOn();
    });
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#notes.stop();
  }

  async #removeAndGoOn(): Promise<void> {
    try {
      await this.remove();
    } catch (error) {
      this.#kit.log.error({ component: 'management', error: String(error) }, 'expired keys not removed');
    }
    if (this.#timer !== undefined) this.#wait();
  }

  /** Also after a new configuration, which may have taken the virtual cluster of a kubeconfig away. */
  async remove(): Promise<void> {
    const { clock } = this.#kit;
    const { mayAct, deletesPerSecond } = this.#sweeping;
    const nowMs = clock.wallTime().getTime();
    const { ends, isMade, isOfKubeconfig } = properties;
    let deleted = 0;
    for await (const facts of inTurns(this.#book.facts(ends | isMade | isOfKubeconfig))) {
      if (!mayAct()) return;
      if (facts.isDeleted || !this.#isOver(facts, nowMs)) continue;
      if (deletesPerSecond !== undefined && deleted > 0 && deleted % deletesPerSecond === 0) await pause(clock, 1_000);
      deleted++;
      await deleteIfPresent(systemCall(this.#kit, this.#kind, { namespace: '', name: facts.name }), facts.record.uid);
    }
  }

  #isOver(facts: KeyFacts, nowMs: number): boolean {
    const { kubeconfig } = facts.record;
    const lastMs = this.#lastActivityMs(facts);
    // The maker never comes back, and without this rule its keys would fill the quota of their owner for ever.
    if (makersOf(facts, this.#book) === undefined && nowMs >= (lastMs ?? facts.times.creationMs) + keptAfterExpiryMs)
      return true;
    if (kubeconfig === undefined) return isDueForRemoval(facts.times, lastMs, nowMs);
    const { project, virtualCluster, instance } = kubeconfig;
    if (this.#instanceUid(project, virtualCluster) !== instance) return true;
    return isDueForRemoval(facts.times, lastMs, nowMs, kubeconfigKeptAfterExpiryMs);
  }
}
