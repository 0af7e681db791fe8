import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer } from 'node:net';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import type { ClusterAccess, Credentials } from '../../../src/cluster/credentials/access.ts';
import type { Connection } from '../../../src/cluster/wire/connection.ts';
import { checkNamespace, checkPermissions, probe } from '../../../src/cluster/wire/probe.ts';
import { toAnswer } from '../../../src/cluster/wire/status-answer.ts';
import { openConnection } from '../../../src/cluster/wire/transport.ts';
import { silentLog } from '../../../src/log.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { type Authority, makeAuthority, type Pem } from '../certificates.ts';
import { ScriptedServer, sendJson, sendStatus } from '../scripted-server.ts';
import { plainCredentials, until } from '../subject.ts';

let clock: VirtualClock;
let server: ScriptedServer;
const closers: (() => Promise<unknown> | unknown)[] = [];

beforeEach(async () => {
  clock = new VirtualClock();
  server = new ScriptedServer();
  await server.listen();
});

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  await server.close();
  expect(clock.pendingTimers).toBe(0);
});

function connect(credentials: Credentials): Connection {
  const connection = openConnection({ name: 'host', credentials, clock, log: silentLog });
  closers.push(() => connection.close());
  return connection;
}

function messageOf(answer: Answer): string {
  return 'message' in answer ? answer.message : answer.kind;
}

const get = (connection: Connection, path = '/api/v1/namespaces/n/endpoints/a') =>
  connection.request({ method: 'GET', path });

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

describe('credentials that change', () => {
  function rotating(server: string, make: () => Partial<ClusterAccess>): Credentials & { reads: number } {
    const plain = plainCredentials(server);
    const credentials = {
      ...plain,
      reads: 0,
      read: async () => {
        credentials.reads++;
        return { ...(await plain.read()), ...make() };
      },
    };
    return credentials;
  }

  test('a 401 makes the transport read the token again and repeat the request once', async () => {
    let token = 'old';
    const credentials = rotating(server.url, () => ({ headers: { authorization: `Bearer ${token}` } }));
    const connection = connect(credentials);
    server.script('read', ({ response }) => {
      token = 'new';
      sendStatus(response, 401, 'Unauthorized', 'expired');
    });
    server.script('read', ({ response }) => sendJson(response, 200, { kind: 'Endpoints' }));
    expect((await get(connection)).kind).toBe('ok');
    expect(server.seen.map((seen) => seen.headers.authorization)).toEqual(['Bearer old', 'Bearer new']);
  });

  test('a 401 is returned at once when there are no newer credentials', async () => {
    const credentials = rotating(server.url, () => ({ headers: { authorization: 'Bearer same' } }));
    server.script('read', ({ response }) => sendStatus(response, 401, 'Unauthorized', 'no'));
    expect((await get(connect(credentials))).kind).toBe('unauthorized');
    expect(server.seen).toHaveLength(1);
  });

  test('files are read once a minute, not at each request', async () => {
    const credentials = rotating(server.url, () => ({}));
    const connection = connect(credentials);
    for (let minute = 0; minute < 3; minute++) {
      for (let i = 0; i < 5; i++) await get(connection);
      await clock.advance(60_000);
    }
    expect(credentials.reads).toBe(3);
  });

  test('many requests run a plugin once, and again shortly before its credential expires', async () => {
    const credentials = rotating(server.url, () => ({
      from: 'plugin',
      expiresAtMs: clock.wallTime().getTime() + 600_000,
    }));
    const connection = connect(credentials);
    await Promise.all(Array.from({ length: 10 }, () => get(connection)));
    await clock.advance(500_000);
    await get(connection);
    expect(credentials.reads).toBe(1);
    await clock.advance(60_000);
    await get(connection);
    expect(credentials.reads).toBe(2);
  });

  test('a failed reading keeps the old credentials', async () => {
    let isBroken = false;
    const credentials = rotating(server.url, () => {
      if (isBroken) throw new Error('half written');
      return { headers: { authorization: 'Bearer good' } };
    });
    const connection = connect(credentials);
    await get(connection);
    isBroken = true;
    await clock.advance(61_000);
    await get(connection);
    expect(server.seen.at(-1)?.headers.authorization).toBe('Bearer good');
  });
});

