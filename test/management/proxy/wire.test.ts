// What can go wrong between the server and a cluster behind it, and what a client learns of it.
import dns from 'node:dns';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createPlainServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, createServer as createSocketServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { makeServingCertificate, type ServingCertificate } from '../../../src/apiserver/tls/certificates.ts';
import type { Clock } from '../../../src/clock.ts';
import { connectWithinMs, silentAfterMs } from '../../../src/cluster/wire/raw-attempt.ts';
import { type Bench, movedClock, openBench, until } from '../server/bench.ts';
import { type Behind, kubeconfigText, openBehind, placesAt, rawClient, requestText } from './upstream.ts';

const pods = '/kubernetes/cluster/c1/api/v1/namespaces/default/pods';

/** More than the system takes for two sockets whose readers do not read. */
const unreadBytes = 32 * 1024 * 1024;

type Found = (fault: Error | null, addresses: { address: string; family: number }[]) => void;

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  endings.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function behindWith(options: Parameters<typeof openBehind>[0] = {}): Promise<Behind> {
  const behind = await openBehind(options);
  endings.push(() => behind.stop());
  return behind;
}

/** A server with this certificate, and ours with a kubeconfig that trusts `caPem`. */
async function overTls({ certPem, keyPem }: ServingCertificate, caPem: string, more: object = {}) {
  const port = await listening(
    createTlsServer(
      { cert: certPem, key: keyPem, keepAliveTimeout: 1 },
      (_request, response) => void response.end('secure'),
    ),
  );
  const ca = Buffer.from(caPem).toString('base64');
  const server = `https://127.0.0.1:${port}`;
  const text = kubeconfigText(server, 'upstream-secret', { 'certificate-authority-data': ca, ...more });
  return (await benchWith(text)).ask('GET', pods);
}

