import { describe, expect, it } from 'vitest';
import { changedView } from '../../../src/apiserver/caller/visibility.ts';
import type { Kind } from '../../../src/apiserver/kinds/kind.ts';
import type { User, Visibility } from '../../../src/apiserver/request/identity.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import type { ListResult, ReadResult } from '../../../src/store/store.ts';
import { gadgetKind, gadgets, openGadgets, specOf } from '../shop/gadgets.ts';
import { endsWithTest } from '../shop/shop-of-test.ts';
import { collection, type HttpReply, Lines, openShop, type Shop, widget, widgetKind } from '../shop/widgets.ts';

/** Users see only the gadgets that they own; the user `owner` runs the shop and sees every gadget. */
async function start(since: { revision: number } = { revision: 0 }, looks: string[] = []): Promise<Shop> {
  const owned: Kind = {
    ...gadgetKind,
    indexes: { 'spec.owner': (object) => [String(specOf(object)['owner'])] },
    visibleTo: ({ name }: User): Visibility | undefined =>
      name === 'owner'
        ? undefined
        : {
            sees(object) {
              looks.push(name);
              return specOf(object)['owner'] === name;
            },
            index: { field: 'spec.owner', values: [name] },
            since: since.revision,
          },
  };
  const shop = endsWithTest(await openGadgets({}, owned));
  const everything = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }];
  for (const name of ['ann', 'bob']) shop.access.add({ name, token: `${name}-token`, rules: everything });
  return shop;
}

const as = (name: string) => ({ authorization: `Bearer ${name}-token` });
const gadget = (name: string, owner: string, more: object = {}) => ({ metadata: { name }, spec: { owner, ...more } });
const merge = { 'content-type': 'application/merge-patch+json' };
const namesIn = ({ json }: HttpReply) =>
  (json['items'] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);

async function watch(shop: Shop, name: string, query = 'resourceVersion=0'): Promise<Lines> {
  const response = await fetch(`${shop.server.url}${gadgets}?watch=true&${query}`, { headers: as(name) });
  return new Lines(response.body as ReadableStream<Uint8Array>);
}

/** Number of records that the store listed while `act` ran. */
async function readsOf(shop: Shop, act: () => Promise<unknown>): Promise<number> {
  const { store } = shop;
  const list = store.list.bind(store);
  const read = store.read.bind(store);
  let records = 0;
  store.list = async (...options): Promise<ListResult> => {
    const page = await list(...options);
    if (page.kind === 'page') records += page.records.length;
    return page;
  };
  store.read = async (keys, atRevision): Promise<ReadResult> => {
    records += keys.length;
    return read(keys, atRevision);
  };
  await act();
  Object.assign(store, { list, read });
  return records;
}

describe('an object that is hidden from a caller', () => {
  it('is looked at as often as an absent one, so that the time of an answer tells nothing', async () => {
    const looks: string[] = [];
    const shop = await start(undefined, looks);
    await shop.call('POST', gadgets, gadget('hidden', 'ann'));
    const looksAt = async (method: string, path: string, body?: unknown) => {
      looks.length = 0;
      await shop.call(method, `${gadgets}${path}`, body, as('bob'));
      return looks.length;
    };
    for (const [method, path, body] of [
      ['GET', '/NAME'],
      ['DELETE', '/NAME'],
      ['PUT', '/NAME', gadget('NAME', 'bob')],
      ['GET', '?fieldSelector=metadata.name%3DNAME'],
    ] as const) {
      const named = (name: string) =>
        looksAt(
          method,
          path.replace('NAME', name),
          JSON.parse(JSON.stringify(body ?? null).replace('NAME', name)) ?? undefined,
        );
      expect([method, path, await named('hidden')]).toEqual([method, path, 1]);
      expect([method, path, await named('absent')]).toEqual([method, path, 1]);
    }
  });

  it('answers every verb like a missing object, except a create under the same name', async () => {
    const shop = await start();
    await shop.call('POST', gadgets, gadget('a', 'ann'));
    const ask = (method: string, body?: unknown, headers: Record<string, string> = {}) =>
      shop.call(method, `${gadgets}/a`, body, { ...as('bob'), ...headers });
    const answers = [
      await ask('GET'),
      await ask('PUT', gadget('a', 'bob')),
      await ask('PATCH', { spec: { ttl: 1 } }, merge),
      await ask('DELETE'),
    ];
    const absent = await shop.call('GET', `${gadgets}/b`, undefined, as('bob'));
    for (const { status, json } of answers) {
      const named = { ...absent.json, message: String(absent.json['message']).replace('"b"', '"a"') };
      const details = { ...(absent.json['details'] as object), name: 'a' };
      expect([status, json]).toEqual([404, { ...named, details }]);
    }
    expect((await shop.call('POST', gadgets, gadget('a', 'bob'), as('bob'))).status).toBe(409);
    expect((await shop.call('GET', `${gadgets}/a`, undefined, as('ann'))).status).toBe(200);
  });

  it('is left out of lists, pages, tables and deletecollections of that caller', async () => {
    const shop = await start();
    for (const [name, owner] of [
      ['a', 'ann'],
      ['b', 'bob'],
      ['c', 'ann'],
      ['d', 'bob'],
      ['e', 'ann'],
    ] as const) {
      await shop.call('POST', gadgets, gadget(name, owner));
    }
    const list = (name: string, query = '') => shop.call('GET', `${gadgets}${query}`, undefined, as(name));
    expect(namesIn(await list('ann'))).toEqual(['a', 'c', 'e']);
    expect(namesIn(await list('owner'))).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(namesIn(await list('bob', '?fieldSelector=metadata.name%3Da'))).toEqual([]);
    expect(namesIn(await list('bob', '?fieldSelector=spec.owner%3Dann'))).toEqual([]);
    const page = await list('ann', '?limit=2');
    const { continue: token, remainingItemCount } = page.json['metadata'] as Record<string, string>;
    expect([namesIn(page), remainingItemCount]).toEqual([['a', 'c'], undefined]);
    expect(namesIn(await list('ann', `?limit=2&continue=${token}`))).toEqual(['e']);
    await shop.call('DELETE', gadgets, undefined, as('bob'));
    expect(namesIn(await list('owner'))).toEqual(['a', 'c', 'e']);
  });

  it('is left out of watches; coming into view is ADDED and leaving it is DELETED', async () => {
    const shop = await start();
    await shop.call('POST', gadgets, gadget('a', 'ann'));
    const lines = await watch(shop, 'bob');
    await shop.call('PATCH', `${gadgets}/a`, { spec: { ttl: 1 } }, merge);
    await shop.call('PATCH', `${gadgets}/a`, { spec: { owner: 'bob' } }, merge);
    await shop.call('PATCH', `${gadgets}/a`, { spec: { ttl: 2 } }, merge);
    await shop.call('PATCH', `${gadgets}/a`, { spec: { owner: 'ann' } }, merge);
    const types = [];
    for (let count = 0; count < 3; count++) types.push((await lines.next())?.['type']);
    await lines.cancel();
    expect(types).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
  });
});

