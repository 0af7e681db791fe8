// Counts the bytes of stored keys, by owner and altogether. The number of keys alone is no quota: a key may have 32 KiB.
import type { KeyLimits } from '../../../config/settings/management-settings.ts';

/** On the average of an owner's keys; an ordinary key has about one and a half KiB. */
const bytesOfKey = 4 * 1024;
/** A hundred thousand ordinary keys. All of them are in memory, as text and as facts. */
const mostBytes = 160 * 1024 * 1024;

export class StoredBytes {
  readonly #keys = new Map<string, { owner: string; bytes: number }>();
  readonly #owners = new Map<string, number>();
  #all = 0;

  set(uid: string, owner: string, bytes: number): void {
    this.forget(uid);
    this.#keys.set(uid, { owner, bytes });
    this.#owners.set(owner, this.ofOwner(owner) + bytes);
    this.#all += bytes;
  }

  forget(uid: string): void {
    const key = this.#keys.get(uid);
    if (key === undefined) return;
    this.#keys.delete(uid);
    this.#all -= key.bytes;
    const left = this.ofOwner(key.owner) - key.bytes;
    if (left === 0) this.#owners.delete(key.owner);
    else this.#owners.set(key.owner, left);
  }

  ofOwner(owner: string): number {
    return this.#owners.get(owner) ?? 0;
  }

  get all(): number {
    return this.#all;
  }

  /** Why the key cannot have so many bytes; it may always have fewer than now. */
  refusal(uid: string, owner: string, bytes: number, { perOwner }: Pick<KeyLimits, 'perOwner'>): string | undefined {
    const more = bytes - (this.#keys.get(uid)?.bytes ?? 0);
    if (more <= 0) return undefined;
    const most = perOwner * bytesOfKey;
    if (this.ofOwner(owner) + more > most)
      return `the keys of the owner have ${this.ofOwner(owner)} bytes, and may have ${most} with this one; delete keys that are not used, or shorten them`;
    if (this.#all + more > mostBytes)
      return `all keys have ${this.#all} bytes, and may have ${mostBytes} with this one; delete keys that are not used`;
    return undefined;
  }
}
