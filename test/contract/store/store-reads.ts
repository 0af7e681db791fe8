// What every store promises of its present and its past: pages, many keys at once, and how far back it can be read.
import { expect, it } from 'vitest';
import type { StoredRecord } from '../../../src/store/store.ts';
import { keysOf, type Make, pageOf, put, remove, revisionsFrom, valuesOf } from './store-stage.ts';

export function listContract(make: Make): void {
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

export function readContract(make: Make): void {
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

export function historyContract(make: Make): void {
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
