// A cluster that answers in pieces of a few bytes costs the event loop far more than its bytes. The whole answer still arrives, a slice
// at a time in the turn of its caller, and what an honest stream brings is not held back.
import { afterEach, expect, it } from 'vitest';
import { createLog } from '../../../../src/log.ts';
import { SlowAnswers } from '../../../../src/management/proxy/forward/slow-answers.ts';
import { settle, VirtualClock } from '../../../virtual-clock.ts';
import { until } from '../../server/bench.ts';
import { cluster, pods } from '../behind-stage.ts';
import { type Behind, openBehind, rawClient, requestText } from '../upstream.ts';

const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n';
const oneByte = '1\r\na\r\n';
const last = '0\r\n\r\n';

let behind: Behind;
afterEach(() => behind.stop());

/** The answer to a list of pods, with its chunks put together; `pieces` are what the cluster sends. */
async function answerTo(key: string, pieces: readonly string[], path = pods): Promise<string> {
  behind.answerWith(({ socket }) => {
    for (const piece of pieces) socket.write(piece);
    socket.end();
  });
  const { code, text } = await behind.bench.ask('GET', cluster + path, { key });
  expect(code).toBe(200);
  return text;
}

it('passes all of an answer in tiny chunks, and says in the log which cluster it is', async () => {
  const lines: unknown[] = [];
  const log = createLog({ level: 'warn', destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  behind = await openBehind({ log });
  const key = await behind.bench.keyFor('flood', { user: 'alice' });
  const large = 'b'.repeat(100_000);
  const sent = [head, oneByte.repeat(100_000), `${large.length.toString(16)}\r\n${large}\r\n`, oneByte.repeat(7), last];
  const text = await answerTo(key, sent);
  expect(text === 'a'.repeat(100_000) + large + 'a'.repeat(7)).toBe(true);
  expect(lines).toContainEqual(
    expect.objectContaining({ upstream: 'cluster c1', key: 'flood', why: expect.stringContaining('a few bytes') }),
  );
});

it('parses a few kilobytes of it in a turn of the loop', async () => {
  behind = await openBehind();
  const key = await behind.bench.keyFor('flood', { user: 'alice' });
  behind.answerWith(({ socket }) => {
    socket.write(head);
    const more = () => {
      while (socket.write(oneByte.repeat(10_000)));
    };
    socket.on('drain', more);
    more();
  });
  const client = await rawClient(behind.bench);
  client.write(requestText(`GET ${cluster}${pods} HTTP/1.1`, [`Authorization: Bearer ${key}`]));
  await until(() => client.text().length > 1_000, 'the first bytes');
  let passed = client.text().length;
  for (let turn = 0; turn < 200; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    const now = client.text().length;
    // Two slices of 4 KiB may end in one turn, and what was gathered goes on in few chunks.
    expect(now - passed).toBeLessThan(3 * 4 * 1024);
    passed = now;
  }
  client.socket.destroy();
});

it('does not hold back events, lines of a log, and large answers', async () => {
  const lines: unknown[] = [];
  const log = createLog({ level: 'warn', destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  behind = await openBehind({ log });
  const key = await behind.bench.keyFor('honest', { user: 'alice' });
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const event = `${JSON.stringify({ type: 'ADDED', object: { metadata: { name: 'a', resourceVersion: '1' } } })}\n`;
  expect(await answerTo(key, [head, chunk(event).repeat(20_000), last])).toBe(event.repeat(20_000));
  const line = '2026-11-27T18:00:00Z ok\n';
  expect(await answerTo(key, [head, chunk(line).repeat(5_000), last], `${pods}/web/log`)).toBe(line.repeat(5_000));
  expect(await answerTo(key, [head, chunk('c'.repeat(5_000_000)), last])).toHaveLength(5_000_000);
  expect(lines).toEqual([]);
});

it('lets the answers of an owner go on one after the other, each in the turn of its caller', async () => {
  behind = await openBehind();
  const clock = new VirtualClock();
  const slow = new SlowAnswers(clock);
  const did: string[] = [];
  const waitOf = (owner: string, name: string) =>
    slow.of(owner, {
      works: () => {
        did.push(`turn of ${name}`);
        return undefined;
      },
      tell: () => did.push(`told of ${name}`),
    });
  const [first, second, other] = [waitOf('ann', 'a1'), waitOf('ann', 'a2'), waitOf('bob', 'b')];
  for (const [wait, name] of [
    [first, 'a1'],
    [second, 'a2'],
    [other, 'b'],
  ] as const)
    wait(() => did.push(name));
  expect(did.splice(0)).toEqual(['told of a1', 'told of a2', 'told of b']);
  await clock.advance(10);
  await settle();
  expect(did.splice(0).sort()).toEqual(['a1', 'b', 'turn of a1', 'turn of b']);
  first(() => did.push('a1 again'));
  await clock.advance(10);
  await settle();
  expect(did.splice(0)).toEqual(['turn of a2', 'a2']);
  await clock.advance(10);
  await settle();
  expect(did).toEqual(['turn of a1', 'a1 again']);
});