/** A server of ours whose clusters all have this kubeconfig. */
async function benchWith(kubeconfig: string, clock?: Clock): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-wire-'));
  writeFileSync(join(folder, 'kubeconfig'), kubeconfig);
  const settings = placesAt(join(folder, 'kubeconfig'));
  const bench = await openBench({ settings, ...(clock === undefined ? {} : { clock }) });
  endings.push(async () => {
    await bench.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return bench;
}

const now = new Date();

describe('the certificate of a cluster behind', () => {
  it('is taken when its authority is in the kubeconfig', async () => {
    const pair = await makeServingCertificate('behind', ['127.0.0.1'], now);
    expect(await overTls(pair, pair.caPem)).toMatchObject({ code: 200, text: 'secure' });
  });

  it.each([
    ['has expired', new Date('2001-01-01'), ['127.0.0.1'], {}, /expired/],
    ['is made out to another name', now, ['other.example'], {}, /other names/],
    [
      'does not have the name that the kubeconfig wants',
      now,
      ['127.0.0.1'],
      { 'tls-server-name': 'a.example' },
      /names/,
    ],
  ])('is refused when it %s: 502 that says so', async (_what, at, names, more, says) => {
    const pair = await makeServingCertificate('behind', names, at);
    const answer = await overTls(pair, pair.caPem, more);
    expect(answer).toMatchObject({ code: 502, body: { kind: 'Status', message: expect.stringMatching(says) } });
    expect(answer.text).not.toContain('upstream-secret');
  });

  it('is refused when another authority signed it, wherever the name leads by now (CVE-2020-8562)', async () => {
    const pair = await makeServingCertificate('behind', ['127.0.0.1'], now);
    const other = await makeServingCertificate('other', ['127.0.0.1'], now);
    const answer = await overTls(pair, other.caPem);
    expect(answer).toMatchObject({ code: 502, body: { message: expect.stringMatching(/not signed by the CA/) } });
  });

  it('is asked for at every connection: a name that resolves elsewhere by now gets no request (CVE-2020-8562)', async () => {
    const pair = await makeServingCertificate('behind', ['cluster.example'], now);
    const other = await makeServingCertificate('other', ['cluster.example'], now);
    const seen: string[] = [];
    const serverOf = ({ certPem: cert, keyPem: key }: ServingCertificate, name: string) =>
      createTlsServer({ cert, key }, ({ headers }, response) => {
        seen.push(`${name} ${headers.authorization}`);
        response.writeHead(200, { connection: 'close' }).end(name);
      });
    const port = await listening(serverOf(pair, 'first'));
    const second = serverOf(other, 'second');
    let connections = 0;
    second.on('connection', () => connections++);
    await new Promise<void>((resolve) => second.listen(port, '127.0.0.2', resolve));
    endings.push(() => second.close());
    let address = '127.0.0.1';
    const resolver = vi
      .spyOn(dns, 'lookup')
      .mockImplementation(((_name: string, _options: object, found: Found) =>
        found(null, [{ address, family: 4 }])) as typeof dns.lookup);
    endings.push(() => resolver.mockRestore());
    const ca = Buffer.from(pair.caPem).toString('base64');
    const more = { 'certificate-authority-data': ca };
    const bench = await benchWith(kubeconfigText(`https://cluster.example:${port}`, 'upstream-secret', more));
    expect(await bench.ask('GET', pods)).toMatchObject({ code: 200, text: 'first' });
    address = '127.0.0.2';
    const message = expect.stringMatching(/not signed by the CA/);
    expect(await bench.ask('GET', pods)).toMatchObject({ code: 502, body: { message } });
    expect(connections).toBeGreaterThan(0);
    expect(seen.filter((line) => line.startsWith('second'))).toEqual([]);
  });
});

describe('where a request goes', () => {
  it('is said by the configuration alone, not by Host, a full address, or a node that a client names (CVE-2020-8562)', async () => {
    const behind = await behindWith();
    const alice = await behind.bench.keyFor('alice-key', { user: 'alice', scope: { clusters: [{ cluster: 'c1' }] } });
    let reached = 0;
    const elsewhere = await listening(createSocketServer(() => reached++));
    const lines = [
      `GET http://127.0.0.1:${elsewhere}${pods} HTTP/1.1`,
      `GET ${pods.replace('/namespaces/default/pods', `/nodes/https:127.0.0.1:${elsewhere}/proxy/`)} HTTP/1.1`,
      `GET ${pods}/http:web:${elsewhere}/proxy HTTP/1.1`,
      `CONNECT 127.0.0.1:${elsewhere} HTTP/1.1`,
    ];
    for (const line of lines) {
      const client = await rawClient(behind.bench);
      const host = `X-Forwarded-Host: 127.0.0.1:${elsewhere}`;
      client.write(requestText(line, [`Authorization: Bearer ${alice}`, host, 'Connection: close']));
      await client.closed;
      expect(`${line} ${client.text().slice(9, 10)}`).not.toMatch(/ 2$/);
    }
    expect([reached, behind.seen]).toEqual([0, []]);
  });

  it('goes through the proxy that the kubeconfig names, sessions too', async () => {
    const pair = await makeServingCertificate('behind', ['127.0.0.1'], now);
    const asked: string[] = [];
    const proxy = createPlainServer();
    proxy.on('connect', (request, socket) => {
      asked.push(request.url ?? '');
      const [host, port] = (request.url ?? '').split(':');
      const far = connect(Number(port), host, () => {
        socket.write('HTTP/1.1 200 Connected\r\n\r\n');
        socket.pipe(far);
        far.pipe(socket);
      });
      for (const one of [socket, far]) one.on('error', () => one.destroy());
    });
    const proxyPort = await listening(proxy);
    const upstream = createTlsServer({ cert: pair.certPem, key: pair.keyPem }, (request, response) => {
      response.end(`secure ${request.url}`);
    });
    upstream.on('upgrade', (_request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhi');
      socket.on('error', () => undefined);
    });
    const port = await listening(upstream);
    const more = {
      'certificate-authority-data': Buffer.from(pair.caPem).toString('base64'),
      'proxy-url': `http://127.0.0.1:${proxyPort}`,
    };
    const bench = await benchWith(kubeconfigText(`https://127.0.0.1:${port}`, 'secret', more));
    expect(await bench.ask('GET', pods)).toMatchObject({
      code: 200,
      text: 'secure /api/v1/namespaces/default/pods',
    });
    const client = await rawClient(bench);
    const upgrade = ['Connection: Upgrade', 'Upgrade: websocket'];
    client.write(requestText(`GET ${pods}/web/exec HTTP/1.1`, [`Authorization: Bearer ${bench.admin}`, ...upgrade]));
    await until(() => client.text().endsWith('hi'), 'the session');
    expect(asked).toContain(`127.0.0.1:${port}`);
    client.socket.destroy();
    upstream.closeAllConnections();
    proxy.closeAllConnections();
  });
});

describe('time', () => {
  it('a cluster that does not answer is given up, by a clock that a test moves', async () => {
    const clock = movedClock();
    const behind = await behindWith({ clock });
    behind.answerWith(() => undefined);
    const answer = behind.bench.ask('GET', pods);
    await until(() => behind.seen.length === 1 && clock.waitingFor(silentAfterMs) === 1, 'the request');
    clock.fire(silentAfterMs);
    expect(await answer).toMatchObject({ code: 504, body: { reason: 'Timeout' } });
  });

  it('so is one that says neither yes nor no to a session', async () => {
    const clock = movedClock();
    const behind = await behindWith({ clock });
    behind.upgradeWith(() => undefined);
    const client = await rawClient(behind.bench);
    const upgrade = ['Connection: Upgrade', 'Upgrade: websocket'];
    const authorization = `Authorization: Bearer ${behind.bench.admin}`;
    client.write(requestText(`GET ${pods}/web/exec HTTP/1.1`, [authorization, ...upgrade]));
    await until(() => behind.seen.length === 1 && clock.waitingFor(silentAfterMs) === 1, 'the request');
    clock.fire(silentAfterMs);
    await client.closed;
    expect(client.text()).toMatch(/^HTTP\/1.1 504 /);
  });

  it('so is one that takes no more of the body that is sent to it', async () => {
    const sockets: Socket[] = [];
    const upstream = createSocketServer({ pauseOnConnect: true }, (socket) => {
      socket.on('error', () => undefined);
      sockets.push(socket);
      endings.push(() => socket.destroy());
    });
    const text = kubeconfigText(`http://127.0.0.1:${await listening(upstream)}`, 'upstream-secret');
    const clock = movedClock();
    const bench = await benchWith(text, clock);
    await until(() => sockets.length > 0, 'the look for missing rights');
    const before = sockets.length;
    const client = await rawClient(bench);
    const headers = [`Authorization: Bearer ${bench.admin}`, `Content-Length: ${unreadBytes + 1}`];
    client.write(requestText(`POST ${pods} HTTP/1.1`, headers));
    client.write(Buffer.alloc(unreadBytes));
    await until(() => sockets.length > before && client.socket.writableNeedDrain, 'a server that reads no more');
    await until(() => {
      clock.fire(silentAfterMs);
      return client.socket.destroyed;
    }, 'the end');
    // The end of a connection with unread bytes may overtake the answer.
    expect(client.text()).toMatch(/^(?:HTTP\/1.1 504 |$)/);
  });

  it('so is one that says again and again that it goes on, and never more', async () => {
    const clock = movedClock();
    const behind = await behindWith({ clock });
    behind.answerWith((_request, response) => {
      // More of them are a flood, and end at once.
      let left = 16;
      const hint = () => !response.destroyed && left-- > 0 && response.writeProcessing();
      const hints = setInterval(hint, 1);
      endings.push(() => clearInterval(hints));
    });
    const answer = behind.bench.ask('GET', pods);
    await until(() => behind.seen.length === 1 && clock.waitingFor(silentAfterMs) === 1, 'the request');
    clock.fire(silentAfterMs);
    expect(await answer).toMatchObject({ code: 504, body: { reason: 'Timeout' } });
  });

  it('an answer that stops in its middle is cut off', async () => {
    const clock = movedClock();
    const behind = await behindWith({ clock });
    behind.answerWith((_request, response) => {
      response.writeHead(200);
      response.write('half');
    });
    const client = await rawClient(behind.bench);
    client.write(requestText(`GET ${pods} HTTP/1.1`, [`Authorization: Bearer ${behind.bench.admin}`]));
    await until(() => client.text().includes('half'), 'the half');
    // The first look finds the bytes of the half, the second one finds no more.
    await until(() => {
      clock.fire(silentAfterMs);
      return client.socket.destroyed;
    }, 'the end');
    expect(client.text()).not.toMatch(/\r\n0\r\n\r\n$/);
  });

  it('so is the refusal of a watch that stops in its middle', async () => {
    const clock = movedClock();
    const behind = await behindWith({ clock });
    behind.answerWith((_request, response) => {
      response.writeHead(403);
      response.write('half');
    });
    const answer = behind.bench.ask('GET', `${pods}?watch=true`);
    let isAnswered = false;
    void answer.then(() => (isAnswered = true));
    await until(() => {
      clock.fire(silentAfterMs);
      return isAnswered;
    }, 'the end');
    expect(await answer).toMatchObject({ code: 502 });
  });

  it('nothing limits how long a watch or a session may be silent', async () => {
    const clock = movedClock();
    const behind = await behindWith({ clock });
    let write: (text: string) => void = () => undefined;
    behind.answerWith((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.flushHeaders();
      write = (text) => void response.write(text);
    });
    const watch = await behind.bench.follow(`${pods}?watch=true`, behind.bench.admin);
    clock.moveSeconds(3_600);
    for (const delayMs of [connectWithinMs, silentAfterMs]) clock.fire(delayMs);
    write('{"type":"ADDED","object":{}}\n');
    await until(() => watch.events.length === 1, 'an event after an hour');
    watch.stop();
  });

  it('a connection that was kept and closed behind our back is replaced without a fault', async () => {
    const behind = await behindWith();
    for (let count = 0; count < 5; count++) {
      expect(await behind.bench.ask('GET', pods)).toMatchObject({ code: 200 });
      for (const socket of behind.open) socket.destroy();
    }
  });

  it('a request that may have changed something is not sent again when its kept connection ends without an answer', async () => {
    const seen: string[] = [];
    const kept = new WeakSet<Socket>();
    const port = await listening(
      createPlainServer(({ method = '', url = '', socket }, response) => {
        const isFirst = !seen.includes(method);
        if (url.startsWith('/api/v1/namespaces/default/pods') && (kept.has(socket) || !isFirst)) seen.push(method);
        // Read, and perhaps carried out.
        if (isFirst && seen.includes(method)) socket.destroy();
        else response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
        kept.add(socket);
      }),
    );
    const bench = await benchWith(kubeconfigText(`http://127.0.0.1:${port}`, 'upstream-secret'));
    for (let count = 0; count < 2; count++) expect(await bench.ask('GET', pods)).toMatchObject({ code: 200 });
    expect(await bench.ask('DELETE', `${pods}/web`)).toMatchObject({ code: 502 });
    expect(seen.filter((method) => method === 'GET').length).toBeGreaterThan(1);
    expect(seen.filter((method) => method === 'DELETE')).toEqual(['DELETE']);
  });
});

describe('a kubeconfig of a cluster behind', () => {
  it.each([
    ['acts for somebody already', { as: 'admin' }, /cannot be used/],
    [
      'runs a plugin that fails',
      { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: '/no/such/plugin', interactiveMode: 'Never' } },
      /cannot be used/,
    ],
  ])('that %s: 503, and what it holds is in no answer', async (_what, user, says) => {
    const kubeconfig = JSON.parse(kubeconfigText('http://127.0.0.1:1', 'upstream-secret'));
    kubeconfig.users[0].user = { token: 'upstream-secret', ...user };
    const own = await benchWith(JSON.stringify(kubeconfig));
    const answer = await own.ask('GET', pods);
    expect(answer).toMatchObject({ code: 503, body: { message: expect.stringMatching(says) } });
    expect(answer.text).not.toMatch(/upstream-secret|no\/such/);
  });

  it('with a certificate that cannot be read: 502 that says whose kubeconfig it is, and nothing of it', async () => {
    const kubeconfig = JSON.parse(kubeconfigText('https://127.0.0.1:1', 'upstream-secret'));
    const damaged = Buffer.from('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n').toString('base64');
    kubeconfig.users[0].user = { 'client-certificate-data': damaged, 'client-key-data': damaged };
    const answer = await (await benchWith(JSON.stringify(kubeconfig))).ask('GET', pods);
    expect(answer).toMatchObject({
      code: 502,
      body: { message: expect.stringMatching(/renew the kubeconfig of cluster c1/) },
    });
    expect(answer.text).not.toMatch(/BEGIN|AAAA|upstream-secret/);
  });
});
