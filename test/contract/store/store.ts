// What every store promises. A store is proven by calling storeContract() with a way to make one. The cases count changes: the
// first is 1. A store that skips numbers says how it numbers them (store-numbering.ts), and the same cases hold.
import { afterEach, describe, expect, it } from 'vitest';
import type { HistoryLimits } from '../../../src/store/history-limits.ts';
import type { ListResult, Store, StoredRecord, StoreEvent, StoreWatch } from '../../../src/store/store.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';
import { storeModelContract } from './store-model.ts';
import { counted, type Numbering } from './store-numbering.ts';

export interface StoreSettings {
  clock: VirtualClock;
  history?: Partial<HistoryLimits>;
}

/** Makes a store that is not started yet. */
export type MakeStore = (settings: StoreSettings) => Promise<Store> | Store;

export interface StoreContractOptions {
  /** Twice as many changes are more than a watch hands out at a time; each costs a store over an API server milliseconds. */
  many?: number;
  modelRuns?: number;
  /** Absent = from 1 without gaps. A function for a store that begins where its log is. */
  numbering?: Numbering | ((started: Store) => Numbering);
  /** Writes behind the store's back; the store has not heard of it yet. */
  elsewhere?: (store: Store, key: string, value: string) => void;
  /** Makes the store miss a change and find out; it writes `value` to `key` behind the store's back. */
  lose?: (store: Store, key: string, value: string) => Promise<void>;
}

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

/** `made` is the store itself, `store` the one that counts changes. */
type Make = (settings?: Omit<StoreSettings, 'clock'>) => Promise<{ store: Store; clock: VirtualClock; made: Store }>;

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

function listContract(make: Make): void {
  it('returns the keys under a prefix in byte order', async () => {
    const { store } = await make();
    const inOrder = [
      '/r/',
      '/r/-',
      '/r/A',
      '/r/Z',
      '/r/a',
      '/r/a/b',
      '/r/é',
      '/r/\uffee',
      '/r/\u{1f600}',
      '/r/\u{1f600}a',
    ];
    for (const key of ['/q', '/s', ...inOrder.toReversed()]) await put(store, key, key);
    expect(keysOf(await store.list('/r/'))).toEqual(inOrder);
    expect(Buffer.from('/r/\uffee').compare(Buffer.from('/r/\u{1f600}'))).toBe(-1);
  });

  it('pages with afterKey and limit, and returns the number of remaining keys', async () => {
    const { store } = await make();
    for (let n = 0; n < 7; n++) await put(store, `/r/${n}`, 'x');
    await put(store, '/s/0', 'x');
    expect(await store.list('/r/', { limit: 3 })).toMatchObject({ hasMore: true, remaining: 4, revision: 8 });
    const second = await store.list('/r/', { limit: 3, afterKey: '/r/2' });
    expect(keysOf(second)).toEqual(['/r/3', '/r/4', '/r/5']);
    expect(second).toMatchObject({ hasMore: true, remaining: 1 });
    expect(await store.list('/r/', { limit: 3, afterKey: '/r/5' })).toMatchObject({ hasMore: false, remaining: 0 });
    expect(keysOf(await store.list('/r/', { afterKey: '/r/9' }))).toEqual([]);
    expect(keysOf(await store.list('/r/', { afterKey: '/a', limit: 1 }))).toEqual(['/r/0']);
  });

  it('shows the state of an old revision, with deleted keys and without later writes', async () => {
    const { store } = await make();
    await put(store, '/r/a', 'a1');
    await put(store, '/r/b', 'b1');
    await put(store, '/r/a', 'a2');
    await remove(store, '/r/b');
    await put(store, '/r/c', 'c1');
    expect(valuesOf(await store.list('/r/', { atRevision: 0 }))).toEqual([]);
    expect(valuesOf(await store.list('/r/', { atRevision: 1 }))).toEqual(['a1']);
    expect(valuesOf(await store.list('/r/', { atRevision: 3 }))).toEqual(['a2', 'b1']);
    expect(await store.list('/r/', { atRevision: 3 })).toMatchObject({ revision: 3 });
    expect(valuesOf(await store.list('/r/'))).toEqual(['a2', 'c1']);
  });

  it('keeps pages of one revision stable during other writes', async () => {
    const { store } = await make();
    for (let n = 100; n < 200; n++) await put(store, `/r/${n}`, 'old');
    const { revision } = pageOf(await store.list('/r/'));
    const seen: StoredRecord[] = [];
    let afterKey: string | undefined;
    for (let round = 0; ; round++) {
      const page = pageOf(await store.list('/r/', { atRevision: revision, limit: 7, ...(afterKey && { afterKey }) }));
      seen.push(...page.records);
      expect(page.remaining).toBe(100 - seen.length);
      if (!page.hasMore) break;
      afterKey = page.records.at(-1)?.key;
      await put(store, `/r/${100 + round * 5}`, 'new');
      await remove(store, `/r/${199 - round}`);
      await put(store, `/r/${100 + round}x`, 'new');
    }
    expect(seen.map(({ key }) => key)).toEqual(Array.from({ length: 100 }, (_, n) => `/r/${n + 100}`));
    expect(new Set(seen.map(({ value }) => value))).toEqual(new Set(['old']));
  });

  it('reports a revision that does not exist yet', async () => {
    const { store } = await make();
    await put(store, '/a', 'x');
    const answer = { kind: 'futureRevision', currentRevision: 1 };
    expect(await store.list('/', { atRevision: 2 })).toEqual(answer);
    for (const keys of [[], ['/a']]) expect(await store.read(keys, 2)).toEqual(answer);
  });
}

