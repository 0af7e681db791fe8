// Bytes of stored keys as a quota: of one owner and of all, of keys that come, change and go.
import { describe, expect, it } from 'vitest';
import { StoredBytes } from '../../../src/management/keys/rules/stored-bytes.ts';

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

  it('counts all keys together, and no key twice or after its end', () => {
    const bytes = new StoredBytes();
    for (let at = 0; at < 40; at++) bytes.set(`k${at}`, `user/u${at}`, 4 * kib * kib);
    expect(bytes.refusal('b', 'user/bob', 1, { perOwner: 10 })).toMatch(/all keys have 167772160 bytes/);
    bytes.set('k0', 'user/u0', 1);
    bytes.forget('k1');
    bytes.forget('k1');
    expect([bytes.all, bytes.ofOwner('user/u0'), bytes.ofOwner('user/u1')]).toEqual([38 * 4 * kib * kib + 1, 1, 0]);
  });
});
