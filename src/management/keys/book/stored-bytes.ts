// Counts the bytes of stored keys, by owner and altogether. The number of keys alone is no quota: a key may have 32 KiB.
import { memoryShare } from '../../../apiserver/limits/caller-limits.ts';
import type { KeyLimits } from '../../../config/settings/management-settings.ts';

const mib = 1024 * 1024;

/** On the average of an owner's keys; an ordinary key has about one and a half KiB. */
const bytesOfKey = 4 * 1024;
/** What memory holds of each key beside its text: facts for authentication, places in indexes. Measured: 1.2 KiB. */
const bytesBeside = 1280;
/** More than a hundred thousand ordinary keys. */
const mostOfAll = 320 * mib;
/** Of the memory that the process may use; requests, connections and garbage need the rest. */
const shareOfMemory = 1 / 4;

/** All keys are in memory, and a server that has more than fit is killed at each start. */
export function mostKeyBytes(memoryLimit?: number): number {
  return memoryShare(shareOfMemory, mostOfAll, memoryLimit);
}

export class StoredBytes {
  readonly #keys = new Map<string, { owner: string; bytes: number }>();
  readonly #owners = new Map<string, number>();
  readonly #mostOfAll: number;
  #texts = 0;

  constructor(most = mostKeyBytes()) {
    this.#mostOfAll = most;
  }

  set(uid: string, owner: string, bytes: number): void {
    this.forget(uid);
    this.#keys.set(uid, { owner, bytes });
    this.#owners.set(owner, this.ofOwner(owner) + bytes);
    this.#texts += bytes;
  }

  forget(uid: string): void {
    const key = this.#keys.get(uid);
    if (key === undefined) return;
    this.#keys.delete(uid);
    this.#texts -= key.bytes;
    const left = this.ofOwner(key.owner) - key.bytes;
    if (left === 0) this.#owners.delete(key.owner);
    else this.#owners.set(key.owner, left);
  }

  ofOwner(owner: string): number {
    return this.#owners.get(owner) ?? 0;
  }

  /** In memory. */
  get all(): number {
    return this.#texts + this.#keys.size * bytesBeside;
  }

  /** Why the key cannot have so many bytes; it may always have fewer than now. */
  refusal(uid: string, owner: string, bytes: number, { perOwner }: Pick<KeyLimits, 'perOwner'>): string | undefined {
    const before = this.#keys.get(uid);
    const more = bytes - (before?.bytes ?? 0);
    if (more <= 0) return undefined;
    const most = perOwner * bytesOfKey;
    if (this.ofOwner(owner) + more > most)
      return `the keys of the owner have ${this.ofOwner(owner)} bytes, and may have ${most} with this one; delete keys that are not used, or shorten them`;
    if (this.all + more + (before === undefined ? bytesBeside : 0) > this.#mostOfAll)
      return `all keys take ${this.all} bytes of memory, and may take ${this.#mostOfAll} with this one, a quarter of the memory limit of the server; delete keys that are not used, or raise the limit`;
    return undefined;
  }
}
