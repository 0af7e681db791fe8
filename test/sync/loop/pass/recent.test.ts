import { describe, expect, it } from 'vitest';
import { Recent } from '../../../../src/sync/loop/pass/recent.ts';
import type { PlannedRequest } from '../../../../src/sync/plan/step.ts';

const place = { namespace: 'h', name: 'web' };
const metadata = { uid: 'u', resourceVersion: '1' };

function patch(fields: object): PlannedRequest {
  const mergePatch = { metadata, ...fields };
  return { side: 'host', verb: 'patch', place, mergePatch, reason: 'changed', touches: [], conflicts: 0 };
}

describe('Recent', () => {
  it('keeps the last write of an object, of each kind apart, with a body that a person can read', () => {
    const recent = new Recent();
    recent.noteWrite({ kind: 'A', key: 'shop/web' }, patch({ one: 1 }), { was: undefined, atMs: 1 });
    recent.noteWrite({ kind: 'A', key: 'shop/web' }, patch({ two: 2 }), {
      was: { metadata: { labels: {} }, two: 1, three: 3 },
      atMs: 2,
    });
    recent.noteWrite(
      { kind: 'B', key: 'shop/web' },
      { side: 'host', verb: 'remove', place, preconditions: metadata, reason: 'gone' },
      { was: { two: 2 }, atMs: 3 },
    );
    expect(recent.lastWrite({ kind: 'A', key: 'shop/web' })).toEqual({
      request: 'host patch',
      atMs: 2,
      body: JSON.stringify({ metadata, two: 2 }),
      before: JSON.stringify({ metadata: {}, two: 1 }),
    });
    expect(recent.lastWrite({ kind: 'B', key: 'shop/web' })).toEqual({
      request: 'host remove',
      atMs: 3,
      before: JSON.stringify({ two: 2 }),
    });
    expect(recent.lastWrite({ kind: 'A', key: 'shop/other' })).toBe(undefined);
  });

  it.each([
    [
      'many addresses',
      { subsets: [{ addresses: Array.from({ length: 1_000 }, (_, at) => ({ ip: `10.0.0.${at}` })) }] },
    ],
    ['a long value', { data: 'x'.repeat(5_000) }],
  ])('keeps neither body nor what was there before with %s, only that there was a write', (_, long) => {
    const recent = new Recent();
    const key = { kind: 'A', key: 'shop/web' };
    for (const [fields, was] of [
      [long, undefined],
      [{ subsets: [], data: '' }, long],
    ]) {
      recent.noteWrite(key, patch(fields as object), { was, atMs: 1 });
      expect(recent.lastWrite(key)).toEqual({ request: 'host patch', atMs: 1, isLong: true });
    }
  });

  it('forgets the oldest of many', () => {
    const recent = new Recent();
    for (let at = 0; at < 300; at++)
      recent.noteWrite({ kind: 'A', key: `shop/${at}` }, patch({ at }), { was: undefined, atMs: at });
    expect(recent.lastWrite({ kind: 'A', key: 'shop/0' })).toBe(undefined);
    expect(recent.lastWrite({ kind: 'A', key: 'shop/299' })?.atMs).toBe(299);
  });
});
