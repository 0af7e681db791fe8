import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type createServer as createPlainServer, type Socket } from 'node:net';
import { PassThrough, Readable, Writable } from 'node:stream';
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { makeAuthority, makeServingCertificate } from '../../../src/apiserver/tls/certificates.ts';
import { gatherChunks, passOn } from '../../../src/object/text/small-chunks.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
setFlagsFromString('--no-expose-gc');

const running: (Server | ReturnType<typeof createPlainServer>)[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of running.splice(0)) await new Promise((resolve) => server.close(resolve));
});

/** A stream into which a test pushes, as a connection does. */
function filled(): Readable {
  const stream = new Readable({ highWaterMark: 64 * 1024, read() {} });
  gatherChunks(stream);
  return stream;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

async function allOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe('gatherChunks()', () => {
  it('gives the same bytes in the same order, whatever the chunks, the pauses and the reader', async () => {
    const size = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 4_000, max: 20_000 }));
    const chunk = fc.record({ size, isLast: fc.boolean() });
    const how = fc.constantFrom('flowing' as const, 'later' as const, 'pauses' as const);
    await fc.assert(
      fc.asyncProperty(fc.array(chunk, { maxLength: 60 }), how, async (chunks, reader) => {
        const stream = filled();
        const sink = new PassThrough({ highWaterMark: 1024 ** 2 });
        const read = () => (reader === 'pauses' ? passOn(stream, sink, { end: true }) : stream.pipe(sink));
        if (reader !== 'later') read();
        const sent: Buffer[] = [];
        for (const [at, { size, isLast }] of chunks.entries()) {
          const one = Buffer.alloc(size, at + 1);
          sent.push(one);
          stream.push(one);
          if (reader === 'pauses' && at % 7 === 3) stream.pause();
          if (isLast) await turn();
          if (reader === 'pauses' && at % 7 === 5) stream.resume();
        }
        stream.push(null);
        if (reader === 'later') read();
        stream.resume();
        expect((await allOf(sink)).equals(Buffer.concat(sent))).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  it('holds single bytes that nobody reads as one text, and says when they are enough', async () => {
    const stream = filled();
    let isTaken = true;
    let pushed = 0;
    while (isTaken) {
      isTaken = stream.push(Buffer.from('x'));
      if (++pushed % 100 === 0) await turn();
    }
    expect(pushed).toBe(64 * 1024);
    stream.push(null);
    const chunks: Buffer[] = [];
    stream.on('data', (chunk) => chunks.push(chunk));
    await once(stream, 'end');
    expect(chunks.length).toBeLessThan(4);
    expect(Buffer.concat(chunks).length).toBe(pushed);
  });

  it('passes the first bytes of a packet on at once', () => {
    const stream = filled();
    const seen: string[] = [];
    stream.on('data', (chunk) => seen.push(String(chunk)));
    stream.read(0);
    stream.push(Buffer.from('prompt$ '));
    stream.read();
    expect(seen).toEqual(['prompt$ ']);
  });

  it('tells of a flood of tiny chunks, and not of a peer that sends as many slowly', async () => {
    let floods = 0;
    for (const [inTurn, turns, wanted] of [
      [200, 100, 0],
      [2_000, 10, 1],
    ] as const) {
      floods = 0;
      const stream = new Readable({ read() {} });
      gatherChunks(stream, () => floods++);
      stream.resume();
      for (let at = 0; at < turns; at++) {
        for (let count = 0; count < inTurn; count++) stream.push(Buffer.from('x'));
        await turn();
      }
      expect(floods).toBe(wanted);
    }
  });

  it('lets the floods of many peers share what one may send in a turn, and cuts nobody twice', async () => {
    const sends = async (peers: number, each: number) => {
      const floods = new Map<number, number>();
      const streams = Array.from({ length: peers }, (_, at) => {
        const stream = new Readable({ read() {} });
        gatherChunks(stream, () => floods.set(at, (floods.get(at) ?? 0) + 1));
        stream.resume();
        return stream;
      });
      for (let count = 0; count < each; count++) for (const stream of streams) stream.push(Buffer.from('x'));
      await turn();
      expect(new Set(floods.values())).toEqual(new Set(floods.size === 0 ? [] : [1]));
      return floods.size;
    };
    expect(await sends(1, 8_000)).toBe(0);
    expect(await sends(20, 500)).toBe(0);
    expect(await sends(20, 1_500)).toBe(20);
    expect(await sends(2, 2_000)).toBe(0);
  });

  it('keeps a request of single-byte chunks that nobody reads in the memory of its bytes', async () => {
    const waiting: IncomingMessage[] = [];
    const { port } = await serving((incoming) => {
      gatherChunks(incoming);
      waiting.push(incoming);
    });
    collectGarbage();
    const before = process.memoryUsage();
    for (let at = 0; at < 4; at++) await sendSingleBytes(port, 60_000);
    await arrived(() => waiting.length === 4 && waiting.every((one) => one.socket.bytesRead > 60_000 * 6));
    collectGarbage();
    const after = process.memoryUsage();
    // As separate chunks these bytes held 30 MiB for each request.
    expect(after.heapUsed + after.external - before.heapUsed - before.external).toBeLessThan(4 * 1024 ** 2);
    const [first] = waiting;
    first?.resume();
    let bytes = 0;
    first?.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    await arrived(() => bytes === 60_000);
  });
});

describe('gatherChunks() on a socket of a session', () => {
  it('keeps single bytes in TLS records of their own, that nobody reads, in the memory of their bytes', async () => {
    const authority = await makeAuthority('small chunks', new Date());
    const { certPem, keyPem } = await makeServingCertificate('localhost', ['localhost'], new Date(), authority);
    const accepted: TLSSocket[] = [];
    const server = createTlsServer({ cert: certPem, key: keyPem }, (socket) => {
      gatherChunks(socket);
      // Begins to read, and takes nothing.
      socket.read(0);
      accepted.push(socket);
    });
    running.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const client = connectTls({ host: '127.0.0.1', port, ca: authority.certPem, servername: 'localhost' });
    sockets.push(client);
    await once(client, 'secureConnect');
    const bytes = 20_000;
    collectGarbage();
    const before = process.memoryUsage();
    // Writes that wait for another one would leave in one record.
    for (let at = 0; at < bytes; at++) await new Promise((resolve) => client.write('x', resolve));
    const [near] = accepted as [TLSSocket];
    sockets.push(near);
    // 22 bytes of each record are not its text.
    await arrived(() => client.writableLength === 0 && near.bytesRead >= bytes);
    collectGarbage();
    const after = process.memoryUsage();
    expect(after.heapUsed + after.external - before.heapUsed - before.external).toBeLessThan(1024 ** 2);
    let read = 0;
    near.on('data', (chunk: Buffer) => {
      read += chunk.length;
    });
    await arrived(() => read === bytes);
  });
});

describe('passOn()', () => {
  it('stops reading from whoever sends single bytes to a receiver that takes none', async () => {
    const from = filled();
    let writes = 0;
    const taken: (() => void)[] = [];
    const to = new Writable({
      highWaterMark: 64 * 1024,
      write(_chunk, _encoding, done) {
        writes++;
        taken.push(done);
      },
    });
    passOn(from, to, { end: true });
    let pushed = 0;
    while (pushed < 2_000) {
      from.push(Buffer.from('x'));
      pushed++;
      if (pushed % 2 === 0) await turn();
    }
    // Each write that waits costs more than its byte.
    expect(to.writableLength).toBeLessThanOrEqual(200);
    expect(writes).toBe(1);
    from.push(null);
    const finished = once(to, 'finish');
    const go = setInterval(() => taken.shift()?.(), 0);
    await finished;
    clearInterval(go);
  });

  it('waits behind a shut gate, and goes on when it opens', async () => {
    const from = filled();
    const to = new PassThrough();
    const opens: (() => void)[] = [];
    const gate = (_bytes: number, goOn: () => void) => {
      opens.push(goOn);
      return false;
    };
    passOn(from, to, { end: true, gate });
    for (const text of ['one', 'two', 'three']) {
      from.push(Buffer.alloc(8_000, text));
      await turn();
    }
    expect(opens).toHaveLength(1);
    from.push(null);
    const ended = allOf(to);
    while (!to.readableEnded) {
      opens.at(-1)?.();
      await turn();
    }
    expect((await ended).length).toBe(24_000);
    expect(opens.length).toBeGreaterThan(1);
  });

  it('goes on behind a look at the first bytes', async () => {
    const from = filled();
    from.push(Buffer.alloc(20_000, 'a'));
    from.on('data', () => undefined);
    from.pause();
    from.removeAllListeners('data');
    const to = new PassThrough();
    passOn(from, to, { end: true });
    from.push(null);
    expect((await allOf(to)).length).toBe(20_000);
  });

  it('ends nothing and reads nothing more after it was ended', async () => {
    const from = filled();
    const to = new PassThrough();
    const stop = passOn(from, to, { end: true });
    from.push(Buffer.from('before'));
    await turn();
    stop();
    from.push(Buffer.from('after'));
    from.push(null);
    await turn();
    expect(String(to.read())).toBe('before');
    expect(to.writableEnded).toBe(false);
    expect(from.isPaused()).toBe(true);
  });

  it('passes a body of single-byte chunks through two servers unchanged', async () => {
    const { port: farPort } = await serving((incoming, answer) => incoming.pipe(answer));
    const { port } = await serving((incoming, answer) => {
      gatherChunks(incoming);
      const sent = request({ port: farPort, method: 'POST', headers: { 'transfer-encoding': 'chunked' } }, (back) => {
        gatherChunks(back);
        passOn(back, answer, { end: true });
      });
      passOn(incoming, sent, { end: true });
    });
    const answer = await new Promise<IncomingMessage>((resolve) => {
      const sent = request({ port, method: 'POST', headers: { 'transfer-encoding': 'chunked' } }, resolve);
      for (let at = 0; at < 3_000; at++) sent.write(String(at % 10));
      sent.end();
    });
    expect(String(await allOf(answer))).toBe('0123456789'.repeat(300));
  });
});

async function serving(handler: (incoming: IncomingMessage, answer: ServerResponse) => void) {
  const server = createServer(handler);
  running.push(server);
  server.on('connection', (socket) => sockets.push(socket));
  server.listen(0);
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port };
}

async function sendSingleBytes(port: number, count: number): Promise<void> {
  const socket = connect(port);
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write('POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n');
  socket.write('1\r\nx\r\n'.repeat(count));
}

async function arrived(isThere: () => boolean): Promise<void> {
  while (!isThere()) await turn();
}
