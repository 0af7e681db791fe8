import { request as plainRequest } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { Interception } from '../../../../src/apiserver/chain/chain.ts';
import { RequestJournal } from '../../../../src/apiserver/request/request-journal.ts';
import { tooManyRequests } from '../../../../src/object/meta/status.ts';
import { VirtualClock } from '../../../virtual-clock.ts';
import { startShop } from '../../shop/shop-of-test.ts';
import { collection, widget } from '../../shop/widgets.ts';

describe('a server of one invented kind', () => {
  it('stores an object with defaults and with the metadata that only the server sets', async () => {
    const shop = await startShop();
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
    const shop = await startShop();
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
    const shop = await startShop();
    const { status, json } = await shop.call('POST', collection, widget('a', { spec: { size: 'huge' } }));
    expect(status).toBe(422);
    expect(json).toMatchObject({
      reason: 'Invalid',
      message: 'Widget.shop.example "a" is invalid: spec.size: Invalid value: "huge": does not fit',
    });
  });

  it('lets a subresource compute an answer from an object', async () => {
    const shop = await startShop();
    await shop.call('POST', collection, widget('a'));
    const { status, json } = await shop.call('POST', `${collection}/a/paint`, { spec: { colour: 'red' } });
    expect(status).toBe(201);
    expect(json).toMatchObject({ kind: 'Paint', spec: { colour: 'red' }, status: { of: 'a' } });
  });

  it('finds objects by a selectable field of the kind', async () => {
    const shop = await startShop();
    await shop.call('POST', collection, widget('a', { spec: { size: 'big' } }));
    await shop.call('POST', collection, widget('b'));
    const { json } = await shop.call('GET', `${collection}?fieldSelector=spec.size%3Dbig`);
    expect((json['items'] as { metadata: { name: string } }[]).map((item) => item.metadata.name)).toEqual(['a']);
  });

  it.each(['constructor', '__proto__', '__defineGetter__'])(
    'knows no field that every object has: %s',
    async (field) => {
      const shop = await startShop();
      await shop.call('POST', collection, widget('a'));
      const { status, json } = await shop.call('GET', `${collection}?fieldSelector=${field}%3Dx`);
      expect([status, json['message']]).toEqual([400, `field label not supported: ${field}`]);
    },
  );

  it.each(['constructor', '__proto__'])(
    'refuses a subresource named like a member of every JavaScript object: %s',
    async (name) => {
      const shop = await startShop();
      await shop.call('POST', collection, widget('a'));
      expect((await shop.call('GET', `${collection}/a/${name}`)).status).toBe(404);
    },
  );

  it('serves only paths below its prefix', async () => {
    const shop = await startShop({ pathPrefix: '/kubernetes/shop' });
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
      const shop = await startShop();
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
    const shop = await startShop({
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
    const shop = await startShop();
    await shop.call('POST', collection, widget('one'));
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE', 'POST'])
      for (const path of ['one/status/deeper', 'one/nothing/a/b', 'one/status/a/b/c'])
        expect((await shop.call(method, `${collection}/${path}`, method === 'GET' ? undefined : {})).status).toBe(404);
    expect((await shop.call('GET', `${collection}/one`)).status).toBe(200);
  });

  it('runs admission before a create, an update and a delete', async () => {
    const asked: string[] = [];
    const shop = await startShop({ admission: [({ operation, name }) => void asked.push(`${operation} ${name}`)] });
    await shop.call('POST', collection, widget('a'));
    await shop.call('PUT', `${collection}/a`, widget('a', { spec: { size: 'big' } }));
    await shop.call('DELETE', `${collection}/a`);
    expect(asked).toEqual(['create a', 'update a', 'delete a']);
  });

  it('refuses a body over 3 MiB, announced or not, and goes on serving', async () => {
    const shop = await startShop();
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
    const shop = await startShop({ randomness });
    const names = [];
    for (let count = 0; count < 2; count++) {
      const { json } = await shop.call('POST', collection, { metadata: { generateName: 'w-' } });
      names.push((json['metadata'] as { name: string }).name);
    }
    expect(names).toEqual(['w-aaaaa', 'w-bbbbb']);
  });

  it('answers 409 when every generated name is taken', async () => {
    let uid = 0;
    const shop = await startShop({ randomness: { uid: () => `uid-${uid++}`, nameSuffix: () => 'aaaaa' } });
    const make = () => shop.call('POST', collection, { metadata: { generateName: 'w-' } });
    expect((await make()).status).toBe(201);
    const taken = await make();
    expect([taken.status, taken.json['reason']]).toEqual([409, 'AlreadyExists']);
  });
});

describe('the request journal of a server', () => {
  it('counts requests by verb, resource, user and outcome', async () => {
    const shop = await startShop();
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
    const shop = await startShop();
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
    startShop({ intercept: (target) => (target.verb === 'create' ? interception : { kind: 'pass' }) });

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
    const shop = await startShop({ clock, intercept: () => ({ kind: 'delay', delayMs: 60_000 }) });
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
