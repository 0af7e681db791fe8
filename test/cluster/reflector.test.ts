import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Connection } from '../../src/cluster/connection.ts';
import { openWindow } from '../../src/cluster/open-window.ts';
import type { Window, WindowChange } from '../../src/cluster/window.ts';
import { endpointsResource } from '../../src/cluster/writer.ts';
import { silentLog } from '../../src/log.ts';
import { createMetrics, type Metrics } from '../../src/metrics.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { ScriptedServer, sendJson, sendStatus } from './scripted-server.ts';
import { connectTo, passing, projectTestItem, type TestItem, until } from './subject.ts';

let server: ScriptedServer;
let clock: VirtualClock;
let connection: Connection;
let window: Window<TestItem>;
let metrics: Metrics;
let changes: WindowChange[];
let lists: { isFirst: boolean; count: number; removed: readonly string[] }[];

beforeEach(async () => {
  server = new ScriptedServer();
  await server.listen();
  clock = new VirtualClock();
  metrics = createMetrics();
  connection = connectTo(server.url, clock);
  changes = [];
  lists = [];
  window = openWindow({
    connection,
    ref: endpointsResource,
    project: projectTestItem,
    clock,
    random: () => 0.5,
    log: silentLog,
    metrics,
  });
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

/** The proof that a window lives: a change made now is seen, and no list was needed unless one was expected. */
async function expectAlive(expectedLists: number): Promise<void> {
  server.put('a', { value: 'alive' });
  await passing(clock, () => value('default/a') === 'alive', { what: 'the update after the fault' });
  expect(server.count('list')).toBe(expectedLists);
}

describe('the eight faults that kill the stock informer', () => {
  test('clean end: the watch resumes from where it was, without a list', async () => {
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

  test('stream cut in the middle of a line: nothing half is applied, the rest arrives', async () => {
    await synced();
    server.raw('{"type":"MODIFIED","object":{"kind":"Endpoints","metadata":{"name":"a"');
    server.endWatches('reset');
    await expectAlive(1);
    expect(changes).toEqual([{ key: 'default/a', kind: 'set', origin: 'watch' }]);
  });

  test('one corrupt complete line: what it may have hidden is found by a list', async () => {
    await synced();
    server.objects.delete('default/b');
    server.raw('{"type":"DELETED","object":{"metada%%%\n');
    await passing(clock, () => lists.length === 2);
    expect(changes).toEqual([{ key: 'default/b', kind: 'removed', origin: 'list' }]);
    await watching();
    await expectAlive(2);
    expect(await metrics.metrics()).toContain('reason="fault"} 1');
  });

  test('handler throws: the stream and the other listeners do not notice', async () => {
    window.subscribe({
      changed() {
        throw new Error('a bug');
      },
    });
    const after: WindowChange[] = [];
    window.subscribe({ changed: (change) => after.push(change) });
    await synced();
    await expectAlive(1);
    expect(after.at(-1)).toEqual({ key: 'default/a', kind: 'set', origin: 'watch' });
    expect(await metrics.metrics()).toContain(
      'hostward_window_listener_errors_total{cluster="virtual",resource="endpoints"} 3',
    );
  });

  test('resourceVersion rollback: two lists agree and what they say is believed', async () => {
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

  test('a connection that went dead is found 75 s after the last byte, and resumed without a list', async () => {
    await synced();
    const dead = [...server.watches];
    server.watches.clear();
    server.put('b', { value: 'missed' });
    const tookMs = await passing(clock, () => value('default/b') === 'missed', { stepMs: 500 });
    expect(dead).toHaveLength(1);
    expect(tookMs).toBeGreaterThanOrEqual(75_000);
    expect(tookMs).toBeLessThanOrEqual(77_000);
    expect(server.count('list')).toBe(1);
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

test('a list of another make is refused in words', async () => {
  server.script('list', ({ response }) => sendJson(response, 200, { kind: 'Potato' }));
  window.start();
  await until(() => window.trouble !== undefined);
  expect(window.trouble?.message).toBe('listing endpoints in all namespaces: wanted a list, got "Potato"');
});
