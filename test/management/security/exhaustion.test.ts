// Clients that hold more than they should: slow heads, tiny chunks, many connections, requests and watches. Each is refused with its
// own 4xx or its connection is closed, and a good key is served all the while.
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createMetrics } from '../../../src/metrics.ts';
import { GatheredBytes } from '../../../src/object/text/gathered-bytes.ts';
import { ownTime } from '../../own-time.ts';
import { type Bench, keysPath, openBench, until } from '../server/bench.ts';
import { exchange, openSocket, type Server } from './raw-client.ts';

const metrics = createMetrics();
let bench: Bench;
let server: Server;
let alice: string;

beforeAll(async () => {
  bench = await openBench({ metrics });
  server = { port: bench.api.port, caPem: bench.api.caPem };
  alice = await bench.keyFor('alices', { user: 'alice' });
});
afterAll(() => bench.stop());

function closed(socket: TLSSocket): Promise<string> {
  let text = '';
  socket.on('data', (part) => {
    text += part;
  });
  return new Promise((resolve) => socket.on('close', () => resolve(text)));
}

async function isWell(): Promise<void> {
  const tookMs = ownTime();
  expect(await bench.ask('GET', keysPath, { key: alice })).toMatchObject({ code: 200 });
  expect(tookMs()).toBeLessThan(2_000);
}

describe('slow clients', () => {
  // Waits for ten real seconds, so npm cit leaves it to .ci/run.
  it.runIf(process.env['HOSTWARD_SLOW_HEADS'] !== undefined)(
    'heads that never end are cut after ten seconds, and good keys are served in the meantime',
    async () => {
      const slow = await Promise.all(Array.from({ length: 60 }, () => openSocket(server)));
      const ends = slow.map(closed);
      for (const [at, socket] of slow.entries())
        if (at % 3 > 0) socket.write(`GET ${keysPath} HTTP/1.1\r\nHost: localhost\r\n`);
      const drops = setInterval(() => {
        for (const [at, socket] of slow.entries()) if (at % 3 === 1 && socket.writable) socket.write('X-Slow: a\r\n');
      }, 500);
      for (let count = 0; count < 20; count++) await isWell();
      const tookMs = ownTime();
      const texts = await Promise.all(ends);
      clearInterval(drops);
      expect(tookMs()).toBeLessThan(13_000);
      const said = texts.filter((text) => text !== '');
      expect(said.length).toBeGreaterThan(0);
      for (const text of said) {
        expect(text).toMatch(/^HTTP\/1\.1 408 /);
        expect(text).toContain('"reason":"Timeout"');
      }
      await isWell();
    },
    40_000,
  );
});

describe('many clients', () => {
  it('300 idle connections of one address: good keys are served, probes prove nothing, and the oldest give way', async () => {
    const kept = await openSocket(server);
    const answered = new Promise<string>((resolve) => kept.once('data', (part) => resolve(String(part))));
    kept.write(`GET ${keysPath}?limit=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${alice}\r\n\r\n`);
    expect(await answered).toMatch(/^HTTP\/1\.1 200 /);
    const first = await openSocket(server);
    const end = closed(first);
    first.write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const idle = [];
    for (let count = 0; count < 30; count++) {
      idle.push(...(await Promise.all(Array.from({ length: 10 }, () => openSocket(server)))));
      await isWell();
    }
    // Connections of the last two seconds do not give way yet.
    const strangers = async () =>
      Number(/^hostward_unauthenticated_connections (\d+)$/m.exec(await metrics.metrics())?.[1]);
    for (let count = 0; count < 1_000 && (await strangers()) > 256; count++) {
      (await openSocket(server)).destroy();
      await isWell();
    }
    expect(await end).toMatch(/^HTTP\/1\.1 200 [\s\S]*HTTP\/1\.1 429 [\s\S]*from one address have not authenticated/);
    const series = await metrics.metrics();
    expect(Number(/^hostward_connections_given_way_total (\d+)$/m.exec(series)?.[1])).toBeGreaterThan(40);
    expect(await strangers()).toBeLessThanOrEqual(256);
    expect(kept.destroyed).toBe(false);
    for (const socket of [kept, ...idle]) socket.destroy();
    await isWell();
  }, 60_000);
});

