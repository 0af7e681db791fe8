import { describe, expect, test } from 'vitest';
import { objectProblem } from '../../../../src/cluster/window/list-pages.ts';
import { endpointsResource } from '../../../../src/cluster/wire/scope.ts';
import { sendJson, sendStatus } from '../../scripted-server.ts';
import { openTestWindow, passing, until } from '../../subject.ts';
import {
  changes,
  clock,
  connection,
  expectAlive,
  lists,
  metrics,
  server,
  setUp,
  synced,
  value,
  watching,
  window,
} from './stage.ts';

setUp();

test('a first list goes page by page and is shown when it is complete', async () => {
  for (let index = 0; index < 1200; index++) server.put(`n${index}`, { value: index });
  window.start();
  await window.whenSynced();
  expect(server.count('list')).toBe(3);
  expect(window.size).toBe(1202);
  expect(lists).toEqual([{ isFirst: true, count: 1202, removed: [] }]);
  expect(changes).toHaveLength(1202);
});

test('an answer that is not a list is refused with a message', async () => {
  server.script('list', ({ response }) => sendJson(response, 200, { kind: 'Potato' }));
  window.start();
  await until(() => window.trouble !== undefined);
  expect(window.trouble?.message).toBe(
    'listing endpoints in all namespaces: wanted EndpointsList of v1, found Potato of no apiVersion',
  );
});

describe('410', () => {
  test('at connect: one list, and vanished objects are reported as removed', async () => {
    await synced();
    server.endWatches('end');
    server.remove('b');
    server.compact();
    await passing(clock, () => lists.length === 2);
    expect(lists[1]).toEqual({ isFirst: false, count: 1, removed: ['default/b'] });
    await watching();
    await expectAlive(2);
  });

  test('as an event in the stream, twice in a row: the first one is followed by a list at once, the second after a pause', async () => {
    await synced();
    const gone = { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } };
    server.raw(`${JSON.stringify(gone)}\n`);
    const firstMs = await passing(clock, () => lists.length === 2);
    await watching();
    server.raw(`${JSON.stringify(gone)}\n`);
    const secondMs = await passing(clock, () => lists.length === 3);
    expect(firstMs).toBeLessThan(100);
    expect(secondMs).toBeGreaterThanOrEqual(200);
    expect(changes).toEqual([]);
    await watching();
    await expectAlive(3);
  });

  test('on a continue token: the list begins again, and the incomplete list is never shown', async () => {
    for (let index = 0; index < 700; index++) server.put(`n${index}`);
    await synced();
    server.endWatches('end');
    server.rv++;
    server.compact();
    server.script('list', ({ response }) => {
      const item = { metadata: { name: 'ghost', namespace: 'default', uid: 'u', resourceVersion: '1' } };
      const metadata = { resourceVersion: String(server.rv), continue: JSON.stringify([1, 500]) };
      sendJson(response, 200, { apiVersion: 'v1', kind: 'EndpointsList', metadata, items: [item] });
    });
    await passing(clock, () => lists.length === 2);
    expect(lists[1]).toEqual({ isFirst: false, count: 702, removed: [] });
    expect(window.has('default/ghost')).toBe(false);
  });
});

