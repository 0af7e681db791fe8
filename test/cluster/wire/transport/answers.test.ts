import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { Answer } from '../../../../src/cluster/answer.ts';
import { openConnection } from '../../../../src/cluster/wire/transport.ts';
import { silentLog } from '../../../../src/log.ts';
import { sendJson, sendStatus } from '../../scripted-server.ts';
import { plainCredentials, until } from '../../subject.ts';
import { clock, closers, connect, get, server, setUp } from './stage.ts';

setUp();

function messageOf(answer: Answer): string {
  return 'message' in answer ? answer.message : answer.kind;
}

describe('answers', () => {
  const cases: {
    status: number;
    reason?: string;
    method?: 'POST' | 'PATCH';
    headers?: Record<string, string>;
    wanted: Partial<Answer>;
  }[] = [
    { status: 400, reason: 'BadRequest', wanted: { kind: 'refused', status: 400, reason: 'BadRequest' } },
    { status: 401, reason: 'Unauthorized', wanted: { kind: 'unauthorized' } },
    { status: 403, reason: 'Forbidden', wanted: { kind: 'forbidden', namespaceTerminating: false } },
    { status: 404, reason: 'NotFound', wanted: { kind: 'notFound' } },
    { status: 409, reason: 'Conflict', wanted: { kind: 'conflict' } },
    { status: 409, reason: 'AlreadyExists', method: 'POST', wanted: { kind: 'alreadyExists' } },
    { status: 410, reason: 'Expired', wanted: { kind: 'gone' } },
    { status: 413, reason: 'RequestEntityTooLarge', wanted: { kind: 'refused', status: 413 } },
    { status: 422, reason: 'Invalid', wanted: { kind: 'refused', status: 422, reason: 'Invalid' } },
    {
      status: 429,
      reason: 'TooManyRequests',
      headers: { 'retry-after': '3' },
      wanted: { kind: 'throttled', retryAfterMs: 3000 },
    },
    { status: 500, reason: 'InternalError', wanted: { kind: 'failed', status: 500 } },
    {
      status: 503,
      reason: 'ServiceUnavailable',
      headers: { 'retry-after': '1' },
      wanted: { kind: 'failed', status: 503, retryAfterMs: 1000 },
    },
  ];
  for (const { status, reason = '', method = 'PATCH', headers = {}, wanted } of cases) {
    test(`${method} answered ${status} ${reason} is ${wanted.kind}`, async () => {
      const script = () =>
        server.script('write', ({ response }) => sendStatus(response, status, reason, 'the words', headers));
      script();
      script();
      const path = method === 'POST' ? '/api/v1/namespaces/n/endpoints' : '/api/v1/namespaces/n/endpoints/a';
      const answer = await connect(plainCredentials(server.url)).request({ method, path, body: '{}' });
      expect(answer).toMatchObject(wanted);
      expect(messageOf(answer)).toContain('the words');
    });
  }

  test('a terminating namespace is distinguished from a missing right', async () => {
    server.script('write', ({ response }) =>
      sendJson(response, 403, {
        kind: 'Status',
        code: 403,
        reason: 'Forbidden',
        details: { causes: [{ reason: 'NamespaceTerminating' }] },
      }),
    );
    const request = { method: 'POST' as const, path: '/api/v1/namespaces/n/endpoints', body: '{}' };
    expect(await connect(plainCredentials(server.url)).request(request)).toMatchObject({
      kind: 'forbidden',
      namespaceTerminating: true,
    });
  });

  const strangers: { name: string; status: number; body: string; headers?: Record<string, string>; words: string }[] = [
    {
      name: 'HTML with 200',
      status: 200,
      body: '<html><body>Welcome</body></html>',
      words: 'beginning "<html><body>Welcome</body></html>"',
    },
    {
      name: 'HTML with 404',
      status: 404,
      body: '<html>nginx</html>',
      words: 'the answer is not from a Kubernetes API server',
    },
    { name: 'plain 404', status: 404, body: '404 page not found', words: 'beginning "404 page not found"' },
    {
      name: 'JSON 404 without a Status',
      status: 404,
      body: '{"error":"no"}',
      words: 'the answer is not from a Kubernetes API server',
    },
    {
      name: 'a redirect',
      status: 302,
      body: '',
      headers: { location: 'https://login.test/' },
      words: 'it redirects (302) to "https://login.test/"',
    },
  ];
  for (const { name, status, body, headers = {}, words } of strangers) {
    test(`${name} is a failure in words, never "not found"`, async () => {
      server.script('read', ({ response }) => void response.writeHead(status, headers).end(body));
      const answer = await get(connect(plainCredentials(server.url)));
      expect(answer.kind).toBe('failed');
      expect(messageOf(answer)).toContain(words);
    });
  }
});