function readContract(make: Make): void {
  it('returns the records of many keys at a revision, and nothing for those that were not there', async () => {
    const { store } = await make();
    await put(store, '/a', 'a1');
    await put(store, '/b', 'b1');
    await put(store, '/a', 'a2');
    await remove(store, '/b');
    await put(store, '/a/below', 'not asked for');
    const valuesAt = async (revision: number) => {
      const found = await store.read(['/a', '/absent', '/b'], revision);
      return found.kind === 'read' ? found.records.map((record) => record?.value) : found;
    };
    expect(await valuesAt(0)).toEqual([undefined, undefined, undefined]);
    expect(await valuesAt(2)).toEqual(['a1', undefined, 'b1']);
    expect(await valuesAt(5)).toEqual(['a2', undefined, undefined]);
    const record = { key: '/a', value: 'a2', createRevision: 1, revision: 3 };
    expect(await store.read(['/a'], 4)).toEqual({ kind: 'read', records: [record] });
    expect(await store.read([], 4)).toEqual({ kind: 'read', records: [] });
  });

  it('returns all texts, however long, to a reader who asks for the rest again and again', async () => {
    const { store } = await make();
    const keys = Array.from({ length: 20 }, (_, n) => `/r/${n}`);
    const texts = keys.map((_, n) => String(n).repeat(20_000));
    for (const [n, key] of keys.entries()) await put(store, key, texts[n] as string);
    const found: (string | undefined)[] = [];
    while (found.length < keys.length) {
      const answer = await store.read(keys.slice(found.length), keys.length);
      if (answer.kind !== 'read' || answer.records.length === 0) throw new Error(`no record: ${answer.kind}`);
      found.push(...answer.records.map((record) => record?.value));
    }
    expect(found).toEqual(texts);
  });
}

