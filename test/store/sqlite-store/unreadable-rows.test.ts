import { expect, it } from 'vitest';
import type { SqliteThread } from '../../../src/store/sqlite/sqlite-thread.ts';
import { UnreadableRows } from '../../../src/store/sqlite/unreadable-rows.ts';

/** Answers the search part by part, and notes what is to be deleted. */
function threadWith(parts: Record<string, { revisions: number[]; next?: string }>) {
  const deleted: number[][] = [];
  const asked: string[] = [];
  const ask = async (what: string, { revisions, afterKey }: { revisions: number[]; afterKey: string }) => {
    if (what === 'forget') return void deleted.push(revisions);
    asked.push(afterKey);
    return parts[afterKey];
  };
  return { deleted, asked, thread: { ask } as unknown as SqliteThread };
}

it('what a crash has left is looked for part by part, to the last one, and each part is deleted before the next', async () => {
  const parts = {
    '': { revisions: [1, 2], next: '/a' },
    '/a': { revisions: [], next: '/b' },
    '/b': { revisions: [9] },
  };
  const { deleted, asked, thread } = threadWith(parts);
  const rows = new UnreadableRows(thread, () => 20);
  rows.start();
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  await rows.forgotten;
  await new Promise((resolve) => setImmediate(resolve));
  expect([asked, deleted]).toEqual([
    ['', '/a', '/b'],
    [[1, 2], [9]],
  ]);
  await rows.stop();
});

it('many rows are deleted in pieces, and a store that stops looks no further', async () => {
  const many = Array.from({ length: 1_200 }, (_, at) => at);
  const { deleted, asked, thread } = threadWith({ '': { revisions: many, next: '/a' }, '/a': { revisions: [7] } });
  const rows = new UnreadableRows(thread, () => 20);
  rows.start();
  await rows.stop();
  expect([asked, deleted.map(({ length }) => length)]).toEqual([[''], [500, 500, 200]]);
});
