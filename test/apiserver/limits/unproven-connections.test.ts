import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { UnprovenConnections } from '../../../src/apiserver/limits/unproven-connections.ts';
import { type Clock, systemClock } from '../../../src/clock.ts';
import type { Log } from '../../../src/log.ts';
import { silentLog } from '../../../src/log.ts';
import { openShop, type Shop } from '../shop/widgets.ts';

const perSource = 4;
let shop: Shop | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await shop?.stop();
});

async function open(limits = { perSource, altogether: 6, youngMs: 0 }, clock: Clock = systemClock) {
  const warnings: unknown[] = [];
  const log: Log = { ...silentLog, warn: (...said: unknown[]) => void warnings.push(said) };
  const unproven = new UnprovenConnections({ clock, log, limits });
  shop = await openShop({ unproven });
  return { unproven, warnings, port: shop.server.port };
}

interface Client {
  socket: Socket;
  said: () => string;
  closed: Promise<void>;
}

/** A connection from an address of this machine; all of 127.0.0.0/8 is. */
function enter(port: number, localAddress = '127.0.0.1'): Promise<Client> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect({ host: '127.0.0.1', port, localAddress });
    sockets.push(socket);
    socket.on('data', (part) => {
      text += part;
    });
    const closed = new Promise<void>((over) => socket.once('close', () => over()));
    socket.on('error', reject);
    socket.once('connect', () => resolve({ socket, said: () => text, closed }));
  });
}

async function until(isSo: () => boolean): Promise<void> {
  const endMs = performance.now() + 20_000;
  while (!isSo()) {
    if (performance.now() > endMs) throw new Error('waited twenty seconds');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('connections without authentication', () => {
  it('over the limit of a source: the oldest idle one is told why and closed, and the new one is served', async () => {
    const { unproven, warnings, port } = await open();
    const clients = [];
    for (let count = 1; count <= perSource; count++) {
      clients.push(await enter(port));
      await until(() => unproven.count === count);
    }
    const slow = clients[1] as Client;
    slow.socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n');
    const late = await enter(port);
    const [first] = clients;
    await first?.closed;
    expect(first?.said()).toMatch(
      /^HTTP\/1\.1 429 [\s\S]*Retry-After: 1[\s\S]*"message":"too many connections from one address have not authenticated: connect again and send a request with a key at once"/,
    );
    await enter(port);
    await slow.closed;
    expect([unproven.count, unproven.gaveWay, warnings.length]).toEqual([perSource, 2, 1]);
    late.socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
    await until(() => late.said() !== '');
    expect(late.said()).toMatch(/^HTTP\/1\.1 (200|401) /);
  });

  it('that come together may be more than the limit of a source, until they are two seconds old', async () => {
    let nowMs = 0;
    const clock: Clock = {
      ...systemClock,
      now: () => nowMs,
      wallTime: () => systemClock.wallTime(),
      after: systemClock.after,
    };
    const { unproven, port } = await open({ perSource, altogether: 100, youngMs: 2_000 }, clock);
    for (let count = 0; count < 3 * perSource; count++) await enter(port);
    await until(() => unproven.count === 3 * perSource);
    expect(unproven.gaveWay).toBe(0);
    nowMs = 2_000;
    await enter(port);
    await until(() => unproven.gaveWay === 2 * perSource + 1);
    expect(unproven.count).toBe(perSource);
  });

  it('altogether: the source with the most of them gives way, and a source with one does not', async () => {
    const { unproven, port } = await open();
    const single = await enter(port, '127.0.0.2');
    for (const from of ['127.0.0.3', '127.0.0.4', '127.0.0.3', '127.0.0.3', '127.0.0.4']) await enter(port, from);
    await until(() => unproven.count === 6);
    const another = await enter(port, '127.0.0.5');
    await until(() => unproven.gaveWay === 1);
    for (const { socket, said } of [single, another]) {
      socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
      await until(() => said() !== '');
      expect(said()).not.toMatch(/^HTTP\/1\.1 429 /);
    }
  });

  it('altogether, of sources with as many each: the one that came first gives way, and never who comes now', async () => {
    const { unproven, port } = await open();
    const all = [];
    for (let nth = 2; nth <= 7; nth++) {
      all.push(await enter(port, `127.0.0.${nth}`));
      await until(() => unproven.count === nth - 1);
    }
    const late = await enter(port, '127.0.0.8');
    await all[0]?.closed;
    expect(unproven.gaveWay).toBe(1);
    late.socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
    await until(() => late.said() !== '');
    expect(late.said()).not.toMatch(/^HTTP\/1\.1 429 /);
  });

  it('are not those that authenticated, and a closed one leaves its place', async () => {
    const { unproven, port } = await open();
    const known = await enter(port);
    await until(() => unproven.count === 1);
    // The address and the port of the client are what both ends know of the connection.
    const { localAddress: remoteAddress, localPort: remotePort } = known.socket;
    unproven.proved({ remoteAddress, remotePort } as unknown as Socket);
    expect(unproven.count).toBe(0);
    const passing = await enter(port);
    await until(() => unproven.count === 1);
    passing.socket.destroy();
    await until(() => unproven.count === 0);
    for (let count = 0; count < 3 * perSource; count++) await enter(port);
    await until(() => unproven.gaveWay === 2 * perSource);
    known.socket.write('GET /livez HTTP/1.1\r\nHost: a\r\n\r\n');
    await until(() => known.said() !== '');
    expect(known.said()).not.toMatch(/^HTTP\/1\.1 429 /);
  });
});
