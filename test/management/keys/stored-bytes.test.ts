// Bytes of stored keys as a quota: of one owner and of all, of keys that come, change and go.
import { describe, expect, it } from 'vitest';
import { mostKeyMemory, StoredBytes, type StoredBytesOptions } from '../../../src/management/keys/book/stored-bytes.ts';

const kib = 1024;
const mib = kib * kib;
const counting = (options: Partial<StoredBytesOptions> = {}) => new StoredBytes({ ofMemory: () => 0, ...options });

describe('StoredBytes', () => {
  it('lets the keys of an owner have 4 KiB each on the average, however many there are', () => {
    const bytes = counting();
    bytes.add('user/alice', 30 * kib);
    const refusal = (owner: string, size: number) => bytes.refusal(0, owner, size, { perOwner: 10 });
    expect(refusal('user/alice', 10 * kib)).toBeUndefined();
    expect(refusal('user/alice', 10 * kib + 1)).toMatch(/have 30720 bytes, and may have 40960/);
    expect(refusal('user/bob', 40 * kib)).toBeUndefined();
  });

  it('lets a key shrink when there is no room, and not grow', () => {
    const bytes = counting({ ofMemory: () => 2 * mib, mostMemory: mib });
    bytes.add('user/alice', 30 * kib);
    expect(bytes.refusal(30 * kib, 'user/alice', 29 * kib, { perOwner: 1 })).toBeUndefined();
    expect(bytes.refusal(30 * kib, 'user/alice', 31 * kib, { perOwner: 1 })).toBeDefined();
    expect(bytes.refusal(30 * kib, 'user/alice', 31 * kib, { perOwner: 100 })).toMatch(/bytes of memory/);
  });

  it('bounds all texts on the disk, and counts no key after its end', () => {
    const bytes = counting({ mostTexts: 40 * mib });
    for (let at = 0; at < 39; at++) bytes.add(`user/u${at}`, mib);
    const refusal = (size: number) => bytes.refusal(0, 'user/bob', size, { perOwner: 10_000 });
    expect(refusal(mib)).toBeUndefined();
    expect(refusal(mib + 1)).toMatch(/all keys have 40894464 bytes on the disk, and may have 41943040/);
    bytes.add('user/u0', -mib);
    expect(refusal(mib + 1)).toBeUndefined();
    expect([bytes.all, bytes.ofOwner('user/u0'), bytes.ofOwner('user/u1')]).toEqual([38 * mib, 0, mib]);
  });

  it('bounds what memory holds of all keys, as if a new text was in it whole', () => {
    let ofMemory = mib;
    const bytes = counting({ ofMemory: () => ofMemory, mostMemory: 2 * mib });
    const refusal = () => bytes.refusal(0, 'user/bob', 10 * kib, { perOwner: 1000 });
    expect(refusal()).toBeUndefined();
    ofMemory = 2 * mib - 10 * kib + 1;
    expect(refusal()).toMatch(/all keys take 2086913 bytes of memory, and may take 2097152 with this one/);
  });

  it('leaves three quarters of a memory limit to the rest, and bounds the keys without one', () => {
    expect([384 * mib, 256 * mib, 64 * 1024 * mib, 2 ** 63, 0].map((limit) => mostKeyMemory(limit) / mib)).toEqual([
      96, 64, 320, 320, 320,
    ]);
  });
});
