// Bytes of stored keys as a quota: of one owner and of all, of keys that come, change and go.
import { describe, expect, it } from 'vitest';
import { mostKeyBytes, StoredBytes } from '../../../src/management/keys/book/stored-bytes.ts';

const kib = 1024;

describe('StoredBytes', () => {
  it('lets the keys of an owner have 4 KiB each on the average, however many there are', () => {
    const bytes = new StoredBytes();
    bytes.set('a', 'user/alice', 30 * kib);
    const refusal = (owner: string, size: number) => bytes.refusal('b', owner, size, { perOwner: 10 });
    expect(refusal('user/alice', 10 * kib)).toBeUndefined();
    expect(refusal('user/alice', 10 * kib + 1)).toMatch(/have 30720 bytes, and may have 40960/);
    expect(refusal('user/bob', 40 * kib)).toBeUndefined();
  });

  it('lets a key shrink when there is no room, and not grow', () => {
    const bytes = new StoredBytes();
    bytes.set('a', 'user/alice', 30 * kib);
    expect(bytes.refusal('a', 'user/alice', 29 * kib, { perOwner: 1 })).toBeUndefined();
    expect(bytes.refusal('a', 'user/alice', 31 * kib, { perOwner: 1 })).toBeDefined();
  });

  it('counts all keys together with what memory holds beside their texts, and no key twice or after its end', () => {
    const bytes = new StoredBytes(40 * 4 * kib * kib);
    for (let at = 0; at < 39; at++) bytes.set(`k${at}`, `user/u${at}`, 4 * kib * kib);
    const left = 40 * 4 * kib * kib - bytes.all;
    expect(left).toBe(4 * kib * kib - 39 * 1280);
    expect(bytes.refusal('b', 'user/bob', left - 1280, { perOwner: 10_000 })).toBeUndefined();
    expect(bytes.refusal('b', 'user/bob', left - 1279, { perOwner: 10_000 })).toMatch(
      /all keys take 163627776 bytes of memory/,
    );
    expect(bytes.refusal('k0', 'user/u0', 4 * kib * kib + left, { perOwner: 10_000 })).toBeUndefined();
    bytes.set('k0', 'user/u0', 1);
    bytes.forget('k1');
    bytes.forget('k1');
    expect([bytes.all, bytes.ofOwner('user/u0'), bytes.ofOwner('user/u1')]).toEqual([
      37 * 4 * kib * kib + 1 + 38 * 1280,
      1,
      0,
    ]);
  });

  it('leaves three quarters of a memory limit to the rest, and bounds the keys without one', () => {
    const mib = kib * kib;
    expect([384 * mib, 256 * mib, 64 * 1024 * mib, 2 ** 63, 0].map((limit) => mostKeyBytes(limit) / mib)).toEqual([
      96, 64, 320, 320, 320,
    ]);
  });
});
