import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bench, openBench } from '../../management/server/bench.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.stop());

describe('a port with TLS', () => {
  it('answers plain HTTP with a Status that names https, and serves TLS on', async () => {
    for (const request of [
      'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n',
      `POST / HTTP/1.1\r\nX: ${'a'.repeat(9_000)}\r\n\r\n`,
    ]) {
      const socket = connect(bench.api.port, '127.0.0.1');
      socket.write(request);
      let answer = '';
      socket.on('data', (part) => {
        answer += part;
      });
      await once(socket, 'close');
      const [head = '', body = ''] = answer.split('\r\n\r\n');
      expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
      expect(JSON.parse(body)).toMatchObject({
        kind: 'Status',
        code: 400,
        message: expect.stringContaining('https://'),
      });
    }
    expect((await bench.ask('GET', '/livez')).code).toBe(200);
  });

  it('says nothing to a client that speaks neither', async () => {
    const socket = connect(bench.api.port, '127.0.0.1');
    socket.write(Buffer.alloc(64, 7));
    let answer = '';
    socket.on('data', (part) => {
      answer += part.toString('latin1');
    });
    socket.on('error', () => undefined);
    await once(socket, 'close');
    expect(answer).not.toContain('HTTP/1.1');
  });
});
