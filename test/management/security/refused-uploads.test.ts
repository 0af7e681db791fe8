// Many clients send their whole body before they look for an answer. They get it also when they are refused before, and when it is the
// last answer of their connection.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bench, keysPath, openBench, until } from '../server/bench.ts';
import { openSocket } from './raw-client.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.stop());

/** More than the buffers of both ends hold, and more than a body may have. */
const bytes = 12 * 1024 * 1024;
const refused: [says: string, path: string, withKey: boolean, code: number][] = [
  ['a body over the limit', keysPath, true, 413],
  ['a body without a key', keysPath, false, 401],
  ['a body for a cluster that is not there', '/kubernetes/cluster/none/api/v1/namespaces', true, 404],
];
const cases = refused.flatMap((one) => [false, true].map((isLast) => [...one, isLast] as const));

it.each(cases)('%s to %s (key: %s) is answered %i, last of its connection: %s', async (...given) => {
  const [, path, withKey, code, isLast] = given;
  const { port, caPem } = bench.api;
  const socket = await openSocket({ port, caPem });
  const faults: string[] = [];
  socket.on('error', (error) => faults.push(error.message));
  const head = [
    `POST ${path} HTTP/1.1`,
    ...['Host: localhost', 'Content-Type: application/json', `Content-Length: ${bytes}`],
    ...(withKey ? [`Authorization: Bearer ${bench.admin}`] : []),
    ...(isLast ? ['Connection: close'] : []),
  ];
  socket.pause();
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  await new Promise((resolve) => socket.write(Buffer.alloc(bytes, 'x'), resolve));
  let answer = '';
  socket.on('data', (part) => {
    answer += String(part);
  });
  let isClosed = false;
  socket.on('close', () => {
    isClosed = true;
  });
  socket.resume();
  await until(() => isClosed || answer.includes('\r\n\r\n'), 'the answer');
  expect([answer.slice(0, 12), faults]).toEqual([`HTTP/1.1 ${code}`, []]);
  if (isLast) await until(() => isClosed, 'the end of the connection', 3_000);
  socket.destroy();
});
