import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makeListener } from '../../../src/apiserver/chain/listener.ts';
import { type Client, responseOn } from '../../../src/apiserver/chain/served-request.ts';
import { refuseUpgrade } from '../../../src/apiserver/limits/client-error.ts';
import { closeConnections } from '../../../src/apiserver/limits/last-bytes.ts';
import type { ServingPair } from '../../../src/apiserver/tls/certificate-files.ts';
import { makeServingCertificate } from '../../../src/apiserver/tls/certificates.ts';
import { listen } from '../../../src/apiserver/wire/listen.ts';
import { silentLog } from '../../../src/log.ts';
import { badRequest } from '../../../src/object/meta/status.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { openShop } from '../shop/widgets.ts';

/** More than Node reads from a socket that nobody reads. */
const unread = 'x'.repeat(70_000);
const upgrade = 'GET /exec HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
const clients = 12;

let pair: ServingPair;
beforeAll(async () => {
  pair = await makeServingCertificate('reset', ['localhost'], new Date());
});
const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

/** Clients that wait for an answer. */
const waiting = new Set<Socket>();

/** Called where the server has the bytes and has not answered: the moment at which Node forgets the socket. */
function resetClients(): void {
  for (const socket of waiting) socket.resetAndDestroy();
}

/** Sends the bytes, and ends when `resetClients` or the server ends the connection. */
function send(port: number, bytes: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const raw = connect(port, '127.0.0.1');
    const socket = connectTls({ socket: raw, rejectUnauthorized: false }, () => {
      waiting.add(raw);
      socket.write(bytes);
    });
    raw.once('close', () => {
      if (waiting.delete(raw)) resolve();
      else reject(new Error('no TLS connection'));
    });
    socket.on('error', () => undefined);
  });
}

const openSockets = (server: Server) =>
  new Promise<number>((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );

async function until(isSo: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const endMs = performance.now() + 20_000;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`waited twenty seconds for ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** How the owner of a listener answers an upgrade that it refuses. */
const answers: Record<
  string,
  (client: Client & { kind: 'socket' }, request: Parameters<typeof responseOn>[1]) => void
> = {
  'a refusal by hand': (client) => refuseUpgrade(client, badRequest('no')),
  'a response on the socket': (client, request) => void responseOn(client, request).end('no'),
  'a response in parts': (client, request) => {
    const response = responseOn(client, request);
    response.write('a');
    setImmediate(() => response.end('b'));
  },
};

async function start(answer: (typeof answers)[string]) {
  const clock = new VirtualClock();
  const server = makeListener({
    tls: { cert: pair.certPem, key: pair.keyPem },
    maxHeaderBytes: 16_384,
    unproven: undefined,
    clock,
    takesUpgrades: () => true,
    handle: (request, client) => {
      resetClients();
      // As when a key is looked at before the answer.
      if (client.kind === 'socket') setImmediate(() => answer(client, request));
    },
  });
  open.push(server);
  await listen(server, { port: 0, host: '127.0.0.1' }, silentLog);
  const { port } = server.address() as AddressInfo;
  const attack = async (bytes: string) => {
    for (let count = 1; count <= clients; count++) await send(port, bytes);
  };
  return { clock, server, attack };
}

describe('a client that resets the connection while its bytes are unread', () => {
  it.each(Object.entries(answers))('leaves no socket behind: %s', async (_name, answer) => {
    const { clock, server, attack } = await start(answer);
    await attack(upgrade + unread);
    await until(async () => {
      await clock.advance(5_000);
      return (await openSockets(server)) === 0;
    }, 'the last socket');
    expect(clock.pendingTimers).toBe(0);
  });

  it('does not keep a listener from closing, not even when it gets no answer at all', async () => {
    const { clock, server, attack } = await start(() => undefined);
    await attack(upgrade + unread);
    expect(await openSockets(server)).toBeGreaterThan(0);
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    let isClosed = false;
    void closeConnections(server, closed, clock).then(() => {
      isClosed = true;
    });
    await until(async () => {
      await clock.advance(1_000);
      return isClosed;
    }, 'the end of the listener');
    expect(await openSockets(server)).toBe(0);
  });

  it('does not keep a server from stopping', async () => {
    const clock = new VirtualClock();
    const authenticate = async () => {
      resetClients();
      await new Promise((resolve) => setImmediate(resolve));
      return undefined;
    };
    const shop = await openShop({ tls: pair, clock, authenticate, takesUpgrades: () => true });
    for (let count = 1; count <= clients; count++) await send(shop.server.port, upgrade + unread);
    let isStopped = false;
    void shop.stop().then(() => {
      isStopped = true;
    });
    await until(async () => {
      await clock.advance(1_000);
      return isStopped;
    }, 'the end of the server');
  });
});
