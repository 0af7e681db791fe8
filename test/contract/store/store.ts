// What every store promises. A store is proven by calling storeContract() with a way to make one. The cases count changes: the
// first is 1. A store that skips numbers says how it numbers them (store-numbering.ts), and the same cases hold.
import { afterEach, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';
import { storeModelContract } from './store-model.ts';
import { counted } from './store-numbering.ts';
import { historyContract, listContract, readContract } from './store-reads.ts';
import {
  collect,
  eventsFrom,
  type Make,
  type MakeStore,
  openWatch,
  put,
  remove,
  type StoreContractOptions,
  type StoreSettings,
} from './store-stage.ts';
import { lossContract, watchContract } from './store-watches.ts';

export function storeContract(name: string, makeStore: MakeStore, options: StoreContractOptions = {}): void {
  const open: Store[] = [];
  const make = async (settings: Omit<StoreSettings, 'clock'> = {}) => {
    const clock = new VirtualClock();
    const made = await makeStore({ clock, ...settings });
    await made.start();
    open.push(made);
    const numbering = typeof options.numbering === 'function' ? options.numbering(made) : options.numbering;
    const store = numbering === undefined ? made : counted(made, numbering);
    return { store, clock, made };
  };
  afterEach(async () => {
    for (const store of open.splice(0)) await store.stop();
  });

  describe(`${name}: write()`, () => writeContract(make));
  describe(`${name}: list()`, () => listContract(make));
  describe(`${name}: read()`, () => readContract(make));
  describe(`${name}: history`, () => historyContract(make));
  describe(`${name}: watch()`, () => watchContract(make, options));
  describe(`${name}: revisions`, () => revisionContract(make));
  describe(`${name}: values beside the log`, () => sideContract(make));
  const { elsewhere, lose } = options;
  if (elsewhere !== undefined) describe(`${name}: a view that lags`, () => lagContract(make, elsewhere));
  if (lose !== undefined) describe(`${name}: changes that were missed`, () => lossContract(make, lose));
  describe(`${name}: against a naive model`, () =>
    storeModelContract(() => make().then(({ store }) => store), options.modelRuns ?? 15));
}

function writeContract(make: Make): void {
  it('counts one revision for each write of any key, from 1', async () => {
    const { store } = await make();
    expect(await store.currentRevision()).toBe(0);
    expect(await put(store, '/a', 'one')).toEqual({ ok: true, revision: 1, createRevision: 1 });
    expect(await put(store, '/b', 'two')).toEqual({ ok: true, revision: 2, createRevision: 2 });
    expect(await remove(store, '/a')).toEqual({ ok: true, revision: 3, createRevision: 1 });
    expect(await store.currentRevision()).toBe(3);
  });

  it('keeps the create revision over updates, and sets a new one after a delete', async () => {
    const { store } = await make();
    await put(store, '/a', 'one');
    await put(store, '/other', 'x');
    expect(await put(store, '/a', 'two')).toMatchObject({ revision: 3, createRevision: 1 });
    expect((await store.get('/a')).record).toEqual({ key: '/a', value: 'two', createRevision: 1, revision: 3 });
    await remove(store, '/a');
    expect(await put(store, '/a', 'three')).toMatchObject({ revision: 5, createRevision: 5 });
  });

  const refusals: { claim: string; before: string[]; expect: number; value: string | undefined; current: unknown }[] = [
    { claim: 'expect 0 refuses a key that exists', before: ['one'], expect: 0, value: 'x', current: { value: 'one' } },
    {
      claim: 'expect n refuses another revision',
      before: ['one', 'two'],
      expect: 1,
      value: 'x',
      current: { revision: 2 },
    },
    { claim: 'expect n refuses a key that is not there', before: [], expect: 4, value: 'x', current: undefined },
    {
      claim: 'a delete expects its revision too',
      before: ['one', 'two'],
      expect: 1,
      value: undefined,
      current: { revision: 2 },
    },
    { claim: 'a delete of nothing is refused', before: [], expect: 0, value: undefined, current: undefined },
  ];
  it.each(refusals)('$claim, returns the current value and changes nothing', async ({ before, current, ...change }) => {
    const { store } = await make();
    for (const value of before) await put(store, '/a', value);
    const result = await store.write('/a', change);
    expect(result).toMatchObject({ ok: false, revision: before.length });
    if (!result.ok && current === undefined) expect(result.current).toBeUndefined();
    else expect(result).toMatchObject({ current });
    expect(await store.currentRevision()).toBe(before.length);
  });

  it('overwrites any value without an expectation, and deletes only an existing key', async () => {
    const { store } = await make();
    expect(await store.write('/a', { expect: undefined, value: undefined })).toMatchObject({ ok: false });
    expect(await store.write('/a', { expect: undefined, value: 'one' })).toMatchObject({ ok: true, revision: 1 });
    expect(await store.write('/a', { expect: undefined, value: undefined })).toMatchObject({ ok: true, revision: 2 });
    expect(await store.get('/a')).toEqual({ record: undefined, revision: 2 });
  });

  it('lets exactly one of many concurrent creates win, and returns the winner to the others', async () => {
    const { store } = await make();
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, writer) => store.write('/a', { expect: 0, value: `by ${writer}` })),
    );
    const winners = results.filter((result) => result.ok);
    expect(winners).toHaveLength(1);
    const { record } = await store.get('/a');
    for (const result of results) if (!result.ok) expect(result.current).toEqual(record);
  });

  it('never loses an increment of concurrent compare-and-swap loops', async () => {
    const { store } = await make();
    await put(store, '/counter', '0');
    const increment = async () => {
      for (;;) {
        const { record } = await store.get('/counter');
        const value = String(Number(record?.value) + 1);
        if ((await store.write('/counter', { expect: record?.revision, value })).ok) return;
      }
    };
    await Promise.all(Array.from({ length: 20 }, increment));
    expect((await store.get('/counter')).record?.value).toBe('20');
  });

  it('refuses every verb before start and after stop', async () => {
    const { store } = await make();
    await store.stop();
    for (const verb of [
      () => store.get('/a'),
      () => store.list('/'),
      () => store.read(['/a'], 1),
      () => put(store, '/a', 'x'),
      () => store.watch('/', 0),
    ]) {
      await expect(verb()).rejects.toMatchObject({ code: 'STORE_NOT_OPEN' });
    }
  });
}