function historyContract(make: Make): void {
  it('after compact(n) reads n and no older revision', async () => {
    const { store } = await make();
    for (let n = 1; n <= 5; n++) await put(store, '/a', `v${n}`);
    await store.compact(3);
    expect(await store.list('/', { atRevision: 2 })).toEqual({ kind: 'compacted', compactedRevision: 3 });
    expect(await store.read(['/a'], 2)).toEqual({ kind: 'compacted', compactedRevision: 3 });
    expect(valuesOf(await store.list('/', { atRevision: 3 }))).toEqual(['v3']);
    expect(await store.watch('/', 2)).toEqual({ kind: 'compacted', compactedRevision: 3 });
    expect(await revisionsFrom(store, 3)).toEqual([4, 5]);
  });

  it('accepts a compaction that is repeated, older, or beyond the present', async () => {
    const { store } = await make();
    await put(store, '/a', 'v1');
    await put(store, '/b', 'v1');
    await remove(store, '/b');
    await store.compact(100);
    await store.compact(1);
    expect(valuesOf(await store.list('/'))).toEqual(['v1']);
    expect(await store.currentRevision()).toBe(3);
    expect(await put(store, '/b', 'v2')).toEqual({ ok: true, revision: 4, createRevision: 4 });
  });

  it('drops history beyond the count limit by itself, never the current state', async () => {
    const { store } = await make({ history: { maxRevisions: 10 } });
    await put(store, '/first', 'stays');
    for (let n = 0; n < 50; n++) await put(store, '/a', `v${n}`);
    expect(await store.list('/', { atRevision: 20 })).toMatchObject({ kind: 'compacted' });
    expect(valuesOf(await store.list('/', { atRevision: 51 }))).toEqual(['v49', 'stays']);
    expect(pageOf(await store.list('/', { atRevision: 45 })).revision).toBe(45);
  });

  it('drops history beyond the size limit by itself', async () => {
    const { store } = await make({ history: { maxBytes: 10_000 } });
    for (let n = 0; n < 50; n++) await put(store, '/a', 'x'.repeat(1000));
    expect(await store.list('/', { atRevision: 30 })).toMatchObject({ kind: 'compacted' });
    expect(pageOf(await store.list('/', { atRevision: 45 })).revision).toBe(45);
  });

  it('drops a large value soon after a small one has replaced it', async () => {
    const { store } = await make({ history: { maxBytes: 10_000 } });
    await put(store, '/a', 'x'.repeat(9_000));
    await put(store, '/b', 'x'.repeat(9_000));
    for (const key of ['/a', '/b']) await put(store, key, 'small');
    expect(await store.list('/', { atRevision: 2 })).toMatchObject({ kind: 'compacted' });
    await remove(store, '/a');
    expect(valuesOf(await store.list('/'))).toEqual(['small']);
  });

  it('drops history beyond the age limit by itself', async () => {
    const { store, clock } = await make({ history: { maxAgeMs: 60_000 } });
    await put(store, '/a', 'old');
    await put(store, '/a', 'newer');
    await clock.advance(50_000);
    await put(store, '/a', 'young');
    expect(valuesOf(await store.list('/', { atRevision: 1 }))).toEqual(['old']);
    await clock.advance(20_000);
    expect(await store.list('/', { atRevision: 1 })).toEqual({ kind: 'compacted', compactedRevision: 2 });
    expect(valuesOf(await store.list('/', { atRevision: 2 }))).toEqual(['newer']);
  });
}

function watchContract(make: Make, { numbering, many = 1500 }: StoreContractOptions): void {
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

function lossContract(make: Make, lose: (store: Store, key: string, value: string) => Promise<void>): void {
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

function put(store: Store, key: string, value: string) {
  return store.write(key, { expect: undefined, value });
}

/** Many at a time, because a store over an API server waits for each. */
async function putMany(store: Store, count: number): Promise<void> {
  const atOnce = 100;
  for (let n = 0; n < count; n += atOnce)
    await Promise.all(Array.from({ length: atOnce }, (_, at) => put(store, `/a/${at}`, `v${n}`)));
}

function remove(store: Store, key: string) {
  return store.write(key, { expect: undefined, value: undefined });
}

function pageOf(result: ListResult): Extract<ListResult, { kind: 'page' }> {
  if (result.kind !== 'page') throw new Error(`Expected a page, found ${JSON.stringify(result)}`);
  return result;
}

function keysOf(result: ListResult): string[] {
  return pageOf(result).records.map(({ key }) => key);
}

function valuesOf(result: ListResult): string[] {
  return pageOf(result).records.map(({ value }) => value);
}

async function openWatch(store: Store, prefix: string, afterRevision: number): Promise<StoreWatch> {
  const watch = await store.watch(prefix, afterRevision);
  if ('kind' in watch) throw new Error(`Expected a watch, found ${JSON.stringify(watch)}`);
  return watch;
}

function collect(watch: StoreWatch): StoreEvent[] {
  const seen: StoreEvent[] = [];
  void (async () => {
    for await (const batch of watch.events()) seen.push(...batch);
  })();
  return seen;
}

async function endOf(watch: StoreWatch): Promise<void> {
  for await (const _ of watch.events());
}

/** The history that a new watch delivers at once. */
async function eventsFrom(store: Store, prefix: string, afterRevision: number): Promise<StoreEvent[]> {
  const watch = await openWatch(store, prefix, afterRevision);
  for await (const batch of watch.events()) return batch;
  return [];
}

async function revisionsFrom(store: Store, afterRevision: number): Promise<number[]> {
  return (await eventsFrom(store, '/', afterRevision)).map(({ revision }) => revision);
}

async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 100_000; turn++) {
    if (holds()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error('Waited in vain');
}
