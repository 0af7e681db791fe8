import { afterEach, describe, expect, it } from 'vitest';
import type { Kind } from '../../../src/apiserver/kinds/kind.ts';
import { type Chore, GarbageCollector } from '../../../src/apiserver/owners/garbage-collector.ts';
import { systemClock } from '../../../src/clock.ts';
import { silentLog } from '../../../src/log.ts';
import { KeyBook } from '../../../src/management/keys/book/key-book.ts';
import { StoreFault } from '../../../src/store/errors.ts';
import { Followers } from '../../../src/store/follow/follower.ts';
import { DistantStore } from '../../store/distant-store.ts';
import { gadgetKind, gadgets, openGadgets, specOf } from '../shop/gadgets.ts';
import { Lines, type Shop } from '../shop/widgets.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function start(): Promise<{ shop: Shop; store: DistantStore }> {
  const store = new DistantStore({ clock: systemClock });
  await store.start();
  closers.push(() => store.stop());
  const indexed: Kind = { ...gadgetKind, indexes: { 'spec.owner': (object) => [String(specOf(object)['owner'])] } };
  const shop = await openGadgets({ store }, indexed);
  closers.push(() => shop.stop());
  return { shop, store };
}

const stored = (name: string, owner: string, meta: object = {}) =>
  JSON.stringify({ metadata: { name, uid: `uid-${name}`, ...meta }, spec: { owner } });
const gadget = (name: string, owner: string) => ({ metadata: { name }, spec: { owner } });

