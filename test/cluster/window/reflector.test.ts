import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Window, WindowChange } from '../../../src/cluster/window/window.ts';
import type { Connection } from '../../../src/cluster/wire/connection.ts';
import { type Log, silentLog } from '../../../src/log.ts';
import { createMetrics, type Metrics } from '../../../src/metrics.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';
import { ScriptedServer, sendJson, sendStatus } from '../scripted-server.ts';
import { connectTo, openTestWindow, passing, type TestItem, until } from '../subject.ts';

let server: ScriptedServer;
let clock: VirtualClock;
let connection: Connection;
let window: Window<TestItem>;
let metrics: Metrics;
let changes: WindowChange[];
let warnings: string[];
let lists: { isFirst: boolean; count: number; removed: readonly string[] }[];

beforeEach(async () => {
  server = new ScriptedServer();
  await server.listen();
  clock = new VirtualClock();
  metrics = createMetrics();
  connection = connectTo(server.url, clock);
  changes = [];
  lists = [];
  warnings = [];
  const warn = (fields: { trouble?: string }) => void warnings.push(fields.trouble ?? '');
  const log = { ...silentLog, warn, child: () => log } as unknown as Log;
  window = openTestWindow({ connection, clock, metrics, log });
  window.subscribe({ changed: (change) => changes.push(change), listed: (list) => lists.push(list) });
  server.put('a', { value: 1 });
  server.put('b', { value: 1 });
});

afterEach(async () => {
  await window.stop();
  await connection.close();
  await server.close();
  expect(clock.pendingTimers).toBe(0);
});

const value = (key: string) => window.get(key)?.value;
const watching = () => until(() => server.watches.size === 1 && window.state === 'watching', 'a watch');

async function synced(): Promise<void> {
  window.start();
  await window.whenSynced();
  await watching();
  changes.length = 0;
}

/** Proves that the window works: it shows a new change, and made only the expected number of lists. */
async function expectAlive(expectedLists: number): Promise<void> {
  server.put('a', { value: 'alive' });
  await passing(clock, () => value('default/a') === 'alive', { what: 'the update after the fault' });
  expect(server.count('list')).toBe(expectedLists);
}

describe('the eight faults that kill the stock informer', () => {
  test('regular end: the watch resumes from its last version, without a list', async () => {
    await synced();
    server.endWatches('end');
    await expectAlive(1);
    expect(server.seen.at(-1)?.url.searchParams.get('resourceVersion')).toBe('1002');
  });

  test('TCP reset: the watch resumes without a list', async () => {
    await synced();
    server.endWatches('reset');
    await expectAlive(1);
  });

  for (const code of [500, 429, 401]) {
    test(`watch answered ${code} once: the watch is tried again`, async () => {
      server.script('watch', ({ response }) => sendStatus(response, code, 'Whatever', 'no'));
      window.start();
      await passing(clock, () => server.watches.size === 1);
      await expectAlive(1);
    });
  }

  test('first list answered 500: the list is tried again', async () => {
    server.script('list', ({ response }) => sendStatus(response, 500, 'InternalError', 'no'));
    window.start();
    await passing(clock, () => window.hasSynced);
    await expectAlive(2);
  });

  test('stream cut in the middle of a line: the half line is not applied, and later changes arrive', async () => {
    await synced();
    server.raw('{"type":"MODIFIED","object":{"kind":"Endpoints","metadata":{"name":"a"');
    server.endWatches('reset');
    await expectAlive(1);
    expect(changes).toEqual([{ key: 'default/a', kind: 'set', origin: 'watch' }]);
  });

  test('one corrupt complete line: a list finds the change that the line may have held', async () => {
    await synced();
    server.objects.delete('default/b');
    server.raw('{"type":"DELETED","object":{"metada%%%\n');
    await passing(clock, () => lists.length === 2);
    expect(changes).toEqual([{ key: 'default/b', kind: 'removed', origin: 'list' }]);
    await watching();
    await expectAlive(2);
    expect(await metrics.metrics()).toContain('reason="fault"} 1');
  });

  test('listener throws: the stream and the other listeners continue', async () => {
    window.subscribe({
      changed() {
        throw new Error('a bug');
      },
    });
    window.subscribe({ changed: async () => Promise.reject(new Error('another bug')) });
    const after: WindowChange[] = [];
    window.subscribe({ changed: (change) => after.push(change) });
    await synced();
    await expectAlive(1);
    expect(after.at(-1)).toEqual({ key: 'default/a', kind: 'set', origin: 'watch' });
    expect(await metrics.metrics()).toContain(
      'hostward_window_listener_errors_total{cluster="virtual",resource="endpoints"} 6',
    );
  });

  test('resourceVersion rollback: the state of two agreeing lists is accepted', async () => {
    server.rv = 1200;
    server.put('late', { value: 1 });
    await synced();
    server.endWatches('end');
    server.rv = 1000;
    server.history = [];
    server.objects.clear();
    server.put('a', { value: 'restored' });
    await passing(clock, () => server.watches.size === 1);
    server.bookmark();
    await passing(clock, () => lists.length === 2);
    expect([...window.keys()]).toEqual(['default/a']);
    expect(value('default/a')).toBe('restored');
    await watching();
    await expectAlive(3);
  });
});

