import { describe, expect, test } from 'vitest';
import type { WindowChange } from '../../../../src/cluster/window/window.ts';
import { settle } from '../../../virtual-clock.ts';
import { sendStatus } from '../../scripted-server.ts';
import { passing, until } from '../../subject.ts';
import {
  changes,
  clock,
  expectAlive,
  lists,
  metrics,
  server,
  setUp,
  synced,
  value,
  warnings,
  watching,
  window,
} from './stage.ts';

setUp();

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

  test('a plain 404, and a server that lists no groups: a stranger answers, and the list is tried again', async () => {
    server.script('list', ({ response }) => void response.writeHead(404).end('404 page not found'));
    window.start();
    await passing(clock, () => window.trouble !== undefined);
    expect(window.trouble).toMatchObject({ isUnserved: false });
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

test('a server that was set back during an outage has lost no write but one of ours', async () => {
  await synced();
  const own = structuredClone(server.objects.get('default/a')) as unknown as { metadata: object };
  const resourceVersion = String(server.rv + 1);
  window.remember({ ...own, metadata: { ...own.metadata, name: 'ours', resourceVersion } } as never);
  expect(window.has('default/ours')).toBe(true);
  server.endWatches('reset');
  await passing(clock, () => !window.has('default/ours'), { stepMs: 100, limitMs: 10_000 });
  await expectAlive(3);
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
