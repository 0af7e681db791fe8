import { beforeEach, describe, expect, test } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import type { ApiRequest, Connection } from '../../../src/cluster/wire/connection.ts';
import { endpointsResource } from '../../../src/cluster/wire/scope.ts';
import { openWriter, type WriterOptions } from '../../../src/cluster/write/open-writer.ts';
import { silentLog } from '../../../src/log.ts';
import { createMetrics, type Metrics } from '../../../src/metrics.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';

let clock: VirtualClock;
let metrics: Metrics;
let sent: { request: ApiRequest; atMs: number; answer(answer: Answer): void }[];

const ok: Answer = { kind: 'ok', status: 200, object: { metadata: {} } };
const place = { namespace: 'ns', name: 'a/b' };

const connection: Connection = {
  name: 'host',
  server: 'https://host',
  request: (request) =>
    new Promise((resolve) => {
      if (request.handle !== undefined) {
        request.handle.abort = () =>
          resolve({ kind: 'failed', status: undefined, retryAfterMs: undefined, message: 'given up' });
      }
      sent.push({ request, atMs: clock.now(), answer: resolve });
    }),
  stream: () => {
    throw new Error('a writer needs no stream');
  },
  subscribe: () => () => undefined,
  close: async () => undefined,
};

beforeEach(() => {
  clock = new VirtualClock();
  metrics = createMetrics();
  sent = [];
});

function makeWriter(options: Partial<WriterOptions> = {}) {
  return openWriter({
    connection,
    clock,
    random: () => 0,
    log: silentLog,
    metrics,
    permit: () => true,
    fieldManager: 'hostward',
    ...options,
  });
}

test('each verb sends the request that the API defines', async () => {
  const writer = makeWriter();
  void writer.get(endpointsResource, place);
  void writer.create(endpointsResource, { apiVersion: 'v1', metadata: { name: 'a', namespace: 'ns' } });
  void writer.patch(endpointsResource, place, { metadata: { uid: 'u', resourceVersion: '7' } });
  void writer.remove(endpointsResource, place, { uid: 'u', resourceVersion: '7' });
  expect(sent.map(({ request }) => [request.method, request.path, request.contentType, request.body])).toEqual([
    ['GET', '/api/v1/namespaces/ns/endpoints/a%2Fb', undefined, undefined],
    [
      'POST',
      '/api/v1/namespaces/ns/endpoints?fieldManager=hostward',
      'application/json',
      '{"apiVersion":"v1","metadata":{"name":"a","namespace":"ns"}}',
    ],
    [
      'PATCH',
      '/api/v1/namespaces/ns/endpoints/a%2Fb?fieldManager=hostward',
      'application/merge-patch+json',
      '{"metadata":{"uid":"u","resourceVersion":"7"}}',
    ],
    [
      'DELETE',
      '/api/v1/namespaces/ns/endpoints/a%2Fb',
      'application/json',
      '{"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background","preconditions":{"uid":"u","resourceVersion":"7"}}',
    ],
  ]);
});

describe('the permit', () => {
  test('is asked for when a write is about to leave, not when the write is queued', async () => {
    let isLeading = true;
    const writer = makeWriter({ permit: () => isLeading, maxInFlight: 1 });
    void writer.patch(endpointsResource, place, {});
    const second = writer.patch(endpointsResource, place, {});
    isLeading = false;
    sent[0]?.answer(ok);
    expect(await second).toEqual({ kind: 'notSent', reason: 'noLease' });
    expect(sent).toHaveLength(1);
  });

  test('is passed to the transport, which asks again when the first byte leaves', () => {
    const permit = () => true;
    void makeWriter({ permit }).patch(endpointsResource, place, {});
    expect(sent[0]?.request.permit).toBe(permit);
  });

  test('is not needed to read', async () => {
    void makeWriter({ permit: () => false }).get(endpointsResource, place);
    expect(sent).toHaveLength(1);
  });
});

describe('the limit of requests in flight', () => {
  test('begins with 8, and the other requests follow in order as answers arrive', async () => {
    const writer = makeWriter();
    for (let i = 0; i < 20; i++) void writer.patch(endpointsResource, { namespace: 'ns', name: `n${i}` }, {});
    expect(sent).toHaveLength(8);
    expect(writer.inFlight).toBe(8);
    for (let i = 0; i < 20; i++) {
      sent[i]?.answer(ok);
      await settle(1);
    }
    expect(sent.map(({ request }) => /n\d+/.exec(request.path)?.[0])).toEqual(
      Array.from({ length: 20 }, (_, i) => `n${i}`),
    );
  });

  async function serve(rounds: number, latency: (inFlight: number) => number): Promise<number> {
    const writer = makeWriter();
    let answered = 0;
    for (let i = 0; i < 64; i++) void writer.patch(endpointsResource, place, {});
    for (let round = 0; round < rounds; round++) {
      const batch = sent.slice(answered);
      answered = sent.length;
      for (let i = 0; i < batch.length; i++) void writer.patch(endpointsResource, place, {});
      await clock.advance(latency(batch.length));
      for (const each of batch) each.answer(ok);
      await settle(1);
    }
    return writer.inFlight;
  }

  test('grows to its maximum on a server whose answers stay fast', async () => {
    expect(await serve(200, () => 5)).toBe(32);
  });

  test('stays below its maximum on a server that each additional request makes slower', async () => {
    const inFlight = await serve(200, (count) => count * count);
    expect(inFlight).toBeGreaterThanOrEqual(4);
    expect(inFlight).toBeLessThanOrEqual(28);
  });
});

