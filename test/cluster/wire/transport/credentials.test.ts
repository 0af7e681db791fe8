import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, connect as connectTcp } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ClusterAccess, Credentials } from '../../../../src/cluster/credentials/access.ts';
import { probe } from '../../../../src/cluster/wire/probe.ts';
import { type Authority, makeAuthority, type Pem } from '../../certificates.ts';
import { sendJson, sendStatus } from '../../scripted-server.ts';
import { plainCredentials } from '../../subject.ts';
import { clock, closers, connect, get, server, setUp } from './stage.ts';

setUp();

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

  const token = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
  const sub = 'system:serviceaccount:vcluster-vc:hostward';
  const hour = 3600;
  test.each<[{ sub?: string; exp?: number }, string, string | undefined]>([
    [
      { sub, exp: hour },
      'the token of ServiceAccount "vcluster-vc/hostward" would last until',
      'get serviceaccount hostward',
    ],
    [
      { sub },
      'the token of ServiceAccount "vcluster-vc/hostward" is of another cluster, or the account was deleted',
      '-n vcluster-vc',
    ],
    [{ sub, exp: -hour }, 'the token of ServiceAccount "vcluster-vc/hostward" ended at', 'renew the token'],
    [{ exp: -hour }, 'the token ended at', 'renew the token'],
    [{ exp: hour }, '401 no', undefined],
    [{ sub, exp: 1e300 }, 'is of another cluster, or the account was deleted', 'get serviceaccount'],
  ])('a 401 says what the token %j tells of itself', async ({ exp, ...claims }, says, fix) => {
    const now = clock.wallTime().getTime() / 1000;
    const headers = { authorization: `Bearer ${token({ ...claims, ...(exp && { exp: now + exp }) })}` };
    const connection = connect(rotating(server.url, () => ({ headers })));
    for (let i = 0; i < 2; i++)
      server.script('read', ({ response }) => sendStatus(response, 401, 'Unauthorized', 'no'));
    const answer = await get(connection);
    expect(answer).toMatchObject({ kind: 'unauthorized', message: expect.stringContaining(says) });
    const wanted = expect.stringContaining(fix ?? 'renew the token or the client certificate');
    expect(await probe(connection)).toMatchObject({ faults: [{ fix: wanted }] });
    server.script('watch', ({ response }) => sendStatus(response, 401, 'Unauthorized', 'no'));
    const sink = { chunk: () => {} } as never;
    const watched = connection.stream(
      { path: '/api/v1/endpoints?watch=1', accept: 'application/json', silenceMs: 1000 } as never,
      sink,
    );
    expect(await watched.ended).toMatchObject({ kind: 'answered', answer: { message: expect.stringContaining(says) } });
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
