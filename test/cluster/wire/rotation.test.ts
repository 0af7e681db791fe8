// Credentials that name another CA, server or proxy while a connection is in use.
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ClusterAccess } from '../../../src/cluster/credentials/access.ts';
import type { ClusterConnection } from '../../../src/cluster/wire/connection.ts';
import { RawConnection } from '../../../src/cluster/wire/raw-connection.ts';
import { openConnection } from '../../../src/cluster/wire/transport.ts';
import { type Log, silentLog } from '../../../src/log.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';
import { type Authority, makeAuthority } from '../certificates.ts';
import { sendJson, sendStatus } from '../scripted-server.ts';
import { passing, plainCredentials, until } from '../subject.ts';

const path = '/api/v1/namespaces/kube-system';
const namespace = (uid: string) => ({ kind: 'Namespace', apiVersion: 'v1', metadata: { name: 'kube-system', uid } });

let oldCa: Authority;
let newCa: Authority;
let clock: VirtualClock;
/** What the file says now. */
let named: { server: string; ca: string };
/** Why nothing can be read of it. */
let broken: string | undefined;
let reads: number;
let connection: ClusterConnection;
let logged: string[];
const servers = new Set<Server>();

beforeAll(async () => {
  [oldCa, newCa] = await Promise.all([makeAuthority('old'), makeAuthority('new')]);
});

beforeEach(() => {
  clock = new VirtualClock();
  reads = 0;
  broken = undefined;
  logged = [];
});

afterEach(async () => {
  await connection?.close();
  for (const server of [...servers]) await stop(server);
  expect(clock.pendingTimers).toBe(0);
});

async function serve(
  ca: Authority,
  uid: string | RequestListener,
  port = 0,
): Promise<{ server: Server; url: string; port: number }> {
  const answer: RequestListener =
    typeof uid === 'string' ? (_, response) => sendJson(response, 200, namespace(uid)) : uid;
  const server = createServer(await ca.issue(), answer);
  servers.add(server);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const at = (server.address() as AddressInfo).port;
  return { server, port: at, url: `https://127.0.0.1:${at}` };
}

async function stop(server: Server): Promise<void> {
  servers.delete(server);
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
  // The other side sees that its idle connections are gone.
  await settle(20);
}

const credentials = () => {
  const read = async (): Promise<ClusterAccess> => {
    reads++;
    if (broken !== undefined) throw new Error(broken);
    const { server, ca } = named;
    const tls = { ca, cert: undefined, key: undefined, servername: undefined, rejectUnauthorized: true };
    return { server, proxy: undefined, headers: {}, tls, from: 'files' };
  };
  return { ...plainCredentials(named.server), source: 'kubeconfig "k"', read };
};

function open(): ClusterConnection {
  const note = (_: unknown, message: string) => void logged.push(message);
  const log = { ...silentLog, info: note, error: note, warn: note, child: () => log } as unknown as Log;
  connection = openConnection({ name: 'virtual', credentials: credentials(), clock, log });
  return connection;
}

const get = async () => {
  const answer = await connection.request({ method: 'GET', path });
  return answer.kind === 'ok' ? answer.object.metadata.uid : answer.kind;
};

/** A server that the connection has used, and whose uid it knows. */
async function used(): Promise<Awaited<ReturnType<typeof serve>>> {
  const first = await serve(oldCa, 'ours');
  named = { server: first.url, ca: oldCa.cert };
  open();
  expect(await get()).toBe('ours');
  connection.pin({ path, uid: 'ours' });
  return first;
}

describe('a new CA', () => {
  test('that the file names already is taken by the very request that meets the new certificate', async () => {
    const { server, port } = await used();
    named.ca = newCa.cert;
    await stop(server);
    await serve(newCa, 'ours', port);
    expect(await get()).toBe('ours');
    expect(connection.address.takenAt).toBeDefined();
    expect(logged.join()).toContain('another CA');
  });

  test('that the file names later is taken within two seconds, and those who wait are told', async () => {
    const { server, port } = await used();
    await stop(server);
    await serve(newCa, 'ours', port);
    let told = 0;
    connection.subscribe(() => told++);
    expect(await get()).toBe('failed');
    await clock.advance(20_000);
    expect([told, reads]).toEqual([0, expect.any(Number)]);
    expect(reads).toBeLessThan(15);
    named.ca = newCa.cert;
    expect(await passing(clock, () => told > 0, { stepMs: 100 })).toBeLessThanOrEqual(2_000);
    expect(await get()).toBe('ours');
  });

  test('of another cluster at the same address is not taken', async () => {
    const { server, port } = await used();
    named.ca = newCa.cert;
    await stop(server);
    await serve(newCa, 'theirs', port);
    expect(await get()).toBe('failed');
    expect(connection.address.isInDoubt).toBe(true);
  });
});