describe('a server that pushes back', () => {
  test('429 with Retry-After holds every write for that time and halves the limit', async () => {
    const writer = makeWriter();
    for (let i = 0; i < 12; i++) void writer.patch(endpointsResource, place, {});
    await clock.advance(100);
    sent[0]?.answer({ kind: 'throttled', retryAfterMs: 3_000, message: 'slow' });
    for (const each of sent.slice(1, 8)) each.answer(ok);
    await clock.advance(2_999);
    expect(sent).toHaveLength(8);
    await clock.advance(1);
    expect(sent).toHaveLength(12);
    expect(await metrics.metrics()).toMatch(/hostward_requests_in_flight_limit\{cluster="host"\} 4/);
  });

  test('429 without Retry-After holds every write for a second', async () => {
    const writer = makeWriter({ maxInFlight: 1 });
    void writer.patch(endpointsResource, place, {});
    void writer.patch(endpointsResource, place, {});
    sent[0]?.answer({ kind: 'throttled', retryAfterMs: undefined, message: 'slow' });
    await clock.advance(999);
    expect(sent).toHaveLength(1);
    await clock.advance(1);
    expect(sent).toHaveLength(2);
  });
});

test('maxWritesPerSecond limits the writes without a burst and without a loss', async () => {
  const writer = makeWriter({ maxWritesPerSecond: 10 });
  const answers = Array.from({ length: 30 }, () => writer.patch(endpointsResource, place, {}));
  for (let tenth = 0; tenth < 40; tenth++) {
    await clock.advance(100);
    for (const each of sent) each.answer(ok);
    await settle(1);
    expect(sent.length).toBeLessThanOrEqual(2 + tenth);
  }
  expect(sent).toHaveLength(30);
  await Promise.all(answers);
});

test('maxWritesPerSecond is for writes alone: a read takes nothing of it', async () => {
  const writer = makeWriter({ maxWritesPerSecond: 1 });
  for (let nth = 0; nth < 5; nth++) void writer.get(endpointsResource, place);
  void writer.patch(endpointsResource, place, {});
  expect(sent.map(({ request }) => request.method)).toEqual(['GET', 'GET', 'GET', 'GET', 'GET', 'PATCH']);
});

test('a waiting write that nobody wants any more is not sent, and takes nothing of the write rate', async () => {
  const writer = makeWriter({ maxWritesPerSecond: 1 });
  let isWanted = true;
  const ask = () => isWanted;
  void writer.patch(endpointsResource, place, {});
  const stale = [
    writer.create(endpointsResource, { apiVersion: 'v1', metadata: { name: 'a', namespace: 'ns' } }, ask),
    writer.patch(endpointsResource, place, {}, ask),
    writer.remove(endpointsResource, place, { uid: 'u' }, ask),
  ];
  void writer.patch(endpointsResource, { ...place, name: 'wanted' }, {});
  isWanted = false;
  await clock.advance(1_000);
  expect(await Promise.all(stale)).toEqual(Array(3).fill({ kind: 'notSent', reason: 'noLease' }));
  expect(sent.map(({ request }) => request.path.includes('wanted'))).toEqual([false, true]);
});

test('a write that waits for a pause of the server is not sent when nobody wants it any more', async () => {
  const writer = makeWriter();
  let isWanted = true;
  void writer.patch(endpointsResource, place, {});
  sent[0]?.answer({ kind: 'throttled', retryAfterMs: 5_000, message: 'slow' });
  await settle();
  const stale = writer.patch(endpointsResource, place, {}, () => isWanted);
  isWanted = false;
  await clock.advance(6_000);
  expect(await stale).toMatchObject({ kind: 'notSent' });
  expect(sent).toHaveLength(1);
});

describe('stop()', () => {
  test('sends no new request and answers the waiting ones with notSent', async () => {
    const writer = makeWriter({ maxInFlight: 1 });
    const first = writer.patch(endpointsResource, place, {});
    const second = writer.patch(endpointsResource, place, {});
    const stopped = writer.stop(1_000);
    expect(await second).toEqual({ kind: 'notSent', reason: 'stopped' });
    sent[0]?.answer(ok);
    expect(await first).toEqual(ok);
    await stopped;
    expect(await writer.patch(endpointsResource, place, {})).toEqual({ kind: 'notSent', reason: 'stopped' });
  });

  test('aborts requests that have not finished in time', async () => {
    const writer = makeWriter();
    const first = writer.patch(endpointsResource, place, {});
    const stopped = writer.stop(1_000);
    await clock.advance(1_000);
    await stopped;
    expect((await first).kind).toBe('failed');
  });
});

test('the counter of every verb and outcome starts at zero', async () => {
  const writer = makeWriter();
  const before = await metrics.metrics();
  expect(before.match(/hostward_requests_total\{/g)).toHaveLength(4 * 11);
  expect(before).toContain('hostward_request_seconds_count{cluster="host",verb="patch"} 0');
  const answer = writer.patch(endpointsResource, place, {});
  sent[0]?.answer({ kind: 'conflict', message: 'no' });
  await answer;
  expect(await metrics.metrics()).toContain(
    'hostward_requests_total{cluster="host",verb="patch",outcome="conflict"} 1',
  );
});