describe('a change of one caller’s visibility', () => {
  it('ends the watches of that caller with 410, and leaves other watches open', async () => {
    const shop = await start();
    const [ann, bob] = [await watch(shop, 'ann'), await watch(shop, 'bob')];
    while (shop.server.watchCount < 2) await new Promise((resolve) => setImmediate(resolve));
    shop.server.endWatchesWhere(({ name }) => (name === 'ann' ? changedView : undefined));
    expect(await ann.next()).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
    expect(await ann.next()).toBeUndefined();
    await shop.call('POST', gadgets, gadget('a', 'bob'));
    expect(await bob.next()).toMatchObject({ type: 'ADDED' });
    await bob.cancel();
  });

  it('also ends a watch that is being opened', async () => {
    const shop = await start();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const open = shop.store.watch.bind(shop.store);
    shop.store.watch = async (...asked) => {
      await held;
      return open(...asked);
    };
    const opening = watch(shop, 'ann');
    while (shop.server.watchCount < 1) await new Promise((resolve) => setImmediate(resolve));
    shop.server.endWatchesWhere(({ name }) => (name === 'ann' ? changedView : undefined));
    release();
    const lines = await opening;
    expect(await lines.next()).toMatchObject({ type: 'ERROR', object: { code: 410 } });
    expect(await lines.next()).toBeUndefined();
  });

  it('answers 410 to older versions and tokens of that caller only', async () => {
    const since = { revision: 0 };
    const shop = await start(since);
    for (const name of ['a', 'b', 'c']) await shop.call('POST', gadgets, gadget(name, 'ann'));
    const page = await shop.call('GET', `${gadgets}?limit=1`, undefined, as('ann'));
    const { continue: token } = page.json['metadata'] as { continue: string };
    since.revision = 4;
    await shop.call('POST', gadgets, gadget('d', 'ann'));
    const exact = '?resourceVersion=3&resourceVersionMatch=Exact';
    for (const query of [`?limit=1&continue=${token}`, exact]) {
      expect((await shop.call('GET', `${gadgets}${query}`, undefined, as('ann'))).status).toBe(410);
    }
    expect((await shop.call('GET', `${gadgets}${exact}`)).status).toBe(200);
    const lines = await watch(shop, 'ann', 'resourceVersion=3');
    expect(await lines.next()).toMatchObject({ type: 'ERROR', object: { code: 410 } });
  });
});

