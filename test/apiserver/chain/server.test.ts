import { request as plainRequest } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import type { Interception } from '../../../src/apiserver/chain/chain.ts';
import { RequestJournal } from '../../../src/apiserver/request/request-journal.ts';
import { tooManyRequests } from '../../../src/object/meta/status.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { collection, Lines, openShop, type Shop } from '../shop/widgets.ts';

const open: Shop[] = [];
const start = async (options: Parameters<typeof openShop>[0] = {}): Promise<Shop> => {
  const shop = await openShop(options);
  open.push(shop);
  return shop;
};
afterEach(async () => {
  for (const shop of open.splice(0)) await shop.stop();
});

const widget = (name: string, more: object = {}) => ({ metadata: { name }, ...more });

describe('a server of one invented kind', () => {
  it('stores an object with defaults and with the metadata that only the server sets', async () => {
    const shop = await start();
    const made = await shop.call('POST', collection, widget('a', { spec: { tags: ['x'] }, status: { phase: 'sent' } }));
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({
      kind: 'Widget',
      apiVersion: 'shop.example/v1',
      metadata: { name: 'a', namespace: 'main', resourceVersion: '1', generation: 1 },
      spec: { size: 'small', tags: ['x'] },
    });
    expect((await shop.call('GET', `${collection}/a`)).json).toEqual(made.json);
  });

  it('raises the generation for changes outside metadata and status', async () => {
    const shop = await start();
    await shop.call('POST', collection, widget('a'));
    const patch = { 'content-type': 'application/merge-patch+json' };
    const generationAfter = async (path: string, body: object) => {
      const { json } = await shop.call('PATCH', path, body, patch);
      return (json['metadata'] as { generation: number }).generation;
    };
    expect(await generationAfter(`${collection}/a`, { metadata: { labels: { x: 'y' } } })).toBe(1);
    expect(await generationAfter(`${collection}/a/status`, { status: { phase: 'done' }, spec: { size: 'big' } })).toBe(
      1,
    );
    expect(await generationAfter(`${collection}/a`, { spec: { size: 'big' }, status: { phase: 'no' } })).toBe(2);
    const { json } = await shop.call('GET', `${collection}/a`);
    expect(json).toMatchObject({ spec: { size: 'big' }, status: { phase: 'done' } });
  });

  it('validates with the rules of the kind, and answers with the causes', async () => {
    const shop = await start();
    const { status, json } = await shop.call('POST', collection, widget('a', { spec: { size: 'huge' } }));
    expect(status).toBe(422);
    expect(json).toMatchObject({
      reason: 'Invalid',
      message: 'Widget.shop.example "a" is invalid: spec.size: Invalid value: "huge": does not fit',
    });
  });

  it('lets a subresource compute an answer from an object', async () => {
    const shop = await start();
    await shop.call('POST', collection, widget('a'));
    const { status, json } = await shop.call('POST', `${collection}/a/paint`, { spec: { colour: 'red' } });
    expect(status).toBe(201);
    expect(json).toMatchObject({ kind: 'Paint', spec: { colour: 'red' }, status: { of: 'a' } });
  });

  it('finds objects by a selectable field of the kind', async () => {
    const shop = await start();
    await shop.call('POST', collection, widget('a', { spec: { size: 'big' } }));
    await shop.call('POST', collection, widget('b'));
    const { json } = await shop.call('GET', `${collection}?fieldSelector=spec.size%3Dbig`);
    expect((json['items'] as { metadata: { name: string } }[]).map((item) => item.metadata.name)).toEqual(['a']);
  });

  it.each(['constructor', '__proto__', '__defineGetter__'])(
    'knows no field that every object has: %s',
    async (field) => {
      const shop = await start();
      await shop.call('POST', collection, widget('a'));
      const { status, json } = await shop.call('GET', `${collection}?fieldSelector=${field}%3Dx`);
      expect([status, json['message']]).toEqual([400, `field label not supported: ${field}`]);
    },
  );

  it.each(['constructor', '__proto__'])(
    'refuses a subresource named like a member of every JavaScript object: %s',
    async (name) => {
      const shop = await start();
      await shop.call('POST', collection, widget('a'));
      expect((await shop.call('GET', `${collection}/a/${name}`)).status).toBe(404);
    },
  );

  it('serves only paths below its prefix', async () => {
    const shop = await start({ pathPrefix: '/kubernetes/shop' });
    expect((await shop.call('GET', '/version')).json).toMatchObject({ gitVersion: 'v1.0.0' });
    const bare = shop.server.url.slice(0, -'/kubernetes/shop'.length);
    const statusOf = async (path: string) =>
      (await fetch(`${bare}${path}`, { headers: { authorization: 'Bearer owner-token' } })).status;
    const above = ['/version', '/kubernetes/shopversion', '/kubernetes/sho', `/kubernetes/shop-b${collection}`];
    for (const path of above) expect([path, await statusOf(path)]).toEqual([path, 404]);
    for (const path of ['/kubernetes/shop', '/kubernetes/shop/', '/kubernetes/shop?x=1', '/kubernetes/shop/version'])
      expect([path, await statusOf(path)]).toEqual([path, 200]);
  });

  it.each(['Impersonate-User', 'impersonate-group', 'Impersonate-Uid', 'Impersonate-Extra-scopes'])(
    'refuses %s instead of acting as the sender',
    async (header) => {
      const shop = await start();
      for (const path of [collection, '/version']) {
        const { status, json } = await shop.call('GET', path, undefined, { [header]: 'jane' });
        expect(status).toBe(403);
        expect(json).toMatchObject({ kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403 });
        expect(json['message']).toContain(`found the header "${header.toLowerCase()}"; send the request without it`);
      }
      expect(
        (await shop.call('GET', collection, undefined, { [header]: 'x', authorization: 'Bearer no' })).status,
      ).toBe(401);
    },
  );

  it('passes paths to the routes of the tenant, after authentication', async () => {
    const shop = await start({
      routes: [
        {
          takes: ({ path }) => path === '/metrics',
          serve: async ({ response, user }) => void response.end(`asked by ${user.name}`),
        },
      ],
    });
    expect((await shop.call('GET', '/metrics')).text).toBe('asked by owner');
    expect((await shop.call('GET', '/metrics', undefined, { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await shop.call('GET', '/nonsense')).status).toBe(404);
  });

  it('serves nothing below a subresource, and no subresource under a longer path', async () => {
    const shop = await start();
    await shop.call('POST', collection, widget('one'));
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'POST'])
      for (const path of ['one/status/deeper', 'one/nothing/a/b', 'one/status/a/b/c'])
        expect((await shop.call(method, `${collection}/${path}`, method === 'GET' ? undefined : {})).status).toBe(404);
    expect((await shop.call('GET', `${collection}/one`)).status).toBe(200);
  });

  it('runs admission before a create, an update and a delete', async () => {
    const asked: string[] = [];
    const shop = await start({ admission: [({ operation, name }) => void asked.push(`${operation} ${name}`)] });
    await shop.call('POST', collection, widget('a'));
    await shop.call('PUT', `${collection}/a`, widget('a', { spec: { size: 'big' } }));
    await shop.call('DELETE', `${collection}/a`);
    expect(asked).toEqual(['create a', 'update a', 'delete a']);
  });

  it('refuses a body over 3 MiB, announced or not, and goes on serving', async () => {
    const shop = await start();
    const large = JSON.stringify(widget('a', { spec: { size: 'x'.repeat(3 * 1024 * 1024) } }));
    expect((await shop.call('POST', collection, large)).status).toBe(413);
    const chunked = await new Promise<number>((resolve, reject) => {
      const url = new URL(`${shop.server.url}${collection}`);
      const headers = { authorization: 'Bearer owner-token', 'content-type': 'application/json' };
      const sent = plainRequest(url, { method: 'POST', headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      });
      sent.on('error', reject);
      sent.write(large.slice(0, 2_000_000));
      sent.end(large.slice(2_000_000));
    });
    expect(chunked).toBe(413);
    expect((await shop.call('GET', collection)).status).toBe(200);
  });

  it('generates names until one is free', async () => {
    const suffixes = ['aaaaa', 'aaaaa', 'bbbbb'];
    let uid = 0;
    const randomness = { uid: () => `uid-${uid++}`, nameSuffix: () => suffixes.shift() ?? 'zzzzz' };
    const shop = await start({ randomness });
    const names = [];
    for (let count = 0; count < 2; count++) {
      const { json } = await shop.call('POST', collection, { metadata: { generateName: 'w-' } });
      names.push((json['metadata'] as { name: string }).name);
    }
    expect(names).toEqual(['w-aaaaa', 'w-bbbbb']);
  });

  it('answers 409 when every generated name is taken', async () => {
    let uid = 0;
    const shop = await start({ randomness: { uid: () => `uid-${uid++}`, nameSuffix: () => 'aaaaa' } });
    const make = () => shop.call('POST', collection, { metadata: { generateName: 'w-' } });
    expect((await make()).status).toBe(201);
    const taken = await make();
    expect([taken.status, taken.json['reason']]).toEqual([409, 'AlreadyExists']);
  });
});