describe('deadlines', () => {
  test('a missing answer is a failure after 30 s, and its connection is not used again', async () => {
    let closed = false;
    server.script('read', ({ request }) => void request.socket.on('close', () => (closed = true)));
    const answer = get(connect(plainCredentials(server.url)));
    await until(() => server.seen.length === 1);
    await clock.advance(30_000);
    expect(messageOf(await answer)).toContain('no complete answer within 30 s');
    await until(() => closed, 'the socket to close');
  });

  test('an answer that arrives byte by byte is a failure too', async () => {
    server.script('read', ({ response }) => void response.writeHead(200).write('{"kind":'));
    const answer = get(connect(plainCredentials(server.url)));
    await until(() => server.seen.length === 1);
    for (let second = 0; second < 31; second++) await clock.advance(1_000);
    expect((await answer).kind).toBe('failed');
  });

  test('an answer over the size limit is refused, not stored', async () => {
    server.script('read', ({ response }) => sendJson(response, 200, { big: 'x'.repeat(5_000) }));
    const path = '/api/v1/namespaces/n/endpoints/a';
    const answer = await connect(plainCredentials(server.url)).request({ method: 'GET', path, maxBytes: 1_000 });
    expect(answer).toMatchObject({ kind: 'refused', reason: 'AnswerTooLong' });
  });

  test('an answer that is cut at any place is a failure', async () => {
    const full = Buffer.from(
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\r\n{"kind":"Endpoints"}',
    );
    let cut = 0;
    const tcp = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(full.subarray(0, cut)));
    });
    tcp.listen(0, '127.0.0.1');
    await once(tcp, 'listening');
    closers.push(() => tcp.close());
    const connection = connect(plainCredentials(`http://127.0.0.1:${(tcp.address() as AddressInfo).port}`));
    for (cut = 0; cut < full.length; cut += 7) expect((await get(connection)).kind).toBe('failed');
    cut = full.length;
    expect((await get(connection)).kind).toBe('ok');
  });
});

test('a request is not sent when its permit ends before the first byte leaves', async () => {
  const tcp = createTcpServer(() => undefined);
  tcp.listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  closers.push(() => tcp.close());
  let isLeading = true;
  const path = '/api/v1/namespaces/n/endpoints/a';
  const request = connect(plainCredentials(server.url)).request({ method: 'DELETE', path, permit: () => isLeading });
  isLeading = false;
  expect(await request).toEqual({ kind: 'notSent', reason: 'noLease' });
  expect(server.seen).toHaveLength(0);
});

test('the path of the server URL precedes every request path', async () => {
  await get(connect(plainCredentials(`${server.url}/k8s/clusters/c-1/`)), '/version');
  expect(server.seen[0]?.url.pathname).toBe('/k8s/clusters/c-1/version');
});

test('a repeated warning is logged once', async () => {
  const lines: unknown[] = [];
  const log = { ...silentLog, warn: (fields: unknown) => lines.push(fields) } as unknown as typeof silentLog;
  const connection = openConnection({ name: 'host', credentials: plainCredentials(server.url), clock, log });
  closers.push(() => connection.close());
  for (let i = 0; i < 3; i++) {
    server.script('read', ({ response }) =>
      sendJson(response, 200, {}, { warning: '299 - "Endpoints is deprecated"' }),
    );
    await get(connection);
  }
  expect(lines).toEqual([{ cluster: 'host', warning: 'Endpoints is deprecated' }]);
});
