// Answers that no API server gives, from a cluster that is broken or hostile. The client gets an answer that it can read, or a
// closed connection, and the server goes on.
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../../../src/log.ts';
import { until } from '../server/bench.ts';
import { type Behind, openBehind, rawClient, requestText } from './upstream.ts';

const pods = '/kubernetes/project/shop/virtualcluster/v1/api/v1/namespaces/default/pods';
const websocket = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Protocol: v5.channel.k8s.io'];
/** A read, which is not audited, and two requests whose answers wait for a line of the audit log. */
const requests = [
  { line: `GET ${pods}/web`, headers: ['Connection: close'] },
  { line: `POST ${pods}`, headers: ['Connection: close', 'Content-Length: 0'] },
  { line: `GET ${pods}/web/exec`, headers: websocket },
];
const bomb = gzipSync(Buffer.alloc(20_000_000));
const ok = 'HTTP/1.1 200 OK\r\n';
const refused = /^HTTP\/1\.1 502 [\s\S]*"kind":"Status"/;

/** Of the log. */
const lines: unknown[] = [];
const log = createLog({ level: 'warn', destination: { write: (line) => void lines.push(JSON.parse(line)) } });

let behind: Behind;
let alice: string;
beforeAll(async () => {
  behind = await openBehind({ log });
  alice = await behind.bench.keyFor('alice-key', { user: 'alice' });
});
afterAll(() => behind.stop());

/** The upstream does this with each connection, once the head of the request is there. */
function upstreamDoes(act: (socket: Socket) => void): void {
  behind.answerWith(({ socket }) => act(socket));
  behind.upgradeWith((_request, socket) => act(socket));
}

/** Throws when the server neither answers to the end nor closes. */
async function answerTo({ line, headers }: { line: string; headers: readonly string[] }): Promise<string> {
  const client = await rawClient(behind.bench);
  client.write(requestText(`${line} HTTP/1.1`, [`Authorization: Bearer ${alice}`, ...headers]));
  await until(() => client.socket.closed, `the end of the answer to ${line}`);
  return client.text();
}

