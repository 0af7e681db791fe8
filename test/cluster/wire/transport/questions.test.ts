import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { checkNamespace, checkPermissions, probe } from '../../../../src/cluster/wire/probe.ts';
import { toAnswer } from '../../../../src/cluster/wire/status-answer.ts';
import { sendJson, sendStatus } from '../../scripted-server.ts';
import { plainCredentials } from '../../subject.ts';
import { closers, connect, server, setUp } from './stage.ts';

setUp();

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

describe('probe()', () => {
  test.each([
    ['', 'let the user read /version, as system:discovery does'],
    [
      '/some/path/',
      'take /some/path off its server in the kubeconfig, unless a proxy wants it there; else let the user',
    ],
  ])('says of a server with the path "%s" that forbids what to mend', async (path, fix) => {
    server.script('read', ({ response }) => sendJson(response, 403, { kind: 'Status', code: 403 }));
    const found = await probe(connect(plainCredentials(`${server.url}${path}`)));
    expect(found).toMatchObject({ kind: 'faults', faults: [{ fix: expect.stringContaining(fix) }] });
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