describe('a new server', () => {
  test('that shows the same uid is taken after a refused connection, at once', async () => {
    const { server } = await used();
    const next = await serve(newCa, 'ours');
    named = { server: next.url, ca: newCa.cert };
    await stop(server);
    expect(await get()).toBe('ours');
    expect(connection.server).toBe(next.url);
    expect(connection.address).toMatchObject({ server: next.url, notTaken: undefined, isInDoubt: false });
    expect(connection.address.takenAt).toBeDefined();
  });

  test('is taken while the old one still answers: within a minute, or when somebody asks for it', async () => {
    const { url } = await used();
    const next = await serve(oldCa, 'ours');
    named.server = next.url;
    expect(await get()).toBe('ours');
    expect(connection.server).toBe(url);
    await connection.reread();
    await get();
    expect(connection.server).toBe(next.url);
  });

  test('ends the streams to the old one', async () => {
    const hold: RequestListener = (request, response) =>
      request.url?.includes('watch') === true
        ? response.writeHead(200).flushHeaders()
        : sendJson(response, 200, namespace('ours'));
    const first = await serve(oldCa, hold);
    named = { server: first.url, ca: oldCa.cert };
    open();
    await get();
    connection.pin({ path, uid: 'ours' });
    let isOpen = false;
    const request = { path: '/api/v1/endpoints?watch=1', headersTimeoutMs: 5_000, silenceMs: 60_000 };
    const stream = connection.stream(request, { opened: () => (isOpen = true), data: () => undefined });
    await until(() => isOpen);
    named.server = (await serve(oldCa, hold)).url;
    await connection.reread();
    await get();
    expect((await stream.ended).kind).toBe('broken');
  });

  const strangers: { name: string; answer: string | RequestListener; words: string }[] = [
    { name: 'another cluster', answer: 'theirs', words: 'has the uid theirs, wanted ours' },
    {
      name: 'a server that does not show the namespace',
      answer: (_, response) => sendStatus(response, 403, 'Forbidden', 'User "u" cannot get resource "namespaces"'),
      words: 'has not proved to be the same cluster',
    },
    {
      name: 'a cluster without it',
      answer: (_, response) => sendStatus(response, 404, 'NotFound', 'namespaces "kube-system" not found'),
      words: 'has not proved to be the same cluster',
    },
    {
      name: 'something else that has the uid',
      answer: (_, response) => sendJson(response, 200, { ...namespace('ours'), kind: 'Pod' }),
      words: 'has the uid none',
    },
  ];
  test.each(strangers)(
    'that is $name is not taken, and nothing may be written until the file is right',
    async ({ answer, words }) => {
      const { url } = await used();
      const stranger = await serve(oldCa, answer);
      named.server = stranger.url;
      await connection.reread();
      expect(await get()).toBe('ours');
      expect(connection.server).toBe(url);
      const { notTaken, isInDoubt } = connection.address;
      expect(isInDoubt).toBe(true);
      expect(notTaken).toContain(`kubeconfig "k" names the server ${stranger.url}, which`);
      expect(notTaken).toContain(words);
      expect(logged.filter((line) => line.includes(words))).toHaveLength(1);
      await clock.advance(30_000);
      expect(logged.filter((line) => line.includes(words))).toHaveLength(1);
      named.server = url;
      await passing(clock, () => !connection.address.isInDoubt, { stepMs: 100, limitMs: 3_000 });
      expect(connection.address.notTaken).toBeUndefined();
    },
  );

  test('that cannot be reached yet leaves the old one in use for half a minute, and is taken when it comes', async () => {
    const { url } = await used();
    const next = await serve(oldCa, 'ours');
    await stop(next.server);
    named.server = next.url;
    await connection.reread();
    expect(connection.address).toMatchObject({
      server: url,
      isInDoubt: false,
      notTaken: expect.stringContaining('refused'),
    });
    await clock.advance(20_000);
    expect(connection.address.isInDoubt).toBe(false);
    await clock.advance(15_000);
    expect(connection.address.isInDoubt).toBe(true);
    await serve(oldCa, 'ours', next.port);
    await passing(clock, () => connection.address.takenAt !== undefined, { stepMs: 100, limitMs: 3_000 });
    expect(await get()).toBe('ours');
    expect(connection.address).toMatchObject({ server: next.url, isInDoubt: false });
  });

  test('that was another cluster stays one while it is silent', async () => {
    const { url } = await used();
    const stranger = await serve(oldCa, 'theirs');
    named.server = stranger.url;
    await connection.reread();
    await stop(stranger.server);
    await connection.reread();
    expect(connection.address).toMatchObject({ isInDoubt: true, notTaken: expect.stringContaining('refused') });
    named.server = url;
    await connection.reread();
    expect(connection.address).toMatchObject({ isInDoubt: false, notTaken: undefined });
  });

  test('is told by what the file says now, through every change of it', async () => {
    const { url } = await used();
    const [one, other] = [await serve(oldCa, 'theirs'), await serve(oldCa, 'others')];
    const told = async () => {
      await connection.reread();
      const { notTaken = '', isInDoubt, isUnread } = connection.address;
      return { notTaken, isInDoubt, isUnread };
    };
    named.server = one.url;
    expect((await told()).notTaken).toContain(`kubeconfig "k" names the server ${one.url}, which is another cluster`);
    broken = 'reading kubeconfig "k": no YAML';
    expect(await told()).toEqual({
      notTaken: expect.stringMatching(/^reading kubeconfig "k": no YAML; before that kubeconfig "k" named the server /),
      ...{ isInDoubt: true, isUnread: true },
    });
    broken = undefined;
    named.server = other.url;
    const { notTaken, isUnread } = await told();
    expect(notTaken).toContain(`kubeconfig "k" names the server ${other.url}, which is another cluster`);
    expect([notTaken.includes(one.url), notTaken.includes('no YAML'), isUnread]).toEqual([false, false, false]);
    named.server = url;
    expect(await told()).toEqual({ notTaken: '', isInDoubt: false, isUnread: false });
  });

  test('or nothing that can be read is told when that lasts, and no longer than it lasts', async () => {
    await used();
    broken = 'reading kubeconfig "k": no such file';
    await connection.reread();
    expect(connection.address.notTaken).toBeUndefined();
    await clock.advance(5_000);
    expect(connection.address).toMatchObject({
      notTaken: 'reading kubeconfig "k": no such file; what was read before stays in use',
      ...{ isUnread: true, isInDoubt: false },
    });
    expect(await get()).toBe('ours');
    broken = undefined;
    await passing(clock, () => connection.address.notTaken === undefined, { stepMs: 100, limitMs: 3_000 });
  });

  test('is not taken when the uid could not be read at the start', async () => {
    await used();
    connection.pin({ path, uid: undefined });
    named.server = (await serve(oldCa, 'ours')).url;
    await connection.reread();
    expect(connection.address).toMatchObject({ isInDoubt: true, notTaken: expect.stringContaining('is not known') });
  });

  test('is taken without a proof before anything was read', async () => {
    const first = await serve(oldCa, 'typo');
    named = { server: first.url, ca: oldCa.cert };
    open();
    await get();
    named.server = (await serve(oldCa, 'meant')).url;
    await connection.reread();
    expect(await get()).toBe('meant');
  });
});

test('a raw connection reads its files at once when the certificate is wrong, and follows the server', async () => {
  const { server } = await serve(oldCa, 'ours');
  const { port } = server.address() as AddressInfo;
  named = { server: `https://127.0.0.1:${port}`, ca: oldCa.cert };
  const raw = new RawConnection({ name: 'x', credentials: credentials(), clock, log: silentLog });
  const status = async () => {
    const answer = await raw.send({ method: 'GET', path, headers: [], body: undefined } as never).answered;
    if (answer.kind !== 'response') return answer.kind;
    answer.response.resume();
    return answer.response.statusCode;
  };
  expect(await status()).toBe(200);
  await stop(server);
  await serve(newCa, 'ours', port);
  named.ca = newCa.cert;
  expect(await status()).toBe(200);
  named.server = (await serve(newCa, 'ours')).url;
  for (const one of [...servers].slice(0, -1)) await stop(one);
  expect(await status()).toBe(200);
  raw.close();
});
