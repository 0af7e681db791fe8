// A client may take minutes to send a body. A key that has ended in the meantime makes nothing with it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Bench, keysPath, openBench, until } from '../server/bench.ts';
import { openSocket } from './raw-client.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.stop());

const patch = (name: string, spec: object) =>
  bench.ask('PATCH', `${keysPath}/${name}`, { type: 'application/merge-patch+json', body: { spec } });
const ends: [string, number, (name: string) => Promise<{ code: number }>][] = [
  ['deleted', 401, (name) => bench.ask('DELETE', `${keysPath}/${name}`)],
  ['disabled', 401, (name) => patch(name, { disabled: true })],
  ['narrowed', 403, (name) => patch(name, { scope: {} })],
  ['rotated', 401, (name) => bench.ask('POST', `${keysPath}/${name}/rotate`, { body: {} })],
];

it.each(ends)('a key that is %s while it sends a body is refused, and nothing is made', async (what, code, end) => {
  const name = `late-${what}`;
  const key = await bench.keyFor(name, { user: 'alice' });
  const child = `child-of-${name}`;
  const body = JSON.stringify({ metadata: { name: child }, spec: {} });
  const { port, caPem } = bench.api;
  const socket = await openSocket({ port, caPem });
  let answer = '';
  socket.on('data', (part) => {
    answer += String(part);
  });
  const head = `Host: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  socket.write(`POST ${keysPath} HTTP/1.1\r\n${head}\r\n${body.slice(0, 5)}`);
  const isBegun = () => readFileSync(join(bench.folder, 'audit.log'), 'utf8').includes(`"key":"${name}"`);
  await until(isBegun, 'the line of the request in the audit log');
  expect((await end(name)).code).toBeLessThan(300);
  socket.write(body.slice(5));
  await until(() => answer.includes('\r\n\r\n'), 'the answer');
  expect(answer.slice(0, 12)).toBe(`HTTP/1.1 ${code}`);
  socket.destroy();
  expect(await bench.ask('GET', `${keysPath}/${child}`)).toMatchObject({ code: 404 });
});