describe('the request journal of a server', () => {
  it('counts requests by verb, resource, user and outcome', async () => {
    const shop = await start();
    await shop.call('POST', collection, widget('a'));
    await shop.call('POST', collection, widget('a'));
    await shop.call('GET', `${collection}/a`);
    const { journal } = shop.server;
    expect(journal.count({ verbs: ['create'] })).toBe(2);
    expect(journal.count({ verbs: ['create'], succeeded: true })).toBe(1);
    expect(journal.count({ resource: 'widgets', user: 'owner' })).toBe(3);
    expect(journal.count({ namespace: 'other' })).toBe(0);
    journal.clear();
    expect(journal.count()).toBe(0);
  });

  it('remembers no names from refused requests or unknown resources', async () => {
    const shop = await start();
    const { journal } = shop.server;
    for (let number = 0; number < 20; number++) {
      const namespaced = `/apis/shop.example/v1/namespaces/n${number}`;
      for (const authorization of ['', 'Bearer wrong'])
        await shop.call('GET', `${namespaced}/widgets`, undefined, { authorization });
      await shop.call('GET', `${namespaced}/widgets${number}`);
      await shop.call('GET', `/apis/g${number}/v1/namespaces/n${number}/things`);
      await shop.call('GET', `/path${number}`);
    }
    expect(journal.count()).toBe(100);
    expect(journal.count({ namespace: 'n7' })).toBe(0);
    expect(journal.count({ resource: 'widgets', namespace: 'other' })).toBe(40);
    expect(journal.count({ resource: 'other', namespace: 'other' })).toBe(40);
    expect(journal.size).toBeLessThan(10);
  });

  it('remembers a bounded number of combinations, and still counts all requests', () => {
    const journal = new RequestJournal();
    const common = { group: '', resource: 'pods', subresource: '', name: '', path: '/', userAgent: '', durationMs: 0 };
    for (let number = 0; number < 15_000; number++) {
      const namespace = `n${number}${'x'.repeat(number % 100)}`;
      const record = { ...common, verb: 'list', namespace, user: 'owner', code: 200 } as const;
      journal.add(record, { isServed: true, isAllowed: true });
    }
    expect(journal.count()).toBe(15_000);
    expect(journal.count({ namespace: 'other' })).toBeGreaterThan(12_000);
    expect(journal.size).toBeLessThan(2_100);
  });
});