describe('silence', () => {
  test('a list that never answers is given up after its deadline and tried again', async () => {
    server.script('list', () => undefined);
    window.start();
    await until(() => server.seen.length === 1);
    const tookMs = await passing(clock, () => window.hasSynced, { stepMs: 500 });
    expect(tookMs).toBeLessThan(62_000);
    await expectAlive(2);
  });

  test('a dead connection is detected 75 s after the last byte, and the watch resumes without a list', async () => {
    await synced();
    server.bookmark();
    await settle(20);
    const dead = [...server.watches];
    server.watches.clear();
    server.put('b', { value: 'missed' });
    const tookMs = await passing(clock, () => value('default/b') === 'missed', { stepMs: 500 });
    expect(dead).toHaveLength(1);
    expect(tookMs).toBeGreaterThanOrEqual(75_000);
    expect(tookMs).toBeLessThanOrEqual(77_000);
    expect(server.count('list')).toBe(1);
    expect(warnings).toEqual([expect.stringContaining('no byte for 75 s')]);
  });

  const pass = async (seconds: number): Promise<void> => {
    const endMs = clock.now() + seconds * 1000;
    await passing(clock, () => clock.now() >= endMs, { stepMs: 1_000 });
  };
  const watches = () => server.count('watch');

  test('a quiet watch whose first bookmark takes two minutes, as after a server start, is not cut', async () => {
    await synced();
    await pass(120);
    for (let minute = 0; minute < 3; minute++) {
      server.bookmark();
      await pass(62);
    }
    expect([watches(), warnings, server.count('list')]).toEqual([1, [], 1]);
    await expectAlive(1);
  });

  test('a server that never sends a bookmark gets a new watch now and then, without a warning', async () => {
    await synced();
    await pass(600);
    expect(watches()).toBeGreaterThan(1);
    expect(watches()).toBeLessThanOrEqual(5);
    expect([warnings, server.count('list')]).toEqual([[], 1]);
    await expectAlive(1);
  });

  test('a connection that dies before its first bookmark is replaced after 150 s', async () => {
    await synced();
    server.watches.clear();
    server.put('b', { value: 'missed' });
    const tookMs = await passing(clock, () => value('default/b') === 'missed', { stepMs: 500 });
    expect(tookMs).toBeGreaterThanOrEqual(150_000);
    expect(tookMs).toBeLessThanOrEqual(153_000);
    expect(server.count('list')).toBe(1);
  });

  test.each([false, true])(
    'a server that freezes is an outage within 45 s (had it sent a bookmark: %s)',
    async (had) => {
      await synced();
      if (had) server.bookmark();
      await settle(20);
      for (let time = 0; time < 9; time++) server.script('list', () => undefined);
      await pass(24);
      expect([watches(), warnings, window.trouble]).toEqual([1, [], undefined]);
      await pass(20);
      expect(warnings).toEqual([expect.stringContaining('no complete answer within 15 s')]);
      expect(window.trouble?.message).toContain('no complete answer');
      server.scripts.length = 0;
      await passing(clock, () => watches() === 2 && window.state === 'watching', { stepMs: 500 });
      await expectAlive(1);
    },
  );

  test('a server that went back in time during a silent watch is detected', async () => {
    await synced();
    server.rv = 900;
    server.history = [];
    await pass(77);
    expect(warnings[0]).toBe('the server sent resource version 900 after 1002');
  });
});

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