describe('after the restart of an API server that has forgotten its history', () => {
  /** The server is away for as long as a restart takes, and 410 is its first answer. */
  async function restarted(): Promise<void> {
    const { port } = server;
    await server.close();
    await passing(clock, () => window.trouble !== undefined);
    await clock.advance(15_000);
    expect(window.trouble).toMatchObject({ isAnswered: false, message: expect.stringContaining('connection refused') });
    server.put('a', { value: clock.now() });
    server.compact();
    await server.reopen(port);
  }

  test('the first 410 lists at once, restart after restart', async () => {
    await synced();
    for (let round = 1; round <= 3; round++) {
      await restarted();
      await passing(clock, () => server.count('watch') >= 2 * round, { stepMs: 100 });
      const answeredMs = clock.now();
      await passing(clock, () => value('default/a') === server.objects.get('default/a')?.['value']);
      expect(clock.now() - answeredMs).toBeLessThan(500);
      await watching();
    }
    await expectAlive(4);
  });

  test('the first 410 after each cut lists at once, behind a proxy that keeps the heads of quiet watches', async () => {
    await synced();
    const held: { destroy(): void }[] = [];
    const hold = () => server.script('watch', ({ response }) => void held.push(response));
    const expired = () =>
      server.script('watch', ({ response }) => sendStatus(response, 410, 'Expired', 'too old resource version'));
    // Two in a row, as while a server comes back; then a watch of which nothing is seen until the connection is cut.
    [expired, expired, hold].map((script) => script());
    server.endWatches('reset');
    await passing(clock, () => held.length === 1, { stepMs: 100 });
    for (let round = 1; round <= 6; round++) {
      await clock.advance(7_000);
      const before = lists.length;
      [expired, expired, hold].map((script) => script());
      held.at(-1)?.destroy();
      const tookMs = await passing(clock, () => lists.length > before, { stepMs: 100 });
      expect(tookMs).toBeLessThan(1_000);
      await passing(clock, () => held.length === round + 1, { stepMs: 100 });
    }
  });

  test('a server that says 410 for ever is asked less and less often, and its trouble is that of a server that answers', async () => {
    await synced();
    for (let round = 0; round < 10; round++)
      server.script('watch', ({ response }) => sendStatus(response, 410, 'Expired', 'too old resource version'));
    server.endWatches('end');
    const tookMs = await passing(clock, () => server.count('watch') === 11, {
      stepMs: 100,
      what: 'the tenth 410',
    });
    expect(tookMs).toBeGreaterThan(40_000);
    await passing(clock, () => window.trouble?.isAnswered === true);
    await passing(clock, () => server.watches.size === 1, { stepMs: 100 });
  });
});

describe('incomplete lists', () => {
  test('a list that fails between two pages removes no object', async () => {
    for (let index = 0; index < 700; index++) server.put(`n${index}`);
    await synced();
    server.objects.clear();
    server.put('a');
    server.script('list', ({ response }) => {
      const metadata = { resourceVersion: String(server.rv), continue: JSON.stringify([server.rv, 500]) };
      sendJson(response, 200, { apiVersion: 'v1', kind: 'EndpointsList', metadata, items: [] });
    });
    server.script('list', ({ response }) => void response.destroy());
    void window.relist('test').catch(() => undefined);
    await passing(clock, () => window.state === 'retrying');
    expect(window.size).toBe(702);
    expect(changes.filter((change) => change.kind === 'removed')).toEqual([]);
    await passing(clock, () => lists.length === 2);
    expect(window.size).toBe(1);
    expect(lists[1]?.removed).toHaveLength(701);
  });

  const list = { apiVersion: 'v1', kind: 'EndpointsList', metadata: { resourceVersion: '2000' }, items: [] };
  const { items: _, ...withoutItems } = list;
  const ofPod = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'a', uid: 'u', resourceVersion: '2', namespace: 'n' },
  };
  const wrongLists = [
    { name: 'of Pods, and empty', body: { ...list, kind: 'PodList' } },
    { name: 'of another version', body: { ...list, apiVersion: 'v2' } },
    { name: 'without an apiVersion', body: { ...list, apiVersion: undefined } },
    { name: 'without a kind', body: { ...list, kind: undefined } },
    { name: 'of metadata alone', body: { ...list, kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' } },
    { name: 'without items', body: withoutItems },
    { name: 'whose items are null', body: { ...list, items: null } },
    { name: 'with an item of another kind', body: { ...list, items: [ofPod] } },
    {
      name: 'that has more objects and no token',
      body: { ...list, metadata: { resourceVersion: '2000', remainingItemCount: 2 } },
    },
    { name: 'without a resource version', body: { apiVersion: 'v1', kind: 'EndpointsList', metadata: {}, items: [] } },
    {
      name: 'with resource version 0',
      body: { apiVersion: 'v1', kind: 'EndpointsList', metadata: { resourceVersion: '0' }, items: [] },
    },
    {
      name: 'with items that are not an array',
      body: { apiVersion: 'v1', kind: 'EndpointsList', metadata: { resourceVersion: '2' }, items: {} },
    },
    {
      name: 'with an item without a name',
      body: { apiVersion: 'v1', kind: 'EndpointsList', metadata: { resourceVersion: '2' }, items: [{ metadata: {} }] },
    },
    {
      name: 'with an item that is null',
      body: { apiVersion: 'v1', kind: 'EndpointsList', metadata: { resourceVersion: '2' }, items: [null] },
    },
  ];
  for (const { name, body } of wrongLists) {
    test(`a list ${name} is a fault, not an empty cluster`, async () => {
      await synced();
      server.script('list', ({ response }) => sendJson(response, 200, body));
      const relisted = window.relist('test');
      await until(() => window.trouble !== undefined);
      expect(window.size).toBe(2);
      await passing(clock, () => lists.length === 2);
      await relisted;
    });
  }
});

