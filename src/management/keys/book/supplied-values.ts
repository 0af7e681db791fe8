// Reserves the value that a client brings along while a key with it is made, where several replicas make keys: the key's name says
// nothing of its value, so only a record that is named by the value keeps two replicas from accepting it at once. In: a store. Out:
// one holder of a value. The reservation goes when the key is there, because from then on every replica that asks the store knows it.
import { createHmac } from 'node:crypto';
import { StatusFault } from '../../../apiserver/request/status-fault.ts';
import type { Clock, Timer } from '../../../clock.ts';
import { serviceUnavailable } from '../../../object/meta/status.ts';
import { isRecord } from '../../../object/text/json.ts';
import type { Followers } from '../../../store/follow/follower.ts';
import type { Store } from '../../../store/store.ts';

export const suppliedPrefix = '/management/supplied/';
/** No create takes as long, so the replica that made the reservation has died. */
const staleMs = 60 * 60 * 1000;

export interface SuppliedValuesParts {
  store: Pick<Store, 'currentRevision' | 'list' | 'write'>;
  followers: Pick<Followers, 'have'>;
  /** Of all replicas, and for ever: a pepper may be another on each of them for a while. */
  secret: Uint8Array;
  clock: Clock;
  /** Whether this replica removes what others have left. */
  mayAct(): boolean;
}

export class SuppliedValues {
  readonly #parts: SuppliedValuesParts;
  /** Keys of the store, by the uid of the key that is being made. */
  readonly #held = new Map<string, string>();
  #timer: Timer | undefined;

  constructor(parts: SuppliedValuesParts) {
    this.#parts = parts;
  }

  start(): void {
    void this.sweep().catch(() => undefined);
    this.#timer = this.#parts.clock.after(staleMs, () => this.start());
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
  }

  /** False when another key with the value is being made. After true, every key with the value that was made before is known here. */
  async reserve(uid: string, value: string): Promise<boolean> {
    const { store, followers, secret, clock } = this.#parts;
    const key = suppliedPrefix + createHmac('sha256', secret).update(`supplied key\n${value}`).digest('hex');
    const record = JSON.stringify({ uid, atMs: clock.wallTime().getTime() });
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
    const oldestMs = clock.wallTime().getTime() - staleMs;
    for (const { key, value, revision } of page.records)
      if (madeMs(value) < oldestMs && mayAct()) await store.write(key, { expect: revision, value: undefined });
  }
}

/** A record that cannot be read is as old as can be. */
function madeMs(text: string): number {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && typeof value['atMs'] === 'number' ? value['atMs'] : 0;
  } catch {
    return 0;
  }
}
