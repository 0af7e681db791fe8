import { expect, it } from 'vitest';
import { RecentEvents } from '../../src/store/recent-events.ts';
import type { StoreEvent } from '../../src/store/store.ts';

const put = (revision: number, chars: number): StoreEvent => ({
  ...{ type: 'put', key: '/a', revision, value: 'x'.repeat(chars), previous: undefined, createRevision: revision },
});

it('holds as many characters as the limit says, however many have passed', () => {
  const recent = new RecentEvents();
  const half = 1024 * 1024;
  for (let revision = 1; revision <= 20; revision++) recent.add([put(revision, half)]);
  // Room is made before a commit is taken, so three of them are here.
  expect(recent.since).toBe(17);
  expect(recent.get(18)?.revision).toBe(18);
});

it('holds a thousand small events, and those of the last commit', () => {
  const recent = new RecentEvents();
  for (let revision = 1; revision <= 5_000; revision++) recent.add([put(revision, 1)]);
  expect(recent.since).toBe(3_999);
});