function revisionContract(make: Make): void {
  it('are whole numbers, unique, and rise from write to write, over all keys', async () => {
    const { made } = await make();
    const before = await made.currentRevision();
    const revisions: number[] = [];
    for (let n = 0; n < 50; n++) {
      const { ok, revision } = await made.write(`/${n % 3}`, {
        expect: undefined,
        value: n % 7 === 6 ? undefined : 'x',
      });
      if (ok) revisions.push(revision);
      // A log that is not ours may have gone on since.
      expect(await made.currentRevision()).toBeGreaterThanOrEqual(revisions.at(-1) ?? before);
    }
    expect(revisions.every(Number.isSafeInteger)).toBe(true);
    expect(revisions).toEqual([...new Set(revisions)].toSorted((a, b) => a - b));
    expect((await eventsFrom(made, '/', before)).map(({ revision }) => revision)).toEqual(revisions);
  });
}

function sideContract(make: Make): void {
  it('are kept by key, move no revision and reach no watch', async () => {
    const { store } = await make();
    await put(store, '/used/a', 'in the log');
    const seen = collect(await openWatch(store, '/', 1));
    await store.writeSideValues(
      new Map([
        ['/used/a', '1'],
        ['/used/b', '2'],
        ['/other', '3'],
      ]),
    );
    await store.writeSideValues(
      new Map([
        ['/used/b', undefined],
        ['/used/c', '4'],
      ]),
    );
    expect([...(await store.sideValues('/used/'))].toSorted()).toEqual([
      ['/used/a', '1'],
      ['/used/c', '4'],
    ]);
    await settle(1);
    expect([await store.currentRevision(), seen]).toEqual([1, []]);
    expect((await store.get('/used/a')).record?.value).toBe('in the log');
  });

  it('come in pages, in byte order of their keys', async () => {
    const { store } = await make();
    const keys = ['/u/c', '/u/a', '/u/\u{1f600}', '/v', '/u/\uffee', '/t', '/u/b'];
    await store.writeSideValues(new Map(keys.map((key) => [key, `of ${key}`])));
    const pages: string[][] = [];
    for (let afterKey: string | undefined; pages.at(-1)?.length !== 0; afterKey = pages.at(-1)?.at(-1))
      pages.push([
        ...(await store.sideValues('/u/', { ...(afterKey !== undefined && { afterKey }), limit: 2 })).keys(),
      ]);
    expect(pages).toEqual([['/u/a', '/u/b'], ['/u/c', '/u/\uffee'], ['/u/\u{1f600}'], []]);
  });

  it('belong to their reader', async () => {
    const { store } = await make();
    await store.writeSideValues(new Map([['/a', '1']]));
    (await store.sideValues('/')).clear();
    expect((await store.sideValues('/')).size).toBe(1);
  });
}

function lagContract(make: Make, elsewhere: (store: Store, key: string, value: string) => void): void {
  it('shows a fresh read what others have written', async () => {
    const { made } = await make();
    const before = await put(made, '/a', 'one');
    elsewhere(made, '/a', 'theirs');
    expect((await made.get('/a')).record?.value).toBe('one');
    expect((await made.get('/a', { fresh: true })).record?.value).toBe('theirs');
    elsewhere(made, '/a', 'theirs again');
    expect(await made.currentRevision({ fresh: true })).toBeGreaterThan(before.revision);
  });

  it('refuses a write that rests on an old one, and shows the newest', async () => {
    const { made } = await make();
    const { revision } = await put(made, '/a', 'one');
    elsewhere(made, '/a', 'theirs');
    const refused = await made.write('/a', { expect: revision, value: 'two' });
    expect(refused).toMatchObject({ ok: false, current: { value: 'theirs' } });
  });
}