describe('objectProblem()', () => {
  const everywhere = {
    ref: endpointsResource,
    namespace: undefined,
    labelSelector: undefined,
    fieldSelector: undefined,
  };
  const scope = { ...everywhere, namespace: 'asked' };
  const object = (namespace?: string) => ({
    metadata: { name: 'a', uid: 'u', resourceVersion: '2', ...(namespace !== undefined && { namespace }) },
  });
  test.each([
    ['asked', scope, undefined],
    ['another', scope, 'is not in the namespace "asked" that was asked for'],
    [undefined, scope, 'is not in the namespace "asked" that was asked for'],
    ['another', everywhere, undefined],
  ])('of an object in the namespace %s', (namespace, of, problem) => {
    expect(objectProblem(object(namespace), of)).toBe(problem);
  });
});

describe('relist()', () => {
  test('begins at once and resolves when the list is complete', async () => {
    await synced();
    server.objects.delete('default/b');
    await window.relist('test');
    expect(lists[1]).toEqual({ isFirst: false, count: 1, removed: ['default/b'] });
  });

  test('waits for a list that begins after the call, not for a running list', async () => {
    await synced();
    server.script('list', ({ response }) => {
      const items = [...server.objects.values()].map((object) => structuredClone(object));
      second = window.relist('second').then(() => window.has('default/b'));
      server.objects.delete('default/b');
      sendJson(response, 200, {
        apiVersion: 'v1',
        kind: 'EndpointsList',
        metadata: { resourceVersion: String(server.rv) },
        items,
      });
    });
    let second: Promise<boolean> | undefined;
    await window.relist('first');
    expect(await second).toBe(false);
    expect(server.count('list')).toBe(3);
  });
});

describe('find() asks for one object by its name', () => {
  const about = (name: string, fields: object = {}): object => ({
    kind: 'Endpoints',
    apiVersion: 'v1',
    metadata: { name, namespace: 'default', uid: 'u', resourceVersion: '5' },
    ...fields,
  });
  const missing = (details: object): object => ({
    kind: 'Status',
    apiVersion: 'v1',
    code: 404,
    reason: 'NotFound',
    details,
  });
  test.each([
    { name: 'the object', status: 200, body: about('x'), found: 'found' },
    { name: 'no such object', status: 404, body: missing({ name: 'x' }), found: 'absent' },
    { name: 'no such resource', status: 404, body: missing({}), found: 'unknown' },
    { name: 'a page that is not from Kubernetes', status: 404, body: { error: 'no route' }, found: 'unknown' },
    { name: 'another object', status: 200, body: about('y'), found: 'unknown' },
    { name: 'another kind', status: 200, body: about('x', { kind: 'Pod' }), found: 'unknown' },
    { name: 'a missing right', status: 403, body: missing({ name: 'x' }), found: 'unknown' },
    { name: 'a fault', status: 500, body: { kind: 'Status', code: 500 }, found: 'unknown' },
  ])('$name: $found', async ({ status, body, found }) => {
    server.script('read', ({ response }) => sendJson(response, status, body));
    expect(await window.find('default/x')).toBe(found);
    expect(server.seen.at(-1)?.url.pathname).toBe('/api/v1/namespaces/default/endpoints/x');
  });

  test('an object that the selectors leave out is absent', async () => {
    const selecting = openTestWindow({ connection, clock, metrics, name: 'selecting', labelSelector: 'of=me' });
    server.script('read', ({ response }) => sendJson(response, 200, about('x')));
    expect(await selecting.find('default/x')).toBe('absent');
  });
});