describe('requests of the server', () => {
  const cases = [
    { header: '7', atLeastMs: 7_000, atMostMs: 9_000 },
    { header: 'Thu, 01 Jan 2026 00:00:09 GMT', atLeastMs: 8_500, atMostMs: 11_000 },
    { header: '86400', atLeastMs: 60_000, atMostMs: 62_000 },
    { header: '0', atLeastMs: 100, atMostMs: 2_000 },
    { header: 'soon', atLeastMs: 100, atMostMs: 2_000 },
    { header: '-5', atLeastMs: 100, atMostMs: 2_000 },
  ];
  for (const sort of ['list', 'watch'] as const) {
    for (const { header, atLeastMs, atMostMs } of cases) {
      test(`a ${sort} answered 429 with Retry-After "${header}" is repeated after that time, not earlier`, async () => {
        const reply = { 'retry-after': header };
        server.script(sort, ({ response }) => sendStatus(response, 429, 'TooManyRequests', 'slow down', reply));
        window.start();
        await until(() => window.state === 'retrying');
        const tookMs = await passing(clock, () => server.count(sort) === 2, { stepMs: 100 });
        expect(tookMs).toBeGreaterThanOrEqual(atLeastMs);
        expect(tookMs).toBeLessThanOrEqual(atMostMs);
      });
    }
  }

  test('a busy server is not asked about a silent watch again before the time that it names', async () => {
    await synced();
    const reply = { 'retry-after': '60' };
    server.script('list', ({ response }) => sendStatus(response, 429, 'TooManyRequests', 'slow down', reply));
    const asked = () => server.seen.filter(({ url }) => url.searchParams.get('limit') === '1').length;
    await passing(clock, () => asked() === 1, { stepMs: 500 });
    expect(await passing(clock, () => asked() === 2, { stepMs: 500 })).toBeGreaterThanOrEqual(60_000);
    expect(server.watches.size).toBe(1);
  });

  test('an ERROR event that is not 410 costs no list', async () => {
    await synced();
    server.raw(`${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 500, message: 'etcd' } })}\n`);
    await passing(clock, () => window.trouble !== undefined);
    expect(window.trouble?.message).toBe('the watch reports: etcd');
    await passing(clock, () => server.watches.size === 1);
    expect(window.trouble).toBeUndefined();
    await expectAlive(1);
  });
});

test('a lost right keeps the cached objects and is reported', async () => {
  await synced();
  for (const sort of ['watch', 'watch'] as const)
    server.script(sort, ({ response }) => sendStatus(response, 403, 'Forbidden', 'endpoints is forbidden'));
  server.endWatches('end');
  await passing(clock, () => window.trouble !== undefined);
  expect(window.trouble?.message).toContain('endpoints is forbidden');
  expect(window.size).toBe(2);
  await passing(clock, () => server.watches.size === 1);
  await expectAlive(1);
});

