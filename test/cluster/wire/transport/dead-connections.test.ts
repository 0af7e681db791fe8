// Connections that were kept have died in silence, as behind a firewall that has lost its state: what is sent on them is never answered, and new
// connections are as good as ever.
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import type { Connection } from '../../../../src/cluster/wire/connection.ts';
import { settle } from '../../../virtual-clock.ts';
import { sendJson } from '../../scripted-server.ts';
import { passing, plainCredentials } from '../../subject.ts';
import { clock, connect, get, server, setUp } from './stage.ts';

setUp();

/** Sockets of which the server never answers a request again. */
const dead = new Set<Socket>();

function serve(times: number): void {
  for (let nth = 0; nth < times; nth++)
    server.script('read', ({ request, response }) => {
      if (!dead.has(request.socket)) sendJson(response, 200, { kind: 'Endpoints', metadata: {} });
    });
}

/** Opens as many connections as requests, which are kept then. */
async function keep(connection: Connection, count: number): Promise<void> {
  const used = new Set<Socket>();
  const held: (() => void)[] = [];
  for (let nth = 0; nth < count; nth++)
    server.script('read', ({ request, response }) => {
      used.add(request.socket);
      held.push(() => sendJson(response, 200, { kind: 'Endpoints', metadata: {} }));
      if (held.length === count) for (const answer of held) answer();
    });
  const answers = await Promise.all(Array.from({ length: count }, () => get(connection)));
  expect(answers.map(({ kind }) => kind)).toEqual(answers.map(() => 'ok'));
  expect(used.size).toBe(count);
  for (const socket of used) dead.add(socket);
  await settle(5);
}

async function ending(asked: Promise<{ kind: string }>): Promise<string | undefined> {
  let kind: string | undefined;
  void asked.then((answer) => {
    kind = answer.kind;
  });
  await passing(clock, () => kind !== undefined, { stepMs: 1_000, limitMs: 60_000 });
  return kind;
}

test('the first request that gets no answer shows it of all others that are kept', async () => {
  const connection = connect(plainCredentials(server.url));
  await keep(connection, 4);
  serve(6);
  expect(await ending(get(connection))).toBe('failed');
  const next = Array.from({ length: 3 }, () => get(connection));
  for (const one of next) expect(await ending(one)).toBe('ok');
});

test('while others are answered, one request that is not shows nothing', async () => {
  const connection = connect(plainCredentials(server.url));
  await keep(connection, 1);
  serve(1);
  const unanswered = get(connection);
  await settle(5);
  await clock.advance(1_000);
  const used: Socket[] = [];
  server.script('read', ({ request, response }) => {
    used.push(request.socket);
    sendJson(response, 200, { kind: 'Endpoints', metadata: {} });
  });
  expect(await ending(get(connection))).toBe('ok');
  expect(await ending(unanswered)).toBe('failed');
  await settle(20);
  expect(used.map(({ destroyed }) => destroyed)).toEqual([false]);
});