describe('an upgrade with a body', () => {
  const bodies = [
    ['that has not come whole', 'Content-Length: 9\r\n\r\n{}'],
    ['in chunks that have no end', 'Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n'],
    ['in a foreign encoding', 'Transfer-Encoding: gzip, chunked\r\n\r\n'],
  ];
  const exec = '/kubernetes/project/shop/space/s1/api/v1/namespaces/n/pods/p/exec?command=a';
  // Node hands over a stream that is no socket, and a method that it lacks ended the server, for a stranger without a key too.
  it.each(bodies)('%s is refused, and the server lives', async (_what, body) => {
    for (const key of [alice, 'mpk_nobody'])
      for (const protocol of ['websocket', 'SPDY/3.1']) {
        const head = `POST ${exec} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nConnection: Upgrade\r\n`;
        const { answers, isClosed } = await exchange(server, Buffer.from(`${head}Upgrade: ${protocol}\r\n${body}`), 1);
        // It goes through the chain like every request: who has no key gets 401, and who has no right there 404.
        const refusals = body.includes('gzip') ? [400, 401] : [key === alice ? 404 : 401];
        expect([answers.length, isClosed]).toEqual([1, true]);
        expect(refusals).toContain(answers[0]?.code);
      }
    await isWell();
  });
});

it('a request with two headers Host is 400, in the API and to a cluster behind it', async () => {
  for (const path of ['/livez', keysPath, '/kubernetes/cluster/none/api/v1/pods']) {
    const text = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nhost: elsewhere\r\nAuthorization: Bearer ${alice}\r\n\r\n`;
    const { answers } = await exchange(server, Buffer.from(text), 1);
    expect(answers.map(({ code }) => code)).toEqual([400]);
  }
});

describe('many requests in one packet', () => {
  const probe = 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n';

  it('are answered in their order while they are few', async () => {
    const { answers, isClosed } = await exchange(server, Buffer.from(probe.repeat(8)), 8);
    expect([answers.map(({ code }) => code), isClosed]).toEqual([Array(8).fill(200), false]);
  });

  it('are carried out one after the other, so that a read sees the write before it', async () => {
    const request = (method: string, path: string, body?: object) => {
      const text = body === undefined ? '' : JSON.stringify(body);
      const type = `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n`;
      return `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${alice}\r\n${type}\r\n${text}`;
    };
    const one = `${keysPath}/one-after-the-other`;
    const packet = [
      request('POST', keysPath, { metadata: { name: 'one-after-the-other' } }),
      ...['GET', 'DELETE', 'GET'].map((method) => request(method, one)),
    ].join('');
    const { answers } = await exchange(server, Buffer.from(packet), 4);
    expect(answers.map(({ code }) => code)).toEqual([201, 200, 200, 404]);
  });

  it('are answered up to a limit when they are more, and the last answer says that the connection ends', async () => {
    for (const count of [9, 20, 600]) {
      const { answers, isClosed } = await exchange(server, Buffer.from(probe.repeat(count)), count);
      expect([answers.map(({ code }) => code), isClosed]).toEqual([Array(8).fill(200), true]);
      expect(answers.map(({ headers }) => headers.get('connection'))).toEqual([
        ...Array(7).fill('keep-alive'),
        'close',
      ]);
    }
  });

  it('end the connection when they are more, and hold nobody up', async () => {
    const sockets = await Promise.all(Array.from({ length: 50 }, () => openSocket(server)));
    const ends = sockets.map(closed);
    for (const socket of sockets) socket.write(probe.repeat(2_000));
    await isWell();
    // Node would have answered all of them.
    for (const text of await Promise.all(ends)) expect(text.split('HTTP/1.1 200').length - 1).toBeLessThanOrEqual(8);
    await isWell();
  });
});

describe('a body in tiny chunks', () => {
  const head = (path: string, key?: string) =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n${key === undefined ? '' : `Authorization: Bearer ${key}\r\n`}\r\n`;

  it.each([
    ['without a key', keysPath, false],
    ['to a probe', '/livez', false],
    ['with a key', keysPath, true],
    ['with a key, to a cluster behind', '/kubernetes/cluster/none/api/v1/pods', true],
  ])('ends its connection when it holds others up: %s', async (_how, path, hasKey) => {
    const sockets = await Promise.all(Array.from({ length: 4 }, () => openSocket(server)));
    const ends = sockets.map(closed);
    const floods = sockets.map(async (socket) => {
      socket.write(head(path, hasKey ? alice : undefined));
      for (let turn = 0; turn < 20 && !socket.closed; turn++) {
        socket.write('1\r\n \r\n'.repeat(2_000));
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    const tookMs = ownTime();
    await Promise.all([...ends, ...floods]);
    // A rest of a body is read for ten seconds.
    expect(tookMs()).toBeLessThan(8_000);
    await isWell();
  });

  it('is read no further once its connection is cut, although Node has more of it', async () => {
    const added = vi.spyOn(GatheredBytes.prototype, 'add');
    onTestFinished(() => added.mockRestore());
    const sockets = await Promise.all(Array.from({ length: 8 }, () => openSocket(server)));
    const ends = sockets.map(closed);
    for (const socket of sockets) socket.write(head('/livez') + '1\r\n \r\n'.repeat(10_000));
    await Promise.all(ends);
    expect(added.mock.calls.length).toBeGreaterThan(8_192);
    // One connection has used what all of them may send in a turn, if it was alone in it.
    expect(added.mock.calls.length).toBeLessThan(8 * 8_800);
    await isWell();
  });

  it('is read when a program wrote it word by word', async () => {
    const spec = { description: 'word '.repeat(800) };
    const text = JSON.stringify({ metadata: { generateName: 'words-' }, spec }) + ' '.repeat(50_000);
    const words = text.match(/[\s\S]{1,8}/g) ?? [];
    const chunks = words.map((word) => `${word.length.toString(16)}\r\n${word}\r\n`).join('');
    const { answers } = await exchange(server, Buffer.from(`${head(keysPath, alice)}${chunks}0\r\n\r\n`), 1);
    expect(answers[0]).toMatchObject({ code: 201 });
  });
});

describe('a credential that holds too much', () => {
  const measured = createMetrics();
  const limits = {
    connections: { ofOne: 4, altogether: 20 },
    requests: { ofOne: 2, altogether: 20 },
    watches: { ofOne: 2, altogether: 3 },
    bodies: { ofOne: 100_000, altogether: 150_000 },
  };
  let small: Bench;
  let where: Server;
  const tooMany = (says: string) => ({
    code: 429,
    headers: { 'retry-after': '1' },
    body: { kind: 'Status', reason: 'TooManyRequests', message: expect.stringContaining(says) },
  });

  beforeAll(async () => {
    small = await openBench({ callerLimits: limits, metrics: measured });
    where = { port: small.api.port, caPem: small.api.caPem };
  });
  afterAll(() => small.stop());

  it('sends no more bytes of bodies than one key may, and the oldest unfinished ones give way when all are too many', async () => {
    const bobs = await small.keyFor('uploads-2', { user: 'bob' });
    const key = await small.keyFor('uploads', { user: 'alice' });
    const upload = async (by: string, framing: string, begun = '{') => {
      const socket = await openSocket(where);
      const end = closed(socket);
      socket.write(
        `POST ${keysPath} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${by}\r\n${framing}\r\n\r\n${begun}`,
      );
      return { socket, end };
    };
    const open = () => series('hostward_management_open{limit="bodies"}');
    // Chunks announce no length, so they count as the longest body.
    const first = await upload(key, 'Transfer-Encoding: chunked', '1\r\n{\r\n');
    await until(async () => (await open()) === 65_536, 'the first upload');
    const body = { metadata: { name: 'x', annotations: { a: 'x'.repeat(50_000) } } };
    expect(await small.ask('POST', keysPath, { key, body })).toMatchObject(tooMany('and one key may have 100000'));
    const second = await upload(bobs, 'Content-Length: 60000');
    await until(async () => (await open()) === 125_536, 'the second upload');
    expect((await small.ask('POST', `${keysPath}?dryRun=All`, { body })).code).toBe(413);
    expect(await first.end).toBe('');
    await until(async () => (await open()) === 60_000, 'the end of the first upload');
    expect(second.socket.destroyed).toBe(false);
    second.socket.destroy();
    await until(async () => (await open()) === 0, 'the end of the second upload');
  });

  it('opens no more watches than one key may, and all keys together', async () => {
    const key = await small.keyFor('watcher', { user: 'alice' });
    const path = `${keysPath}?watch=true`;
    const [first, second] = [await small.follow(path, key), await small.follow(path, key)];
    expect(await small.ask('GET', path, { key })).toMatchObject(tooMany('your access key has 2 open watches'));
    // A list of the same key is no watch.
    expect(await small.ask('GET', keysPath, { key })).toMatchObject({ code: 200 });
    const third = await small.follow(path, small.admin);
    expect(await small.ask('GET', path)).toMatchObject(tooMany('this server has 3 open watches'));
    first.stop();
    third.stop();
    await until(
      async () => (await series('hostward_management_open{limit="watches"}')) === 1,
      'the end of two watches',
    );
    const again = await small.follow(path, key);
    for (const stream of [second, again]) stream.stop();
    expect(await series('hostward_management_refused_by_limit_total{limit="watches"}')).toBe(2);
  });

  it('has no more requests at a time than one key may, while others are served', async () => {
    const key = await small.keyFor('sender', { user: 'alice' });
    const head = `POST ${keysPath} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Length: 9\r\n\r\n`;
    const slow = [await openSocket(where), await openSocket(where)];
    for (const socket of slow) socket.write(head);
    await until(async () => (await series('hostward_management_open{limit="requests"}')) === 2, 'two requests');
    expect(await small.ask('GET', keysPath, { key })).toMatchObject(
      tooMany('your access key has 2 requests at a time'),
    );
    expect(await small.ask('GET', keysPath)).toMatchObject({ code: 200 });
    for (const socket of slow) socket.destroy();
    await until(async () => (await small.ask('GET', keysPath, { key })).code === 200, 'a good answer');
  });

  it('has no more connections than one key may, on the paths of clusters neither', async () => {
    const key = await small.keyFor('dialler', { user: 'alice' });
    const get = `GET ${keysPath}?limit=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n\r\n`;
    const kept = await Promise.all(Array.from({ length: 4 }, () => openSocket(where)));
    for (const socket of kept) {
      const answered = new Promise<string>((resolve) => socket.once('data', (part) => resolve(String(part))));
      socket.write(get);
      expect(await answered).toMatch(/^HTTP\/1\.1 200 /);
    }
    const refused = tooMany('your access key has 4 open connections');
    expect(await small.ask('GET', keysPath, { key })).toMatchObject(refused);
    expect(await small.ask('GET', '/kubernetes/cluster/c1/api', { key })).toMatchObject(refused);
    for (const socket of kept) socket.destroy();
    await until(async () => (await small.ask('GET', keysPath, { key })).code === 200, 'a good answer');
  });

  async function series(name: string): Promise<number> {
    const line = (await measured.metrics()).split('\n').find((one) => one.startsWith(`${name} `));
    return Number(line?.slice(name.length + 1));
  }
});
