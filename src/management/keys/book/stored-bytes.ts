// Counts the bytes of stored keys, by owner and altogether, and compares what memory holds of them with what it may hold. The number
// of keys alone is no quota: a key may have 32 KiB.
import { memoryShare } from '../../../apiserver/limits/caller-limits.ts';
import type { KeyLimits } from '../../../config/settings/management-settings.ts';

const mib = 1024 * 1024;

/** On the average of an owner's keys; an ordinary key has about one KiB. */
const bytesOfKey = 4 * 1024;
/** Two million ordinary keys. Texts lie on the disk, where they may have a copy in a backup next to them. */
const mostTexts = 2048 * mib;
/** More than a million ordinary keys. */
const mostOfMemory = 320 * mib;
/** Of the memory that the process may use. Requests, connections, garbage, last uses and the index of owners need the rest. */
const shareOfMemory = 1 / 4;

/** What authentication needs of all keys is in memory, and a server that has more than fit is killed at each start. */
export function mostKeyMemory(memoryLimit?: number): number {
  return memoryShare(shareOfMemory, mostOfMemory, memoryLimit);
}

export interface StoredBytesOptions {
  /** What memory holds of all keys now. */
  ofMemory(): number;
  mostTexts?: number;
  mostMemory?: number;
}

export class StoredBytes {
  readonly #owners = new Map<string, number>();
  readonly #ofMemory: () => number;
  readonly #mostTexts: number;
  readonly #mostMemory: number;
  #all = 0;

  constructor(options: StoredBytesOptions) {
    this.#ofMemory = options.ofMemory;
    this.#mostTexts = options.mostTexts ?? mostTexts;
    this.#mostMemory = options.mostMemory ?? mostKeyMemory();
  }

  /** Less than nothing for a key that is gone. */
  add(owner: string, bytes: number): void {
    const left = this.ofOwner(owner) + bytes;
    if (left === 0) this.#owners.delete(owner);
    else this.#owners.set(owner, left);
    this.#all += bytes;
  }

  ofOwner(owner: string): number {
    return this.#owners.get(owner) ?? 0;
  }

  get all(): number {
    return this.#all;
  }

  /** Why a key that had `before` bytes cannot have so many; it may always have fewer than now. */
  refusal(before: number, owner: string, bytes: number, { perOwner }: Pick<KeyLimits, 'perOwner'>): string | undefined {
    const more = bytes - before;
    if (more <= 0) return undefined;
    const most = perOwner * bytesOfKey;
    if (this.ofOwner(owner) + more > most)
      return `the keys of the owner have ${this.ofOwner(owner)} bytes, and may have ${most} with this one; delete keys that are not used, or shorten them`;
    if (this.all + more > this.#mostTexts)
      return `all keys have ${this.all} bytes on the disk, and may have ${this.#mostTexts} with this one; delete keys that are not used`;
    // A scope of its own is in memory with all its characters.
    const memory = this.#ofMemory();
    if (memory + more > this.#mostMemory)
      return `all keys take ${memory} bytes of memory, and may take ${this.#mostMemory} with this one, a quarter of the memory limit of the server; delete keys that are not used, or raise the limit`;
    return undefined;
  }
}
