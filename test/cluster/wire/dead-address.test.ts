// An old address that takes connections but is no API server any more, while the file names the new one.
import dns from 'node:dns';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { settle } from '../../virtual-clock.ts';
import { passing } from '../subject.ts';
import { RotationStage } from './rotation-stage.ts';

const stage = new RotationStage();

describe('an old address that is dead in another way than a refused connection', () => {
  /** Takes the place of the server: what happens to whoever connects. */
  async function replace(port: number, behave: (socket: Socket) => void): Promise<void> {
    const dead = createServer((socket) => behave(socket.on('error', () => undefined)));
    dead.listen(port, '127.0.0.1');
    await once(dead, 'listening');
    deadServers.add(dead);
  }
  const gateway =
    (status: number): RequestListener =>
    (_, response) =>
      response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>no server</h1>');
  const deaths: { name: string; die: (port: number) => Promise<unknown> }[] = [
    { name: 'cuts every connection', die: (port) => replace(port, (socket) => socket.destroy()) },
    { name: 'resets every connection', die: (port) => replace(port, (socket) => socket.resetAndDestroy()) },
    {
      name: 'resets when the request has come',
      die: (port) => stage.serve(stage.oldCa, (request) => request.socket.destroy(), port),
    },
    { name: 'never answers a TLS handshake', die: (port) => replace(port, () => undefined) },
    { name: 'never answers a request', die: (port) => stage.serve(stage.oldCa, () => undefined, port) },
    ...[502, 503, 504].map((status) => ({
      name: `is a proxy that answers ${status}`,
      die: (port: number) => stage.serve(stage.oldCa, gateway(status), port),
    })),
  ];
  const deadServers = new Set<Server>();
  afterEach(async () => {
    for (const one of deadServers) one.close();
    deadServers.clear();
    await settle(5);
  });

  test.each(deaths)(
    '$name: what the file names is taken within seconds, and nothing waits for the old one',
    async ({ die }) => {
      const { server, port } = await stage.used();
      await stage.stop(server);
      await die(port);
      const waiting = stage.get();
      const next = await stage.serve(stage.newCa, 'ours');
      stage.named = { server: next.url, ca: stage.newCa.cert };
      let told = 0;
      stage.connection.subscribe(() => told++);
      expect(await passing(stage.clock, () => told > 0, { stepMs: 100, limitMs: 20_000 })).toBeLessThanOrEqual(6_000);
      expect(['failed', 'throttled', 'ours']).toContain(await waiting);
      expect(await stage.get()).toBe('ours');
      expect(stage.connection.address).toMatchObject({
        server: next.url,
        takenAt: expect.any(Date),
        notTaken: undefined,
      });
      expect(stage.logged.join()).toContain(': taken');
    },
  );

  test.each(deaths)('$name: another cluster in the file is not taken', async ({ die }) => {
    const { server, port, url } = await stage.used();
    await stage.stop(server);
    await die(port);
    const waiting = stage.get();
    stage.named.server = (await stage.serve(stage.oldCa, 'theirs')).url;
    await passing(stage.clock, () => stage.connection.address.isInDoubt, { stepMs: 100, limitMs: 6_000 });
    expect(stage.connection.address).toMatchObject({
      server: url,
      notTaken: expect.stringContaining('has the uid theirs'),
    });
    await stage.connection.close();
    await waiting;
  });

  test('has its file read every two seconds, however many requests fail', async () => {
    const { server, port } = await stage.used();
    await stage.stop(server);
    await replace(port, (socket) => socket.destroy());
    const before = stage.reads;
    for (let second = 0; second < 20; second++) {
      await Promise.all(Array.from({ length: 10 }, stage.get));
      await stage.clock.advance(1_000);
    }
    expect(stage.reads - before).toBeGreaterThan(8);
    expect(stage.reads - before).toBeLessThan(13);
  });

  test('is left when its name resolves to another one, whatever the file says', async () => {
    const name = 'api.test';
    const first = await stage.serve(stage.oldCa, 'ours', 0, { name });
    await stage.serve(stage.oldCa, 'ours', first.port, { name, host: '127.0.0.2' });
    let address = '127.0.0.1';
    const resolveTo = () =>
      vi
        .spyOn(dns, 'lookup')
        .mockImplementation(((_name: string, _options: unknown, done: (error: null, found: object[]) => void) =>
          done(null, [{ address, family: 4 }])) as never);
    let found = resolveTo();
    stage.named = { server: `https://${name}:${first.port}`, ca: stage.oldCa.cert };
    stage.open();
    expect(await stage.get()).toBe('ours');
    await stage.stop(first.server);
    found.mockRestore();
    await replace(first.port, (socket) => socket.destroy());
    found = resolveTo();
    expect(await stage.get()).toBe('failed');
    address = '127.0.0.2';
    expect(await stage.get()).toBe('ours');
    found.mockRestore();
  });
});

test('a raw connection reads its files after a request without an answer, and its next request follows them', async () => {
  const { server, port } = await stage.serve(stage.oldCa, 'ours');
  stage.named = { server: `https://127.0.0.1:${port}`, ca: stage.oldCa.cert };
  const { status, close } = stage.rawConnection();
  expect(await status()).toBe(200);
  await stage.stop(server);
  const dead = await stage.serve(stage.oldCa, (request) => request.socket.destroy(), port);
  stage.named.server = (await stage.serve(stage.oldCa, 'ours')).url;
  expect(await status()).toBe('failed');
  expect(await status()).toBe(200);
  await stage.stop(dead.server);
  close();
});
