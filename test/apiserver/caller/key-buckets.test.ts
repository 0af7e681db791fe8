import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyBuckets } from '../../../src/apiserver/caller/key-buckets.ts';

const buckets = fc.uniqueArray(fc.constantFrom('user alice', 'user bob', 'team red', 'team ünïted'), { maxLength: 3 });
const step = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'ü', '\u{1f600}', ''), buckets });

describe('KeyBuckets', () => {
  it('has the same keys in each bucket as a map, after any changes', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const packed = new KeyBuckets('/registry/');
        const model = new Map<string, readonly string[]>();
        for (const { key, buckets: now } of steps) {
          packed.put(`/registry/${key}`, now);
          model.set(`/registry/${key}`, now);
        }
        for (const [key, now] of model) expect([...packed.bucketsOf(key)].toSorted()).toEqual([...now].toSorted());
        for (const bucket of ['user alice', 'user bob', 'team red', 'team ünïted', 'nobody']) {
          const wanted = [...model].filter(([, now]) => now.includes(bucket)).map(([key]) => key);
          expect(packed.keysIn(bucket).toSorted()).toEqual(wanted.toSorted());
        }
      }),
    );
  });

  it('finds keys among very many, and forgets those that left', () => {
    const packed = new KeyBuckets('/');
    for (let n = 0; n < 20_000; n++) packed.put(`/${n}`, [`user ${n % 100}`]);
    for (let n = 0; n < 20_000; n += 2) packed.put(`/${n}`, []);
    expect(packed.keysIn('user 3')).toHaveLength(200);
    expect(packed.keysIn('user 4')).toEqual([]);
    expect(packed.bucketsOf('/5')).toEqual(['user 5']);
  });
});