describe('a request to change the protocol behind a request that is still being answered', () => {
  it.each([
    ['without credentials', [], [`GET ${pods}/web`]],
    ['with credentials', ['Authorization: Bearer KEY'], [`GET ${pods}/web`]],
    ['behind two that wait', ['Authorization: Bearer KEY'], [`GET ${pods}/web`, `GET ${pods}/api`]],
    ['behind one that was answered already', ['Authorization: Bearer KEY'], ['GET /nothing', `GET ${pods}/web`]],
    ['with an impossible protocol', ['Authorization: Bearer KEY', 'Impersonate-User: a'], [`GET ${pods}/web`]],
  ])('closes the connection and does not end the server: %s', async (_what, headers, before) => {
    behind.answerWith(() => undefined);
    const lines = headers.map((line) => line.replace('KEY', alice));
    const client = await rawClient(behind.bench);
    const first = before.map((line) => requestText(`${line} HTTP/1.1`, lines)).join('');
    client.write(first + requestText(`GET ${pods}/web/exec HTTP/1.1`, [...lines, ...websocket]));
    await until(() => client.socket.closed, 'the end of the connection');
    expect(client.text()).not.toContain('101 Switching');
    const { api } = behind.bench;
    await until(() => (api.status() as { proxied: number }).proxied === 0, 'the end of every request');
    upstreamDoes((socket) => socket.end(`${ok}Content-Length: 2\r\n\r\n{}`));
    expect(await answerTo({ line: `GET ${pods}/web`, headers: ['Connection: close'] })).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('an odd answer of a cluster', () => {
  it.each([
    ['101 without a protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
    ['a code below 100', 'HTTP/1.1 000 No\r\nContent-Length: 0\r\n\r\n'],
    ['a code above 599', 'HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n'],
    ['a body in a foreign encoding', `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['two lengths', `${ok}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    ['a length and chunks', `${ok}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a head of 100 KB', `${ok}X-Long: ${'x'.repeat(100_000)}\r\n\r\n`],
    ['a folded line', `${ok}X-Fold: a\r\n b\r\nContent-Length: 0\r\n\r\n`],
    ['hints without end', 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'.repeat(5_000)],
    ['endless leave to go on', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(5_000)],
    ['no HTTP', 'SSH-2.0-OpenSSH\r\n'],
    ['nothing', ''],
  ])('is 502: %s', async (_what, text) => {
    upstreamDoes((socket) => socket.end(text));
    for (const request of requests) expect(await answerTo(request)).toMatch(refused);
  });

  it.each([
    ['an endless chunk extension', `${ok}Transfer-Encoding: chunked\r\n\r\n1;${'a'.repeat(60_000)}`],
    ['no size of its first chunk', `${ok}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`],
    ['nothing behind its head', `${ok}Content-Length: 100\r\n\r\n`],
  ])('that has %s is 502, and in the log', async (_what, text) => {
    upstreamDoes((socket) => socket.end(text));
    // The head of a session or stream has gone by then.
    for (const request of requests.slice(0, 2)) expect(await answerTo(request)).toMatch(refused);
    expect(lines).toContainEqual(expect.objectContaining({ upstream: 'virtual cluster shop/v1', key: 'alice-key' }));
  });

  it.each([
    ['in a body with a length', `${ok}Content-Length: 100\r\n\r\n{"a":`],
    ['in a chunk', `${ok}Transfer-Encoding: chunked\r\n\r\n20\r\nabc`],
    ['before the last chunk', `${ok}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n`],
    ['by a chunk without a size', `${ok}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`],
  ])('that breaks off %s never looks whole, and the client does not wait', async (_where, text) => {
    upstreamDoes((socket) => socket.end(text));
    for (const request of requests) {
      const answer = await answerTo(request);
      if (refused.test(answer)) continue;
      expect(answer).not.toMatch(/\r\n0\r\n\r\n$/);
      expect(answer).toMatch(/^$|\r\n(?:content-length: 100|transfer-encoding: chunked)\r\n/i);
    }
  });

  it('does not end the server when the connection is cut right behind a 101', async () => {
    for (const delayMs of [undefined, 0, 1]) {
      upstreamDoes((socket) => {
        const cut = () => socket.resetAndDestroy();
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n', () => {
          if (delayMs === undefined) cut();
          else setTimeout(cut, delayMs);
        });
      });
      for (const request of requests) await answerTo(request);
    }
    upstreamDoes((socket) => socket.end(`${ok}Content-Length: 2\r\n\r\n{}`));
    expect(await answerTo({ line: `GET ${pods}/web`, headers: ['Connection: close'] })).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('loses what is meant for another reader: trailers of the head, foreign places, cookies, odd words', async () => {
    upstreamDoes((socket) =>
      socket.end(
        [
          'HTTP/1.1 201 \u0001\r\nLocation: http://169.254.169.254/\r\nRefresh: 0; url=http://evil.example\r\nSet-Cookie: a=b\r\n',
          'Clear-Site-Data: "*"\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n',
          'X-Sum: 3\r\nSet-Cookie: a=b\r\nAuthorization: Bearer upstream-secret\r\nLocation: http://evil.example\r\n\r\n',
        ].join(''),
      ),
    );
    for (const request of requests) {
      const answer = await answerTo(request);
      expect(answer).toMatch(/^HTTP\/1\.1 201 Created\r\n/);
      expect(answer).toMatch(/\r\n0\r\nX-Sum: 3\r\n\r\n$/);
      expect(answer).not.toMatch(/169\.254|evil|cookie|upstream-secret|clear-site/i);
    }
  });

  it.each([
    ['HTTP/1.0', 'Transfer-Encoding: chunked\r\n', '2\r\n{}\r\n0\r\nX-Sum: 3\r\n\r\n'],
    ['HTTP/1.1', 'Content-Length: 2\r\n', '{}'],
  ])('leaves announced trailers out where the answer cannot have them: %s, %j', async (version, length, body) => {
    upstreamDoes((socket) => socket.end(`${ok}Trailer: X-Sum\r\n${length}\r\n${body}`));
    const client = await rawClient(behind.bench);
    const lines = [`Authorization: Bearer ${alice}`, 'Connection: close'];
    client.write(requestText(`GET ${pods}/web ${version}`, lines));
    await until(() => client.socket.closed, 'the end of the answer');
    expect(client.text()).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n\{\}$/);
    expect(client.text()).not.toMatch(/X-Sum/i);
  });

  it('keeps every line of a long head', async () => {
    const lines = Array.from({ length: 1_500 }, (_, at) => `A${at}: 1\r\n`).join('');
    upstreamDoes((socket) => socket.end(`${ok}${lines}X-Last: 1\r\nContent-Length: 2\r\n\r\n{}`));
    for (const request of requests) {
      const answer = await answerTo(request);
      expect(answer).toMatch(/\r\nX-Last: 1\r\n/);
      expect(answer).toMatch(/\r\n\r\n\{\}$/);
    }
  });

  it('passes hints before it unread, and compressed bytes as they are', async () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nSet-Cookie: a=b\r\n\r\n'.repeat(16);
    upstreamDoes((socket) => {
      socket.write(`${hints}${ok}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`);
      socket.end(bomb);
    });
    for (const request of requests) {
      const answer = await answerTo(request);
      expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*content-encoding: gzip/i);
      expect(answer).not.toContain('HTTP/1.1 103');
      expect(answer.length).toBeLessThan(bomb.length + 1_000);
    }
  });
});

describe('a request to a cluster', () => {
  it('is 400 with a body in an encoding that the cluster would not be told', async () => {
    behind.seen.length = 0;
    const headers = ['Connection: close', 'Transfer-Encoding: gzip, chunked'];
    expect(await answerTo({ line: `POST ${pods}`, headers })).toMatch(/^HTTP\/1\.1 400 [\s\S]*gzip, chunked/);
    expect(behind.seen).toEqual([]);
  });

  it('whose client goes away while the answer comes leaves nothing behind', async () => {
    for (let count = 0; count < 20; count++) {
      const client = await rawClient(behind.bench);
      upstreamDoes((socket) => {
        const cut = () => client.socket.destroy();
        socket.end(`${ok}Content-Length: 2\r\n\r\n{}`, count % 2 === 0 ? cut : () => setTimeout(cut, 1));
      });
      client.write(requestText(`POST ${pods} HTTP/1.1`, [`Authorization: Bearer ${alice}`, 'Content-Length: 0']));
      await client.closed;
    }
    const { api } = behind.bench;
    await until(() => (api.status() as { proxied: number }).proxied === 0, 'the end of every request');
  });
});