describe('faults that a test injects', () => {
  const faulty = async (interception: Interception) =>
    start({ intercept: (target) => (target.verb === 'create' ? interception : { kind: 'pass' }) });

  it('answers with the given status and does not carry out the request', async () => {
    const shop = await faulty({ kind: 'answer', status: tooManyRequests('too many', 3) });
    const { status, headers } = await shop.call('POST', collection, widget('a'));
    expect([status, headers.get('retry-after')]).toEqual([429, '3']);
    expect((await shop.call('GET', `${collection}/a`)).status).toBe(404);
  });

  it('cuts the connection before the work', async () => {
    const shop = await faulty({ kind: 'cut', handled: false });
    await expect(shop.call('POST', collection, widget('a'))).rejects.toThrow();
    expect((await shop.call('GET', `${collection}/a`)).status).toBe(404);
  });

  it('cuts the connection after the work', async () => {
    const shop = await faulty({ kind: 'cut', handled: true });
    await expect(shop.call('POST', collection, widget('a'))).rejects.toThrow();
    expect((await shop.call('GET', `${collection}/a`)).status).toBe(200);
  });

  it('delays on its own clock', async () => {
    const clock = new VirtualClock();
    const shop = await start({ clock, intercept: () => ({ kind: 'delay', delayMs: 60_000 }) });
    let answered = false;
    const answer = shop.call('GET', collection).then((got) => {
      answered = true;
      return got.status;
    });
    while (clock.pendingTimers < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(answered).toBe(false);
    await clock.advance(60_000);
    expect(await answer).toBe(200);
  });
});

describe('a watch', () => {
  const watch = async (shop: Shop, query: string) => {
    const headers = { authorization: 'Bearer owner-token' };
    const response = await fetch(`${shop.server.url}${collection}?watch=true&${query}`, { headers });
    return new Lines(response.body as ReadableStream<Uint8Array>);
  };
  /** Creates `count` objects with `size` characters each; returns their names. */
  const fill = async (shop: Shop, count: number, size: number): Promise<string[]> => {
    const names = Array.from({ length: count }, (_, index) => `w${index}`);
    for (const name of names) await shop.call('POST', collection, widget(name, { spec: { size: 'x'.repeat(size) } }));
    return names;
  };
  /** Advances past stalledMs and waits until the server has dropped the watch of a client that does not read. */
  const expectLetGo = async ({
    shop,
    clock,
    lines,
  }: {
    shop: Shop;
    clock: VirtualClock;
    lines: Lines;
  }): Promise<void> => {
    expect(shop.server.watchCount).toBe(1);
    await clock.advance(31_000);
    while (shop.server.watchCount > 0) await new Promise((resolve) => setImmediate(resolve));
    await lines.cancel().catch(() => {});
  };

  it('ends cleanly when the server stops', async () => {
    const shop = await start();
    const lines = await watch(shop, 'resourceVersion=0');
    await shop.server.stop();
    expect(await lines.next()).toBeUndefined();
  });

  it('sends bookmarks without changes, and ends at its time', async () => {
    const clock = new VirtualClock();
    const shop = await start({ clock });
    await shop.call('POST', collection, widget('a'));
    const lines = await watch(shop, 'resourceVersion=1&allowWatchBookmarks=true&timeoutSeconds=200');
    await clock.advance(60_000);
    expect(await lines.next()).toMatchObject({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '1' } } });
    await shop.call('POST', '/apis/shop.example/v1/namespaces/other/widgets', widget('b'));
    await clock.advance(60_000);
    expect(await lines.next()).toMatchObject({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '2' } } });
    await clock.advance(80_000);
    while ((await lines.next()) !== undefined);
    expect(shop.server.watchCount).toBe(0);
  });

  it('shows objects that leave the selection as DELETED and objects that enter it as ADDED', async () => {
    const shop = await start();
    const patch = { 'content-type': 'application/merge-patch+json' };
    await shop.call('POST', collection, widget('a', { spec: { size: 'big' } }));
    const lines = await watch(shop, 'resourceVersion=1&fieldSelector=spec.size%3Dbig');
    await shop.call('PATCH', `${collection}/a`, { spec: { size: 'small' } }, patch);
    await shop.call('PATCH', `${collection}/a`, { spec: { tags: ['unseen'] } }, patch);
    await shop.call('PATCH', `${collection}/a`, { spec: { size: 'big' } }, patch);
    await shop.call('DELETE', `${collection}/a`);
    const seen = [];
    for (let count = 0; count < 3; count++) seen.push(await lines.next());
    expect(seen.map((event) => event?.['type'])).toEqual(['DELETED', 'ADDED', 'DELETED']);
    await lines.cancel();
  });

  it('from before the history answers 410 in the stream', async () => {
    const shop = await start();
    for (const name of ['a', 'b', 'c']) await shop.call('POST', collection, widget(name));
    await shop.store.compact(3);
    const lines = await watch(shop, 'resourceVersion=1');
    expect(await lines.next()).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
    expect(await lines.next()).toBeUndefined();
  });

  it('sends a returning client its whole backlog of any length, and every bookmark after the backlog', async () => {
    const clock = new VirtualClock();
    const shop = await start({ clock });
    const names = await fill(shop, 14, 1_000_000);
    const lines = await watch(shop, 'resourceVersion=1&allowWatchBookmarks=true&timeoutSeconds=12');
    await clock.advance(11_000);
    let revision = 1;
    while (revision < names.length) {
      expect(await lines.next()).toMatchObject({
        type: 'ADDED',
        object: { metadata: { name: names[revision], resourceVersion: String(++revision) } },
      });
    }
    await lines.cancel();
  });

  it('of a returning client that does not read its backlog is dropped', async () => {
    const clock = new VirtualClock();
    const shop = await start({ clock });
    await fill(shop, 14, 1_000_000);
    const lines = await watch(shop, 'resourceVersion=1');
    await expectLetGo({ shop, clock, lines });
  });

  it('that has ended is dropped when its client does not read the rest', async () => {
    const clock = new VirtualClock();
    const shop = await start({ clock });
    await fill(shop, 14, 1_000_000);
    const lines = await watch(shop, 'resourceVersion=1&timeoutSeconds=5');
    await clock.advance(6_000);
    await expectLetGo({ shop, clock, lines });
  });

  it('sends the whole state to a slow client', async () => {
    const clock = new VirtualClock();
    const shop = await start({ clock });
    const total = 510;
    await fill(shop, total, 60_000);
    const lines = await watch(shop, 'resourceVersion=0');
    for (let count = 0; count < total; count++) {
      expect(await lines.next()).toMatchObject({ type: 'ADDED' });
      await clock.advance(200);
    }
    await lines.cancel();
  });

  it('of a client that does not read is dropped, and other watches continue', async () => {
    const clock = new VirtualClock();
    const shop = await start({ clock });
    const reading = await watch(shop, 'resourceVersion=0');
    const sleeping = plainRequest(`${shop.server.url}${collection}?watch=true&resourceVersion=0`, {
      headers: { authorization: 'Bearer owner-token' },
    });
    const closed = new Promise<void>((resolve) => {
      sleeping.on('response', (response) => {
        response.pause();
        response.on('close', resolve);
        response.on('error', () => resolve());
      });
      sleeping.on('error', () => resolve());
    });
    sleeping.end();
    while (shop.server.watchCount < 2) await new Promise((resolve) => setImmediate(resolve));
    const large = 'x'.repeat(1_000_000);
    const total = 14;
    for (let count = 0; count < total; count++) {
      await shop.call('POST', collection, widget(`w${count}`, { spec: { size: large } }));
      expect(await reading.next()).toMatchObject({ type: 'ADDED' });
    }
    // The socket takes some of it before the server has to wait.
    for (let count = 0; count < 100 && shop.server.watchCount > 1; count++) {
      await clock.advance(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(shop.server.watchCount).toBe(1);
    sleeping.destroy();
    await closed;
    await reading.cancel();
  });
});