describe('TLS', () => {
  let ca: Authority;
  let otherCa: Authority;

  beforeAll(async () => {
    ca = await makeAuthority('right');
    otherCa = await makeAuthority('wrong');
  });

  async function tlsServer(pem: Pem, clientCa?: string): Promise<{ url: string; peers: string[]; server: Server }> {
    const peers: string[] = [];
    const server = createServer(
      { ...pem, ...(clientCa === undefined ? {} : { ca: clientCa, requestCert: true }) },
      (request, response) => {
        const peer = (request.socket as import('node:tls').TLSSocket).getPeerCertificate();
        peers.push(String(peer.subject?.CN));
        sendJson(response, 200, { gitVersion: 'v1.36.3' });
      },
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closers.push(() => {
      server.close();
      server.closeAllConnections();
    });
    return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, peers, server };
  }

  function trusting(url: string, tls: Partial<ClusterAccess['tls']>): Credentials {
    const plain = plainCredentials(url);
    return {
      ...plain,
      source: 'kubeconfig "k"',
      read: async () => ({ ...(await plain.read()), tls: { ...(await plain.read()).tls, ...tls } }),
    };
  }

  async function faultOf(credentials: Credentials): Promise<string> {
    const result = await probe(connect(credentials));
    return result.kind === 'faults'
      ? `${result.faults[0]?.code}: ${result.faults[0]?.message} -> ${result.faults[0]?.fix}`
      : 'ok';
  }

  test('the right CA is enough', async () => {
    const { url } = await tlsServer(await ca.issue());
    expect(await faultOf(trusting(url, { ca: ca.cert }))).toBe('ok');
  });

  test('the message about a wrong CA names the origin of the CA', async () => {
    const { url } = await tlsServer(await ca.issue());
    const fault = await faultOf(trusting(url, { ca: otherCa.cert }));
    expect(fault).toContain(`verifying the certificate of "${url}": it is not signed by the CA of kubeconfig "k"`);
    expect(fault).toContain('CLUSTER_UNREACHABLE');
  });

  test('the message about an expired certificate says so', async () => {
    const { url } = await tlsServer(await ca.issue({ ageDays: 10 }));
    expect(await faultOf(trusting(url, { ca: ca.cert }))).toContain('it, or its CA, has expired');
  });

  test('the message about a certificate for another name says so, and tls-server-name helps', async () => {
    const { url } = await tlsServer(await ca.issue({ name: 'other.test' }));
    expect(await faultOf(trusting(url, { ca: ca.cert }))).toContain('it is made out to other names');
    expect(await faultOf(trusting(url, { ca: ca.cert, servername: 'other.test' }))).toBe('ok');
  });

  test('a CA that is no certificate is a fault of the credentials', async () => {
    const { url } = await tlsServer(await ca.issue());
    const fault = await faultOf(
      trusting(url, { ca: '-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----' }),
    );
    expect(fault).toContain('CLUSTER_UNREACHABLE');
  });

  test('TLS to a plain server and plain HTTP to a TLS server are distinguished from a server that is down', async () => {
    expect(await faultOf(trusting(server.url.replace('http:', 'https:'), {}))).toContain('speaking TLS with');
    const { url } = await tlsServer(await ca.issue());
    expect(await faultOf(plainCredentials(url.replace('https:', 'http:')))).toMatch(
      /CLUSTER_(UNREACHABLE|NOT_KUBERNETES)/,
    );
  });

  test('the proxy of the kubeconfig carries all requests, and certificates are checked end to end', async () => {
    const { url } = await tlsServer(await ca.issue());
    const asked: string[] = [];
    const proxy = createHttpServer().on('connect', (request, near) => {
      asked.push(request.url ?? '');
      const far = connectTcp(Number(request.url?.split(':')[1]), '127.0.0.1', () => {
        near.write('HTTP/1.1 200 OK\r\n\r\n');
        near.pipe(far);
        far.pipe(near);
      });
      for (const socket of [near, far]) {
        socket.on('error', () => undefined);
        socket.on('close', () => [near, far].forEach((each) => void each.destroy()));
      }
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    closers.push(() => proxy.close());
    const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const { ProxyAgent: Agent } = await import('undici');
    const through = (tls: Partial<ClusterAccess['tls']>, at = proxyUrl): Credentials => {
      const direct = trusting(url, tls);
      return { ...direct, read: async () => ({ ...(await direct.read()), proxy: { url: at, Agent } }) };
    };
    expect(await faultOf(through({ ca: ca.cert }))).toBe('ok');
    expect(asked).toEqual([url.replace('https://', '')]);
    expect(await faultOf(through({ ca: otherCa.cert }))).toContain('it is not signed by the CA');
    expect(await faultOf(through({ ca: ca.cert }, 'http://127.0.0.1:1'))).toContain(
      'by the proxy "http://127.0.0.1:1" of the kubeconfig: connecting to',
    );
  });

  test('a new client certificate is used without a restart', async () => {
    const [first, second] = await Promise.all([ca.issue({ name: 'first' }), ca.issue({ name: 'second' })]);
    const { url, peers } = await tlsServer(await ca.issue(), ca.cert);
    const plain = plainCredentials(url);
    let pem = first;
    const tls = { ca: ca.cert, servername: undefined, rejectUnauthorized: true };
    const connection = connect({
      ...plain,
      read: async () => ({ server: url, proxy: undefined, headers: {}, tls: { ...tls, ...pem }, from: 'files' }),
    });
    await get(connection);
    pem = second;
    await clock.advance(60_001);
    await get(connection);
    await get(connection);
    expect(peers[0]).toBe('first');
    expect(peers.at(-1)).toBe('second');
  });
});

describe('probe()', () => {
  test('returns the version', async () => {
    server.script('read', ({ response }) => sendJson(response, 200, { gitVersion: 'v1.36.3' }));
    expect(await probe(connect(plainCredentials(server.url)))).toEqual({ kind: 'ok', version: 'v1.36.3' });
  });

  test('says that nothing listens', async () => {
    const { url } = server;
    await server.close();
    const result = await probe(connect(plainCredentials(url)));
    expect(result).toMatchObject({
      kind: 'faults',
      faults: [
        {
          code: 'CLUSTER_UNREACHABLE',
          message: `GET /version: connecting to "${url}": connection refused, nothing listens there`,
        },
      ],
    });
  });

  test('says that credentials have expired', async () => {
    server.script('read', ({ response }) => sendStatus(response, 401, 'Unauthorized', 'Unauthorized'));
    const result = await probe(connect(plainCredentials(server.url)));
    expect(result).toMatchObject({
      faults: [
        { code: 'CLUSTER_UNAUTHORIZED', message: expect.stringContaining('the credentials are wrong or have expired') },
      ],
    });
  });

  test('says that a server is not a Kubernetes API server', async () => {
    for (const body of ['{"hello":"world"}', '<html>']) {
      server.script('read', ({ response }) => void response.writeHead(200).end(body));
      const result = await probe(connect(plainCredentials(server.url)));
      expect(result).toMatchObject({ faults: [{ code: 'CLUSTER_NOT_KUBERNETES' }] });
    }
  });

  test('says that a mail server does not speak HTTP', async () => {
    const tcp = createTcpServer((socket) => void socket.end('220 mail.test ESMTP\r\n'));
    tcp.listen(0, '127.0.0.1');
    await once(tcp, 'listening');
    closers.push(() => tcp.close());
    const result = await probe(connect(plainCredentials(`http://127.0.0.1:${(tcp.address() as AddressInfo).port}`)));
    expect(result).toMatchObject({ faults: [{ message: expect.stringContaining('the answer is not HTTP') }] });
  });
});

describe('checkPermissions()', () => {
  test('names verb, resource and namespace of each missing right, and the rule that grants it', async () => {
    const allowed = (seen: string) => !seen.includes('"verb":"create"') && !seen.includes('leases');
    for (let i = 0; i < 3; i++)
      server.script('write', ({ response }) =>
        sendJson(response, 201, {
          kind: 'SelfSubjectAccessReview',
          status: { allowed: allowed(server.seen.at(-1)?.body ?? '') },
        }),
      );
    const faults = await checkPermissions(connect(plainCredentials(server.url)), [
      { verb: 'list', group: '', resource: 'endpoints', namespace: 'ns' },
      { verb: 'create', group: '', resource: 'endpoints', namespace: 'ns' },
      { verb: 'patch', group: 'coordination.k8s.io', resource: 'leases', namespace: undefined },
    ]);
    expect(faults.map((fault) => `${fault.message} -> ${fault.fix}`)).toEqual([
      'checking rights on the host cluster: not allowed to create endpoints in namespace "ns" -> add to the Role in namespace "ns": apiGroups [""], resources ["endpoints"], verbs ["create"]',
      'checking rights on the host cluster: not allowed to patch leases.coordination.k8s.io in all namespaces -> add to the ClusterRole: apiGroups ["coordination.k8s.io"], resources ["leases"], verbs ["patch"]',
    ]);
  });

  test('reports no fault for a server without access reviews', async () => {
    const permission = { verb: 'list' as const, group: '', resource: 'endpoints', namespace: 'ns' };
    expect(await checkPermissions(connect(plainCredentials(server.url)), [permission])).toEqual([]);
  });
});

describe('checkNamespace()', () => {
  const cases = [
    { name: 'found', status: 200, body: { status: { phase: 'Active' } }, wanted: 'found' },
    { name: 'being deleted', status: 200, body: { status: { phase: 'Terminating' } }, wanted: 'terminating' },
    { name: 'not readable for us', status: 403, body: { kind: 'Status', code: 403 }, wanted: 'unknown' },
    { name: 'missing', status: 404, body: { kind: 'Status', code: 404 }, wanted: 'missing' },
  ];
  for (const { name, status, body, wanted } of cases) {
    test(`a namespace that is ${name}`, async () => {
      server.script('read', ({ response }) => sendJson(response, status, body));
      expect((await checkNamespace(connect(plainCredentials(server.url)), 'ns')).kind).toBe(wanted);
    });
  }
});

describe('a 403 is a missing right or the refusal of one object', () => {
  test.each([
    {
      message: 'endpoints is forbidden: User "u" cannot create resource "endpoints" in API group ""',
      kind: 'forbidden',
    },
    {
      message: 'endpoints "a" is forbidden: User "u" cannot patch resource "endpoints" in API group ""',
      kind: 'forbidden',
    },
    { message: 'forbidden: User "u" cannot get path "/version"', kind: 'forbidden' },
    { message: 'no', kind: 'forbidden' },
    {
      message: 'endpoints "a" is forbidden: exceeded quota: q, requested: count/endpoints=1',
      kind: 'refused',
      reason: 'QuotaExceeded',
    },
    { message: 'admission webhook "w.example.com" denied the request: no', kind: 'refused', reason: 'Forbidden' },
    {
      message: "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
      kind: 'refused',
      reason: 'Forbidden',
    },
    { message: 'endpoints "a" is forbidden: not on this day', kind: 'refused', reason: 'Forbidden' },
  ])('$message: $kind', ({ message, kind, ...rest }) => {
    const body = Buffer.from(
      JSON.stringify({ kind: 'Status', apiVersion: 'v1', code: 403, reason: 'Forbidden', message }),
    );
    const response = {
      status: 403,
      what: 'POST /x',
      method: 'POST',
      server: 's',
      location: undefined,
      retryAfterMs: undefined,
      body,
    };
    expect(toAnswer(response)).toMatchObject({ kind, ...rest });
  });
});
