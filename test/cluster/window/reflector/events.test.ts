import { describe, expect, test } from 'vitest';
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
