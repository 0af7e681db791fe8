import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { LocalServerLimits } from '../../../src/apiserver/local/local-server.ts';
import { type OperationsAnswers, OperationsServer } from '../../../src/daemon/operations/operations-server.ts';

/** Tells when the server has read a question about an object. */
const questions = new EventEmitter();
const big = 'x'.repeat(4 * 1024 * 1024);
const answers: OperationsAnswers = {
  health: () => ({ isHealthy: true, lines: [] }),
  readiness: () => ({ isReady: true, lines: [], parts: [] }),
  metrics: async () => ({ contentType: 'text/plain', text: big }),
  status: () => ({}),
  objects: () => [],
  objectStatus: () => {
    questions.emit('asked');
    return new Promise(() => {});
  },
};

let server: OperationsServer | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server?.stop();
});

async function start(limits: Partial<LocalServerLimits>): Promise<number> {
  server = new OperationsServer({ host: '127.0.0.1', port: 0 }, answers, limits);
  await server.start();
  return server.address.port;
}

/** A client that sends one text and then neither reads nor sends. */
async function open(port: number, text: string): Promise<{ socket: Socket; closed: Promise<void>; isOpen(): boolean }> {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => {});
  socket.pause();
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.write(text);
  // A paused socket never sees its end.
  if (!text.startsWith('GET /metrics')) socket.resume();
  return { socket, closed, isOpen: () => !socket.destroyed && socket.readyState === 'open' };
}

async function probe(port: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/healthz`, { headers: { connection: 'close' } });
  await response.text();
  return response.status;
}

const patient = { requestTimeoutMs: 60_000, keepAliveTimeoutMs: 60_000, answerTimeoutMs: 60_000 };

describe('OperationsServer with slow clients', () => {
  it.each([
    ['that trickle their headers', 'GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: '],
    ['that say nothing', ''],
    ['that stay after their answer', 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n'],
    ['that wait for an answer that never comes', 'GET /status?object=a/b HTTP/1.1\r\nhost: localhost\r\n\r\n'],
    ['that do not read their answer', 'GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n'],
  ])('answers every probe with all places held by clients %s', async (_, text) => {
    const port = await start({ ...patient, connections: 4 });
    const slow = [];
    for (let n = 0; n < 4; n++) slow.push(await open(port, text));
    for (let n = 0; n < 12; n++) expect(await probe(port)).toBe(200);
  });

  it('answers 75 probes beside 64 trickling connections that reconnect again and again', async () => {
    const port = await start(patient);
    const trickle = async () => open(port, 'GET /readyz HTTP/1.1\r\nhost: localhost\r\nx-a: ');
    for (let n = 0; n < 64; n++) await trickle();
    const results: number[] = [];
    for (let n = 0; n < 75; n++) {
      await trickle();
      results.push(await probe(port));
    }
    expect(results.filter((status) => status === 200)).toHaveLength(75);
  });

  it.each([
    ['whose request is not whole', 'GET /healthz HTTP/1.1\r\nx-slow: '],
    ['that waits for its answer', 'GET /status?object=a/b HTTP/1.1\r\nhost: localhost\r\n\r\n'],
  ])('tells a client %s why it loses its slot', async (_, text) => {
    const port = await start({ ...patient, connections: 1 });
    const isAsked = text.includes('a/b') ? once(questions, 'asked') : undefined;
    const first = await open(port, text);
    let told = '';
    first.socket.on('data', (chunk) => {
      told += chunk;
    });
    await isAsked;
    await open(port, '');
    await first.closed;
    expect(told).toMatch(/^HTTP\/1.1 503 [\s\S]*retry-after: 1[\s\S]*too many clients ask at once; try again\n$/);
  });

  it('frees the slot of the oldest client that is not being answered', async () => {
    const port = await start({ ...patient, connections: 3 });
    const asked = once(questions, 'asked');
    const asking = await open(port, 'GET /status?object=a/b HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await asked;
    const first = await open(port, 'GET /a');
    const second = await open(port, 'GET /b');
    const third = await open(port, 'GET /c');
    await first.closed;
    expect([asking.isOpen(), second.isOpen(), third.isOpen()]).toEqual([true, true, true]);
  });

  it('tells a client that there is no answer in time', async () => {
    const port = await start({ ...patient, answerTimeoutMs: 60 });
    const response = await fetch(`http://127.0.0.1:${port}/status?object=a/b`);
    expect([response.status, await response.text()]).toEqual([503, 'there is no answer in time; try again\n']);
  });

  it('disconnects clients that are slow to send headers, to send the next request, or to read', async () => {
    const port = await start({ requestTimeoutMs: 60, keepAliveTimeoutMs: 60, answerTimeoutMs: 60 });
    const clients = await Promise.all([
      open(port, 'GET /healthz HTTP/1.1\r\nhost: '),
      open(port, ''),
      open(port, 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n'),
      open(port, 'GET /status?object=a/b HTTP/1.1\r\nhost: localhost\r\n\r\n'),
    ]);
    await Promise.all(clients.map(({ closed }) => closed));
  });
});