describe('versions', () => {
  test('a watch resumes from the last bookmark', async () => {
    await synced();
    server.rv = 5000;
    server.bookmark();
    await until(() => window.lastHeardMs >= 0 && server.watches.size === 1);
    server.endWatches('end');
    await passing(clock, () => server.count('watch') === 2);
    expect(server.seen.at(-1)?.url.searchParams.get('resourceVersion')).toBe('5000');
  });

  test('a server that never sends bookmarks is watched again and again after one list', async () => {
    await synced();
    for (let round = 0; round < 4; round++) {
      await passing(clock, () => server.count('watch') === round + 2, { stepMs: 1_000 });
      await until(() => server.watches.size >= 1);
    }
    await expectAlive(1);
  });

  test('a server restored to an older state is detected after a silence, although it accepted the watch', async () => {
    server.rv = 1200;
    server.put('late');
    await synced();
    server.endWatches('end');
    server.rv = 1000;
    server.history = [];
    server.objects.delete('default/late');
    await passing(clock, () => lists.length === 2, { stepMs: 1_000 });
    expect(window.has('default/late')).toBe(false);
  });

  test('a server that comes back in an older state is detected at once', async () => {
    server.rv = 1200;
    server.put('late');
    await synced();
    server.script('list', ({ response }) => sendJson(response, 403, { kind: 'Status', status: 'Failure', code: 403 }));
    server.rv = 1000;
    server.history = [];
    server.objects.delete('default/late');
    server.endWatches('reset');
    const sinceMs = clock.now();
    await passing(clock, () => !window.has('default/late'), { stepMs: 100 });
    expect(clock.now() - sinceMs).toBeLessThan(5_000);
  });

  test('a repeated event has no effect', async () => {
    await synced();
    const object = server.put('a', { value: 2 });
    for (let copy = 0; copy < 5; copy++) server.raw(`${JSON.stringify({ type: 'MODIFIED', object })}\n`);
    await expectAlive(1);
    expect(changes).toHaveLength(2);
  });

  test('an event out of order is never shown, and a list settles the state', async () => {
    await synced();
    const old = structuredClone(server.put('a', { value: 'old' }));
    server.put('a', { value: 'new' });
    await until(() => value('default/a') === 'new');
    server.raw(`${JSON.stringify({ type: 'MODIFIED', object: old })}\n`);
    await passing(clock, () => lists.length === 2);
    expect(value('default/a')).toBe('new');
  });

  test('a single list older than the known version is not accepted', async () => {
    await synced();
    server.script('list', ({ response }) =>
      sendJson(response, 200, {
        apiVersion: 'v1',
        kind: 'EndpointsList',
        metadata: { resourceVersion: '7' },
        items: [],
      }),
    );
    const relisted = window.relist('test');
    await passing(clock, () => lists.length === 2);
    await relisted;
    expect(window.size).toBe(2);
    expect(changes).toEqual([]);
  });
});

test('a server that closes every watch at once gets one watch a second', async () => {
  window.start();
  await window.whenSynced();
  for (let round = 0; round < 5; round++) server.script('watch', ({ response }) => void response.writeHead(200).end());
  const tookMs = await passing(clock, () => server.watches.size === 1);
  expect(tookMs).toBeGreaterThanOrEqual(4_900);
  expect(server.count('watch')).toBeLessThanOrEqual(6);
  await expectAlive(1);
});

test('a server that answers only with errors is asked less and less often, and soon after its recovery', async () => {
  for (let round = 0; round < 12; round++)
    server.script('list', ({ response }) => sendStatus(response, 503, 'ServiceUnavailable', 'no'));
  window.start();
  const tookMs = await passing(clock, () => window.hasSynced, { stepMs: 200 });
  expect(tookMs).toBeGreaterThan(100_000);
  expect(tookMs).toBeLessThan(12 * 30_000);
  expect(window.trouble).toBeUndefined();
});

