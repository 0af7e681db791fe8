// What every store promises to a watch: each change once and in order, and an end that is told where it cannot be kept.
import { expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { settle } from '../../virtual-clock.ts';
import type { StoreContractOptions } from './store-stage.ts';
import {
  collect,
  endOf,
  eventsFrom,
  type Make,
  openWatch,
  pageOf,
  put,
  putMany,
  remove,
  until,
} from './store-stage.ts';

export function watchContract(make: Make, { numbering, many = 1500 }: StoreContractOptions): void {
  const knowsNextNumbers = typeof numbering !== 'function';

  it('delivers history and then new revisions, each once and in order', async () => {
    const { store } = await make();
    for (let n = 0; n < 10; n++) await put(store, `/r/${n % 3}`, `v${n}`);
    const watch = await openWatch(store, '/', 4);
    const seen = collect(watch);
    await Promise.all(Array.from({ length: 40 }, (_, n) => put(store, `/r/${n}`, `w${n}`)));
    await until(() => seen.length === 46);
    expect(seen.map(({ revision }) => revision)).toEqual(Array.from({ length: 46 }, (_, n) => n + 5));
  });

  it('never tells of more than its reader has had, also while it reads the past', async () => {
    const { store } = await make();
    for (let n = 0; n < 10; n++) await put(store, `/r/${n}`, `v${n}`);
    const watch = await openWatch(store, '/r/', 4);
    expect(watch.upTo).toBe(4);
    const seen = collect(watch);
    while (seen.length < 6) {
      await new Promise((resolve) => setImmediate(resolve));
      expect(watch.upTo).toBe(seen.at(-1)?.revision ?? 4);
    }
    expect(watch.upTo).toBe(10);
    // What does not concern the watch moves it on all the same.
    await put(store, '/other', 'unseen');
    await until(() => watch.upTo === 11);
    expect(seen.length).toBe(6);
  });

  it('distinguishes puts from deletes, with the previous value', async () => {
    const { store } = await make();
    const watch = await openWatch(store, '/r/', 0);
    const seen = collect(watch);
    await put(store, '/r/a', 'one');
    await put(store, '/other', 'unseen');
    await put(store, '/r/a', 'two');
    await remove(store, '/r/a');
    await put(store, '/r/a', 'again');
    await until(() => seen.length === 4);
    expect(seen).toEqual([
      { type: 'put', key: '/r/a', revision: 1, value: 'one', previous: undefined, createRevision: 1 },
      { type: 'put', key: '/r/a', revision: 3, value: 'two', previous: 'one', createRevision: 1 },
      { type: 'delete', key: '/r/a', revision: 4, value: 'two', previous: 'two', createRevision: 1 },
      { type: 'put', key: '/r/a', revision: 5, value: 'again', previous: undefined, createRevision: 5 },
    ]);
    expect(await eventsFrom(store, '/r/', 0)).toEqual(seen);
  });

  it('keeps the previous value when its revision is compacted', async () => {
    const { store } = await make();
    await put(store, '/a', 'one');
    await put(store, '/a', 'two');
    await store.compact(1);
    expect(await eventsFrom(store, '/', 1)).toMatchObject([{ revision: 2, previous: 'one', createRevision: 1 }]);
  });

  it.runIf(knowsNextNumbers)('starts at a future revision when asked to', async () => {
    const { store } = await make();
    const seen = collect(await openWatch(store, '/', 2));
    for (let n = 1; n <= 4; n++) await put(store, '/a', `v${n}`);
    await until(() => seen.length === 2);
    expect(seen.map(({ revision }) => revision)).toEqual([3, 4]);
  });

  it('cuts off a reader that falls behind the history, and no other reader', async () => {
    const { store } = await make({ history: { maxRevisions: 10 } });
    const slow = await openWatch(store, '/', 0);
    const elsewhere = await openWatch(store, '/b', 0);
    const quick = await openWatch(store, '/', 0);
    const seen = collect(quick);
    for (let n = 0; n < 11; n++) {
      await put(store, '/a', `v${n}`);
      await until(() => seen.length === n + 1);
    }
    expect(slow.ended).toBe('overflow');
    expect([quick.ended, elsewhere.ended]).toEqual(['open', 'open']);
    for await (const _ of slow.events()) throw new Error('a watch that was cut off must give nothing more');
  });

  it('gives a slow reader every change that the history still has', async () => {
    const { store } = await make();
    await putMany(store, many);
    const watch = await openWatch(store, '/', 0);
    await putMany(store, many);
    const seen = collect(watch);
    await until(() => seen.length === 2 * many);
    expect(seen.map(({ revision }) => revision)).toEqual(Array.from({ length: 2 * many }, (_, n) => n + 1));
  });

  it('ends its events after close(), after a reader leaves its loop, and after stop()', async () => {
    const { store } = await make();
    const closed = await openWatch(store, '/', 0);
    const closedEnd = endOf(closed);
    closed.close();
    await closedEnd;
    expect(closed.ended).toBe('closed');

    const broken = await openWatch(store, '/', 0);
    await put(store, '/a', 'x');
    for await (const _ of broken.events()) break;
    expect(broken.ended).toBe('closed');

    const left = await openWatch(store, '/', 1);
    const leftEnd = endOf(left);
    await store.stop();
    await leftEnd;
    expect(left.ended).toBe('closed');
  });

  it('delivers a change to readers before the writer gets its answer', async () => {
    const { store } = await make();
    const watch = await openWatch(store, '/', 0);
    const seen = collect(watch);
    const result = await put(store, '/a', 'one');
    await settle(1);
    expect(seen.map(({ revision }) => revision)).toEqual([result.revision]);
  });
}

export function lossContract(make: Make, lose: (store: Store, key: string, value: string) => Promise<void>): void {
  it('end every watch as lost, whose reader finds what it missed by listing again', async () => {
    const { made } = await make();
    const before = await put(made, '/a', 'one');
    const watch = await openWatch(made, '/', before.revision);
    const seen = collect(watch);
    const end = endOf(await openWatch(made, '/b', before.revision));
    await lose(made, '/a', 'missed');
    await end;
    expect([watch.ended, seen]).toEqual(['lost', []]);
    const page = pageOf(await made.list('/'));
    expect(page.records.map(({ value }) => value)).toEqual(['missed']);
    expect(page.revision).toBeGreaterThan(before.revision);
    expect(await made.watch('/', before.revision)).toEqual({ kind: 'compacted', compactedRevision: page.revision });
    expect(await made.list('/', { atRevision: before.revision })).toMatchObject({ kind: 'compacted' });
    const again = collect(await openWatch(made, '/', page.revision));
    await put(made, '/a', 'two');
    await until(() => again.length === 1);
    expect(again).toMatchObject([{ value: 'two', previous: 'missed' }]);
  });
}
