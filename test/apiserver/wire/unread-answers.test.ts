import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { drained } from '../../../src/apiserver/wire/respond.ts';
import { UnreadAnswers } from '../../../src/apiserver/wire/unread-answers.ts';
import { silentLog } from '../../../src/log.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const endings: (() => unknown)[] = [];
afterEach(() => {
  for (const end of endings.splice(0)) end();
});

const mib = 1024 * 1024;
const pieceBytes = 32 * 1024;

interface Stage {
  clock: VirtualClock;
  /** Opens an answer of so many bytes; the client reads it or not. */
  ask(bytes: number, reads: boolean, owner?: string): Promise<{ response: ServerResponse; answer: IncomingMessage }>;
}

async function stage(mostBytes = 64 * mib): Promise<Stage> {
  const clock = new VirtualClock();
  const unread = new UnreadAnswers({ clock, log: silentLog, mostBytes });
  const responses: ServerResponse[] = [];
  const server: Server = createServer((request, response) => {
    const [, bytes, owner = ''] = request.url?.split('/') ?? [];
    unread.opened(response, owner);
    responses.push(response);
    void send(response, Number(bytes));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  endings.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const ask: Stage['ask'] = (bytes, reads, owner = 'alice') =>
    new Promise((resolve, reject) => {
      const sent = get({ host: '127.0.0.1', port, path: `/${bytes}/${owner}`, agent: false }, (answer) => {
        if (reads) answer.resume();
        else answer.pause();
        answer.on('error', () => undefined);
        resolve({ response: responses.at(-1) as ServerResponse, answer });
      });
      sent.on('error', reject);
    });
  return { clock, ask };
}

/** Long answers in pieces, each when there is room, as lists are sent. */
async function send(response: ServerResponse, bytes: number): Promise<void> {
  const piece = Math.min(bytes, bytes > 30 * mib ? pieceBytes : bytes);
  for (let left = bytes; left > 0 && !response.destroyed; left -= piece)
    if (!response.write(Buffer.alloc(piece))) await drained(response);
  response.end();
}

describe('answers that nobody reads', () => {
  it('are cut when all together are too much, the longest waiting first, and new ones are let be', async () => {
    const { clock, ask } = await stage();
    const first = await ask(30 * mib, false);
    const second = await ask(30 * mib, false);
    await clock.advance(300);
    const third = await ask(30 * mib, false);
    expect([first, second, third].map(({ response }) => response.destroyed)).toEqual([false, false, false]);
    await clock.advance(100);
    const last = await ask(100, true);
    expect([first, second, third].map(({ response }) => response.destroyed)).toEqual([true, true, false]);
    expect(last.answer.statusCode).toBe(200);
  });

  it('are cut of the owner who holds most, before older ones of others', async () => {
    const { clock, ask } = await stage();
    const alices = await ask(20 * mib, false, 'alice');
    await clock.advance(300);
    const mallorys = [await ask(25 * mib, false, 'mallory'), await ask(25 * mib, false, 'mallory')];
    await clock.advance(300);
    await ask(100, true);
    await clock.advance(300);
    await ask(100, true);
    expect([alices, ...mallorys].map(({ response }) => response.destroyed)).toEqual([false, true, true]);
  });

  it('count with what the system holds of them', async () => {
    // What waits here of three answers is less.
    const { clock, ask } = await stage(380 * 1024);
    const answers = [];
    for (let at = 0; at < 3; at++) answers.push(await ask(60 * mib, false));
    // The first look sees that they have sent something.
    for (let look = 0; look < 2; look++) {
      await clock.advance(300);
      await ask(100, true);
    }
    expect(answers.filter(({ response }) => response.destroyed).length).toBeGreaterThan(0);
  });

  it('are left alone while they are few', async () => {
    const { clock, ask } = await stage();
    const one = await ask(60 * mib, false);
    await clock.advance(60_000);
    await ask(100, true);
    expect(one.response.destroyed).toBe(false);
  });

  it('do not end an answer that is read, however slowly', async () => {
    const { clock, ask } = await stage(pieceBytes);
    const slow = await ask(60 * mib, false);
    const stuck = await ask(60 * mib, false);
    const sent = () => slow.response.socket?.bytesWritten ?? 0;
    for (let turn = 0; turn < 10; turn++) {
      const before = sent();
      slow.answer.resume();
      while (sent() === before) await new Promise((resolve) => setImmediate(resolve));
      slow.answer.pause();
      await clock.advance(100);
      await ask(100, true);
    }
    expect([slow.response.destroyed, stuck.response.destroyed]).toEqual([false, true]);
  });
});