describe('a list of one owner among many', () => {
  const total = 2000;
  const fill = async (shop: Shop) => {
    for (let index = 0; index < total; index++) {
      const name = `g${String(index).padStart(4, '0')}`;
      const owner = index % 200 === 0 ? 'ann' : `o${index % 100}`;
      await shop.store.write(`/registry/gadgets/${name}`, {
        expect: 0,
        value: JSON.stringify({ metadata: { name }, spec: { owner } }),
      });
    }
    // The first use builds the index.
    await shop.call('GET', gadgets, undefined, as('bob'));
  };

  it.each([
    { claim: 'by the caller’s visibility', query: '', name: 'ann', found: 10 },
    { claim: 'by a selector of an index', query: '?fieldSelector=spec.owner%3Dann', name: 'owner', found: 10 },
    { claim: 'by name', query: '?fieldSelector=metadata.name%3Dg0200', name: 'owner', found: 1 },
  ])('reads what it returns: $claim', async ({ query, name, found }) => {
    const shop = await start();
    await fill(shop);
    let names: string[] = [];
    const reads = await readsOf(shop, async () => {
      names = namesIn(await shop.call('GET', `${gadgets}${query}`, undefined, as(name)));
    });
    expect([names.length, reads]).toEqual([found, found]);
  });

  it('is complete in pages, of which the last says that none follows', async () => {
    const shop = await start();
    await fill(shop);
    const pages: string[][] = [];
    for (let next: string | undefined = ''; next !== undefined; ) {
      const query = `?limit=5${next === '' ? '' : `&continue=${encodeURIComponent(next)}`}`;
      const page = await shop.call('GET', `${gadgets}${query}`, undefined, as('ann'));
      pages.push(namesIn(page));
      next = (page.json['metadata'] as { continue?: string }).continue;
      expect(pages.length).toBeLessThanOrEqual(2);
    }
    const names = Array.from({ length: 10 }, (_, nth) => `g${String(nth * 200).padStart(4, '0')}`);
    expect(pages).toEqual([names.slice(0, 5), names.slice(5)]);
  });

  it('of a namespace has no object of another one', async () => {
    const sizeOf = (object: KubeObject) => [String(specOf(object)['size'])];
    const shop = endsWithTest(await openShop({ kinds: [{ ...widgetKind, indexes: { 'spec.size': sizeOf } }] }));
    const other = collection.replace('/main/', '/other/');
    for (const path of [collection, other])
      for (const size of ['big', 'small']) await shop.call('POST', path, widget(size, { spec: { size } }));
    const found = async (path: string) => {
      const { json } = await shop.call('GET', `${path}?fieldSelector=spec.size%3Dbig`);
      const items = json['items'] as { metadata: { namespace: string; name: string } }[];
      return items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    };
    expect(await found(collection)).toEqual(['main/big']);
    expect(await found(other)).toEqual(['other/big']);
    expect(await found('/apis/shop.example/v1/widgets')).toEqual(['main/big', 'other/big']);
  });

  it('finds the newest writes, and at an older revision the objects that have left since', async () => {
    const shop = await start();
    await fill(shop);
    const owned = () => shop.call('GET', gadgets, undefined, as('bob'));
    await shop.call('POST', gadgets, gadget('new', 'bob'));
    const before = await owned();
    expect(namesIn(before)).toEqual(['new']);
    await shop.call('PATCH', `${gadgets}/new`, { spec: { owner: 'ann' } }, merge);
    expect(namesIn(await owned())).toEqual([]);
    const { resourceVersion } = before.json['metadata'] as { resourceVersion: string };
    const query = `?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`;
    expect(namesIn(await shop.call('GET', `${gadgets}${query}`, undefined, as('bob')))).toEqual(['new']);
  });

  it('is correct again after the index has lost its watch', async () => {
    const shop = await start();
    await shop.call('POST', gadgets, gadget('a', 'ann'));
    expect(namesIn(await shop.call('GET', gadgets, undefined, as('ann')))).toEqual(['a']);
    shop.server.kit.indexes.close();
    await shop.call('POST', gadgets, gadget('b', 'ann'));
    expect(namesIn(await shop.call('GET', gadgets, undefined, as('ann')))).toEqual(['a', 'b']);
  });
});

describe('a watch with a selector', () => {
  it('shares the parsed event with all other watches', async () => {
    let looks = 0;
    const countingShown = (object: KubeObject) => {
      looks++;
      return { ...object };
    };
    const counting: Kind = {
      ...gadgetKind,
      strategy: { ...gadgetKind.strategy, hidden: { present: countingShown } },
    };
    const shop = endsWithTest(await openGadgets({}, counting));
    const watches: Lines[] = [];
    for (let count = 0; count < 10; count++) {
      watches.push(await watch(shop, 'owner', `resourceVersion=0&fieldSelector=spec.owner%3Do${count}`));
    }
    const looksOfCreate = async () => {
      const before = looks;
      await shop.call('POST', gadgets, gadget(`a${before}`, 'o1'));
      await watches[1]?.next();
      return looks - before;
    };
    await looksOfCreate();
    const withTen = await looksOfCreate();
    for (const index of [0, 2, 3, 4, 5, 6, 7, 8, 9]) await watches[index]?.cancel();
    while (shop.server.watchCount > 1) await new Promise((resolve) => setImmediate(resolve));
    expect(await looksOfCreate()).toBe(withTen);
    await watches[1]?.cancel();
  });
});