describe('lists', () => {
  it('have pages of one revision, even with writes in between', async () => {
    const shop = await start();
    const names = Array.from({ length: 25 }, (_, index) => `w${String(index).padStart(2, '0')}`);
    for (const name of names) await shop.call('POST', collection, widget(name));
    const seen: string[] = [];
    let token = '';
    do {
      const { json } = await shop.call('GET', `${collection}?limit=10&continue=${encodeURIComponent(token)}`);
      seen.push(...(json['items'] as { metadata: { name: string } }[]).map((item) => item.metadata.name));
      token = (json['metadata'] as { continue?: string }).continue ?? '';
      await shop.call('DELETE', `${collection}/w24`);
      await shop.call('POST', collection, widget(`w05-${seen.length}`));
    } while (token !== '');
    expect(seen).toEqual(names);
  });

  it('longer than one step are complete and in order, as a list and as the state of a watch', async () => {
    const shop = await start();
    const count = 1203;
    for (let index = 0; index < count; index++) {
      const name = `w${String(index).padStart(4, '0')}`;
      const value = JSON.stringify({
        metadata: { name, namespace: 'main', labels: { even: String(index % 2 === 0) } },
      });
      await shop.store.write(`/registry/widgets/main/${name}`, { expect: 0, value });
    }
    const names = (items: unknown) => (items as { metadata: { name: string } }[]).map((item) => item.metadata.name);
    const whole = await shop.call('GET', collection);
    expect(names(whole.json['items'])).toHaveLength(count);
    expect(names(whole.json['items'])).toEqual(names(whole.json['items']).toSorted());
    const half = await shop.call('GET', `${collection}?labelSelector=even%3Dtrue`);
    expect(names(half.json['items'])).toHaveLength(602);
    const headers = { authorization: 'Bearer owner-token' };
    const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const response = await fetch(`${shop.server.url}${collection}?${query}`, { headers });
    const lines = new Lines(response.body as ReadableStream<Uint8Array>);
    for (let index = 0; index < count; index++) expect(await lines.next()).toMatchObject({ type: 'ADDED' });
    expect(await lines.next()).toMatchObject({
      type: 'BOOKMARK',
      object: { metadata: { resourceVersion: String(count) } },
    });
    await lines.cancel();
  });

  it('with a selector fill their pages and contain every match once', async () => {
    const shop = await start();
    for (let index = 0; index < 30; index++) {
      const labels = { third: String(index % 3 === 0) };
      await shop.call('POST', collection, { metadata: { name: `w${String(index).padStart(2, '0')}`, labels } });
    }
    const sizes: number[] = [];
    let token = '';
    do {
      const query = `labelSelector=third%3Dtrue&limit=4&continue=${encodeURIComponent(token)}`;
      const { json } = await shop.call('GET', `${collection}?${query}`);
      sizes.push((json['items'] as unknown[]).length);
      token = (json['metadata'] as { continue?: string }).continue ?? '';
    } while (token !== '');
    expect(sizes).toEqual([4, 4, 2]);
  });
});
