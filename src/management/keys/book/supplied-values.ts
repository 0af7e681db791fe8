// Reserves the value that a client brings along while a key with it is made, where several replicas make keys: the key's name says
// nothing of its value, so only a record that is named by the value keeps two replicas from accepting it at once. In: a store. Out:
// one holder of a value. The reservation goes when the key is there, because from then on every replica that asks the store knows it.
import { createHmac } from 'node:crypto';
import { StatusFault } from '../../../apiserver/request/status-fault.ts';
import type { Clock, Timer } from '../../../clock.ts';
import { serviceUnavailable } from '../../../object/meta/status.ts';
import type { Followers } from '../../../store/follow/follower.ts';
import type { Store } from '../../../store/store.ts';

export const suppliedPrefix = '/management/supplied/';
/** Longer than any create takes, on any replica. */
const staleMs = 60 * 60 * 1000;
/** A replica that was away for so long and comes back writes nothing before it has heard its own heartbeat again. */
const orphanedMs = 2 * 60 * 1000;
const sweepEveryMs = 30_000;

export interface SuppliedValuesOptions {
  store: Pick<Store, 'currentRevision' | 'list' | 'write'>;
  followers: Pick<Followers, 'have'>;
  /** Of all replicas, and for ever: a pepper may be another on each of them for a while. */
  secret: Uint8Array;
  clock: Clock;
  /** Whether this replica removes what others have left. */
  mayAct(): boolean;
  /** The name of this replica. */
  replica: string;
  /** The other replicas whose heartbeats arrive. */
  others(): readonly { replica: string }[];
}

export class SuppliedValues {
  readonly #parts: SuppliedValuesOptions;
  /** Keys of the store, by the uid of the key that is being made. */
  readonly #held = new Map<string, string>();
  #timer: Timer | undefined;

  constructor(parts: SuppliedValuesOptions) {
    this.#parts = parts;
  }

  start(): void {
    void this.sweep().catch(() => undefined);
    this.#timer = this.#parts.clock.after(sweepEveryMs, () => this.start());
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
  }

  /** False when another key with the value is being made. After true, every key with the value that was made before is known here. */
  async reserve(uid: string, value: string): Promise<boolean> {
    const { store, followers, secret, clock, replica } = this.#parts;
    const key = suppliedPrefix + createHmac('sha256', secret).update(`supplied key\n${value}`).digest('hex');
    const record = JSON.stringify({ uid, atMs: clock.wallTime().getTime(), replica });
    if (!(await store.write(key, { expect: 0, value: record })).ok) return false;
    this.#held.set(uid, key);
    const revision = await store.currentRevision({ fresh: true });
    // Who follows the store has the change one turn later.
    await new Promise((resolve) => setImmediate(resolve));
    if (followers.have(revision)) return true;
    throw new StatusFault(serviceUnavailable('whether the value of the key is in use cannot be asked now', 1));
  }

  /** The key is there, or it will not be made. */
  release(uid: string): void {
    const key = this.#held.get(uid);
    if (key === undefined) return;
    this.#held.delete(uid);
    // What is left is swept.
    void this.#parts.store.write(key, { expect: undefined, value: undefined }).catch(() => undefined);
  }

  /** Removes reservations of replicas that died in the middle of a create. */
  async sweep(): Promise<void> {
    const { store, clock, mayAct } = this.#parts;
    if (!mayAct()) return;
    const page = await store.list(suppliedPrefix);
    if (page.kind !== 'page') return;
    const nowMs = clock.wallTime().getTime();
    for (const { key, value, revision } of page.records)
      if (this.#isOver(value, nowMs) && mayAct()) await store.write(key, { expect: revision, value: undefined });
  }

  #isOver(text: string, nowMs: number): boolean {
    const { atMs, replica } = reservationIn(text);
    const ageMs = nowMs - atMs;
    const isLiving = replica === this.#parts.replica || this.#parts.others().some((other) => other.replica === replica);
    return ageMs > staleMs || (ageMs > orphanedMs && replica !== undefined && !isLiving);
  }
}

/** A record that cannot be read counts as the oldest. */
function reservationIn(text: string): { atMs: number; replica: string | undefined } {
  try {
    const { atMs, replica } = JSON.parse(text) as Record<string, unknown>;
    return { atMs: Number(atMs) || 0, replica: typeof replica === 'string' ? replica : undefined };
  } catch {
    return { atMs: 0, replica: undefined };
  }
}