describe('a server whose store has missed changes', () => {
  it('ends its watches, and answers 410 to clients that continue from an older version', async () => {
    const { shop, store } = await start();
    const made = await shop.call('POST', gadgets, gadget('a', 'ann'));
    const { resourceVersion } = made.json['metadata'] as { resourceVersion: string };
    const watch = async () => {
      const url = `${shop.server.url}${gadgets}?watch=true&resourceVersion=${resourceVersion}`;
      const response = await fetch(url, { headers: { authorization: 'Bearer owner-token' } });
      return new Lines(response.body as ReadableStream<Uint8Array>);
    };
    const lines = await watch();
    await store.miss('/registry/gadgets/b', stored('b', 'ann'));
    expect(await lines.next()).toBeUndefined();
    expect(await (await watch()).next()).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
  });

  it('finds the missed writes through its indexes', async () => {
    const { shop, store } = await start();
    const owned = async () => {
      const { json } = await shop.call('GET', `${gadgets}?fieldSelector=spec.owner%3Dann`);
      return (json['items'] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
    };
    await shop.call('POST', gadgets, gadget('a', 'ann'));
    expect(await owned()).toEqual(['a']);
    await store.miss('/registry/gadgets/b', stored('b', 'ann'));
    expect(await owned()).toEqual(['a', 'b']);
    await shop.call('POST', gadgets, gadget('c', 'ann'));
    expect(await owned()).toEqual(['a', 'b', 'c']);
  });

  it('goes on without an index whose watch has failed, and builds another', async () => {
    const { shop, store } = await start();
    const owned = async () =>
      (await shop.call('GET', `${gadgets}?fieldSelector=spec.owner%3Dann`)).json['items'] as unknown[];
    const { watch } = store;
    const failing = Promise.withResolvers<void>();
    store.watch = async (...asked) => {
      store.watch = watch;
      const opened = await store.watch(...asked);
      if ('kind' in opened) return opened;
      const events = async function* () {
        await failing.promise;
        yield* [];
        throw new StoreFault('STORE_WORKER_GONE', 'the disk is gone');
      };
      return Object.assign(opened, { events });
    };
    expect(await owned()).toHaveLength(0);
    failing.resolve();
    await shop.call('POST', gadgets, gadget('a', 'ann'));
    expect(await owned()).toHaveLength(1);
  });

  it('still deletes objects whose owner was deleted in the meantime', async () => {
    const { shop, store } = await start();
    const garbageCollector = new GarbageCollector(shop.server.kit);
    await garbageCollector.start();
    closers.push(() => garbageCollector.stop());
    await store.miss('/registry/gadgets/owner', stored('owner', 'ann'));
    const owner = { apiVersion: 'shop.example/v1', kind: 'Gadget', name: 'owner', uid: 'uid-owner' };
    await store.miss('/registry/gadgets/owned', stored('owned', 'ann', { ownerReferences: [owner] }));
    await shop.call('DELETE', `${gadgets}/owner`);
    while ((await shop.call('GET', `${gadgets}/owned`)).status !== 404);
  });
});

describe('a garbage collector', () => {
  it('goes on when a chore fails while it reads every object again', async () => {
    const { shop, store } = await start();
    const done: string[] = [];
    const marked: Chore['marked'] = async ({ name }) => {
      if (name === 'bad') throw new StoreFault('STORE_WRITE_FAILED', 'no room');
      done.push(name);
    };
    const garbageCollector = new GarbageCollector(shop.server.kit, [{ marked, gone: async () => undefined }]);
    await garbageCollector.start();
    closers.push(() => garbageCollector.stop());
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    await store.miss('/registry/gadgets/bad', stored('bad', 'ann', { deletionTimestamp }));
    await store.miss('/registry/gadgets/good', stored('good', 'ann', { deletionTimestamp }));
    await expect.poll(() => done).toContain('good');
  });
});

describe('a stop while a lost watch is being opened again', () => {
  const followers: [string, (shop: Shop, store: DistantStore) => { start(): Promise<void>; stop(): Promise<void> }][] =
    [
      ['of a garbage collector', ({ server }) => new GarbageCollector(server.kit)],
      [
        'of a book of keys',
        (_shop, store) => new KeyBook(new Followers({ store, clock: systemClock, log: silentLog }), () => undefined),
      ],
    ];

  const steps = ['currentRevision', 'watch', 'list'] as const;
  const cases = followers.flatMap(([whose, made]) => steps.map((step) => ({ whose, made, step })));

  it.each(cases)('$whose comes to an end, in the step $step', async ({ made, step }) => {
    const { shop, store } = await start();
    const follower = made(shop, store);
    await follower.start();
    const [reached, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const held = store as unknown as Record<typeof step, (...asked: unknown[]) => Promise<unknown>>;
    const carryOut = held[step].bind(store);
    held[step] = async (...asked) => {
      reached.resolve();
      await goOn.promise;
      return carryOut(...asked);
    };
    await store.miss('/registry/gadgets/a', stored('a', 'ann'));
    await reached.promise;
    const stopped = follower.stop().then(() => 'stopped');
    goOn.resolve();
    const turns = async () => {
      for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
      return 'still running';
    };
    expect(await Promise.race([stopped, turns()])).toBe('stopped');
  });
});

describe('a server whose store cannot write', () => {
  it.each([
    ['STORE_WRITE_FAILED', 'the store cannot write to its disk, so nothing was changed; try again later', '1'],
    ['STORE_OVERLOADED', 'too many writes wait for the disk, so nothing was changed; try again later', '1'],
    [
      'STORE_WORKER_GONE',
      'the store has failed and answers nothing until the server is started again; nothing was changed',
      undefined,
    ],
    [
      'STORE_HOST_SILENT',
      'the cluster that keeps the records took the change and does not report it; look whether it was made before you try again',
      undefined,
    ],
  ] as const)(
    'answers 503 with a sentence for %s, without the words of the database, and still reads',
    async (code, says, retryAfter) => {
      const { shop, store } = await start();
      await shop.call('POST', gadgets, gadget('a', 'ann'));
      store.write = () => Promise.reject(new StoreFault(code, 'Cannot write "/secret/path": disk I/O error'));
      const refused = await shop.call('POST', gadgets, gadget('b', 'ann'));
      expect(refused.json).toMatchObject({ kind: 'Status', code: 503, reason: 'ServiceUnavailable', message: says });
      expect(refused.headers.get('retry-after') ?? undefined).toBe(retryAfter);
      expect((await shop.call('GET', `${gadgets}/a`)).json).toMatchObject({ metadata: { name: 'a' } });
    },
  );
});