describe('after a long outage the first success resets the backoff', () => {
  /** Refuses the credentials until the backoff has grown to its maximum. */
  async function lockedOut(): Promise<void> {
    await synced();
    const denials = 10;
    for (let round = 0; round < denials; round++)
      server.script('watch', ({ response }) => sendStatus(response, 401, 'Unauthorized', 'who are you'));
    server.endWatches('reset');
    await passing(clock, () => server.count('watch') === 1 + denials, { stepMs: 200 });
  }

  test('a lost history is followed by a list at once', async () => {
    await lockedOut();
    server.put('a', { value: 'meanwhile' });
    server.compact();
    await passing(clock, () => server.count('watch') >= 12, { stepMs: 200 });
    expect(await passing(clock, () => value('default/a') === 'meanwhile')).toBeLessThan(500);
    await watching();
    await expectAlive(2);
  });

  test('a watch that is cut soon after its start is soon opened again', async () => {
    await lockedOut();
    await passing(clock, () => server.watches.size === 1, { stepMs: 200 });
    server.endWatches('reset');
    expect(await passing(clock, () => server.watches.size === 1)).toBeLessThan(1_000);
    await expectAlive(1);
  });

  test('a complete list resets the backoff of the failed lists before it', async () => {
    for (let round = 0; round < 10; round++)
      server.script('list', ({ response }) => sendStatus(response, 401, 'Unauthorized', 'who are you'));
    server.script('watch', ({ response }) => sendStatus(response, 500, 'InternalError', 'no'));
    window.start();
    await passing(clock, () => window.hasSynced, { stepMs: 200 });
    expect(await passing(clock, () => server.watches.size === 1)).toBeLessThan(1_000);
    await expectAlive(11);
  });

  test('but watches that are always cut at their start are opened less and less often', async () => {
    await synced();
    const cuts = 8;
    for (let round = 0; round < cuts; round++)
      server.script('watch', ({ response }) => {
        response.writeHead(200).flushHeaders();
        response.socket?.destroySoon();
      });
    server.endWatches('reset');
    expect(await passing(clock, () => server.count('watch') === 2 + cuts, { stepMs: 100 })).toBeGreaterThan(40_000);
    await watching();
    await expectAlive(1);
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

describe('a malformed line in the stream is a fault and is followed by a list', () => {
  const good =
    '{"type":"ADDED","object":{"kind":"Endpoints","apiVersion":"v1","metadata":{"name":"x","namespace":"n","uid":"u","resourceVersion":"9999"}}}';
  const lines: Record<string, string | Buffer> = {
    'a byte order mark': `\ufeff${good}`,
    'a NUL': `\0${good}`,
    'broken UTF-8': Buffer.concat([
      Buffer.from(good.slice(0, 60)),
      Buffer.from([0xc3, 0x28]),
      Buffer.from(good.slice(60)),
    ]),
    'an array': '[1]',
    'a null object': '{"type":"ADDED","object":null}',
    'an unknown type': good.replace('ADDED', 'RENAMED'),
    'another kind': good.replace('Endpoints', 'Secret'),
    'no kind': good.replace('"kind":"Endpoints",', ''),
    'another version': good.replace('"v1"', '"v2"'),
    'no apiVersion': good.replace('"apiVersion":"v1",', ''),
    'metadata alone': good.replace('Endpoints', 'PartialObjectMetadata').replace('v1', 'meta.k8s.io/v1'),
    'no version': good.replace('"9999"', '""'),
    'a word for a version': good.replace('9999', 'newest'),
    'no uid': good.replace('"uid":"u",', ''),
    'a line longer than any object': 'x'.repeat(4 * 1024 * 1024 + 10),
  };
  for (const [name, line] of Object.entries(lines)) {
    test(name, async () => {
      await synced();
      server.raw(line);
      server.raw('\n');
      await passing(clock, () => lists.length === 2);
      expect(window.has('n/x')).toBe(false);
      await watching();
      await expectAlive(2);
    });
  }
});

test('a text arrives unchanged, whatever the sizes of the chunks', async () => {
  await synced();
  const text = 'Grüße, 世界, 🚀';
  for (const size of [1, 2, 3, 7, 64]) {
    server.rv++;
    const metadata = { name: 'a', namespace: 'default', uid: 'uid-1', resourceVersion: String(server.rv) };
    const event = {
      type: 'MODIFIED',
      object: { apiVersion: 'v1', kind: 'Endpoints', metadata, value: `${text} ${size}` },
    };
    const bytes = Buffer.from(`${JSON.stringify(event)}\n`);
    for (const watch of server.watches) (watch.response.socket as import('node:net').Socket).setNoDelay(true);
    for (let at = 0; at < bytes.length; at += size) server.raw(bytes.subarray(at, at + size));
    await until(() => value('default/a') === `${text} ${size}`);
  }
  expect(server.count('list')).toBe(1);
});

test('ten thousand events at once do not block the event loop', async () => {
  await synced();
  const lines: string[] = [];
  for (let index = 0; index < 10_000; index++) {
    server.rv++;
    const metadata = { name: `n${index}`, namespace: 'default', uid: `u${index}`, resourceVersion: String(server.rv) };
    lines.push(`${JSON.stringify({ type: 'ADDED', object: { apiVersion: 'v1', kind: 'Endpoints', metadata } })}\n`);
  }
  let turns = 0;
  const count = () => {
    turns++;
    if (window.size < 10_000) setImmediate(count);
  };
  server.raw(lines.join(''));
  setImmediate(count);
  await until(() => window.size === 10_002);
  expect(turns).toBeGreaterThanOrEqual(5);
  expect(changes).toHaveLength(10_000);
});

describe('own writes', () => {
  const written = (rv: number, fields: Record<string, unknown>, uid = 'uid-1') => ({
    metadata: { name: 'a', namespace: 'default', uid, resourceVersion: String(rv) },
    ...fields,
  });

  test('are shown at once, and older events of that key are ignored', async () => {
    await synced();
    window.remember(written(1010, { value: 'mine' }));
    expect(value('default/a')).toBe('mine');
    server.put('a', { value: 'older' });
    server.put('b', { value: 'seen' });
    await until(() => value('default/b') === 'seen');
    expect(value('default/a')).toBe('mine');
  });

  test('are not reported again when the watch repeats them', async () => {
    await synced();
    const own = server.put('a', { value: 'mine' });
    window.remember(own);
    server.put('b', { value: 'seen' });
    await until(() => value('default/b') === 'seen');
    expect(changes).toEqual([{ key: 'default/b', kind: 'set', origin: 'watch' }]);
  });

  const line = (rv: number, rest: string, head: { kind?: string; namespace?: string; type?: string } = {}): string => {
    const { kind = 'Endpoints', namespace = 'default', type = 'MODIFIED' } = head;
    const names = `"name":"a","namespace":"${namespace}","uid":"uid-1","resourceVersion":"${rv}"`;
    server.rv = Math.max(server.rv, rv);
    return `{"type":"${type}","object":{"kind":"${kind}","apiVersion":"v1","metadata":{${names}}${rest}\n`;
  };
  const lists = () => server.count('list');

  test('are recognised by the first bytes of their event', async () => {
    await synced();
    window.remember(written(1010, { value: 'mine' }));
    // The rest is not JSON, so parsing the whole line would end the watch.
    server.raw(line(1010, ',oh no'));
    server.endWatches('end');
    await passing(clock, () => server.watches.size === 1);
    expect(server.seen.at(-1)?.url.searchParams.get('resourceVersion')).toBe('1010');
    expect(changes).toEqual([]);
    expect(value('default/a')).toBe('mine');
    expect(lists()).toBe(1);
    const told = 'hostward_watch_events_total{cluster="virtual",resource="endpoints",type="MODIFIED"} 1';
    expect(await metrics.metrics()).toContain(told);
    await expectAlive(1);
  });

  test('do not hide a second event on the same line', async () => {
    await synced();
    window.remember(written(1010, { value: 'mine' }));
    server.raw(line(1010, '}}').trimEnd() + line(1011, '}}'));
    await passing(clock, () => lists() > 1 && server.watches.size === 1);
  });

  const notEchoes: { name: string; rv?: number; head?: Parameters<typeof line>[2] }[] = [
    { name: 'at a later version', rv: 1011 },
    { name: 'of another kind', head: { kind: 'Pod' } },
    { name: 'of another object', head: { namespace: 'other' } },
    { name: 'that reports a deletion', head: { type: 'DELETED' } },
    { name: 'that the watch has passed', rv: 1002 },
  ];
  for (const { name, rv = 1010, head } of notEchoes) {
    test(`are distinguished from an event ${name}: the whole event is read, and a list follows the broken text`, async () => {
      await synced();
      window.remember(written(1010, { value: 'mine' }));
      server.raw(line(rv, ',oh no', head));
      await passing(clock, () => lists() > 1 && server.watches.size === 1);
    });
  }

  test('stay removed when another client deleted the object before the answer', async () => {
    await synced();
    const own = server.put('a', { value: 'mine' });
    server.remove('a');
    server.put('b', { value: 'seen' });
    await until(() => value('default/b') === 'seen');
    window.remember(own);
    expect(window.has('default/a')).toBe(false);
  });

  test('outside the selectors stay in the window when a GET has found them', async () => {
    const selecting = openTestWindow({ connection, clock, metrics, name: 'selecting', labelSelector: 'of=me' });
    selecting.start();
    await selecting.whenSynced();
    const found = (name: string, labels: Record<string, string>) => {
      const metadata = { name, namespace: 'default', uid: name, resourceVersion: '7', labels };
      selecting.remember({ metadata });
      return selecting.has(`default/${name}`);
    };
    expect([found('theirs', {}), found('mine', { of: 'me' })]).toEqual([true, false]);
    await selecting.stop();
  });

  test('that delete are shown at once, and late events of the deleted object are ignored', async () => {
    await synced();
    const late = server.put('a', { value: 'late' });
    window.forget('default/a', late.metadata.resourceVersion);
    expect(window.has('default/a')).toBe(false);
    server.put('b', { value: 'seen' });
    await until(() => value('default/b') === 'seen');
    expect(window.has('default/a')).toBe(false);
    server.remove('a');
    server.put('a', { value: 'again' });
    await until(() => value('default/a') === 'again');
  });

  test('survive a list that began before them', async () => {
    await synced();
    const relisted = window.relist('test');
    server.script('list', ({ response }) => {
      const items = [...server.objects.values()].map((object) => structuredClone(object));
      const metadata = { resourceVersion: String(server.rv) };
      window.remember(written(1009, { value: 'mine' }));
      window.forget('default/b');
      sendJson(response, 200, { apiVersion: 'v1', kind: 'EndpointsList', metadata, items });
    });
    await relisted;
    expect(value('default/a')).toBe('mine');
    expect(window.has('default/b')).toBe(false);
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

test('stop() ends running requests and rejects all waiting callers', async () => {
  server.script('list', () => undefined);
  window.start();
  await until(() => server.seen.length === 1);
  const waiting = window.whenSynced();
  await window.stop();
  await expect(waiting).rejects.toThrow('the window was stopped before its list was complete');
  expect(window.state).toBe('stopped');
});

test('every metric starts at zero', async () => {
  const text = await metrics.metrics();
  expect(text).toContain('hostward_watch_restarts_total{cluster="virtual",resource="endpoints",reason="rollback"} 0');
  expect(text).toContain('hostward_lists_total{cluster="virtual",resource="endpoints",outcome="ok"} 0');
  expect(text).toContain('hostward_window_objects{cluster="virtual",resource="endpoints"} 0');
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
