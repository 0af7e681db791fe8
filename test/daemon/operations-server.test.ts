import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type OperationsAnswers, OperationsServer } from '../../src/daemon/operations/operations-server.ts';

const answers: OperationsAnswers = {
  health: () => ({ isHealthy: true, lines: [] }),
  readiness: () => {
    const sync = { name: 'sync', isReady: false, lines: ['virtual Endpoints: listing'] };
    return { isReady: false, lines: sync.lines, parts: [sync, { name: 'other', isReady: true, lines: [] }] };
  },
  metrics: async () => ({ contentType: 'text/plain; version=0.0.4', text: 'hostward_up 1\n' }),
  status: () => ({ role: 'leader' }),
  objects: () => [],
  objectStatus: (key) => (key === 'default/nginx' ? { key } : undefined),
};

let server: OperationsServer | undefined;
afterEach(() => server?.stop());

async function started(overrides: Partial<OperationsAnswers> = {}, host = '127.0.0.1'): Promise<string> {
  server = new OperationsServer({ host, port: 0 }, { ...answers, ...overrides });
  await server.start();
  return `http://127.0.0.1:${server.address.port}`;
}

/** Returns the raw answer, because fetch refuses to send the requests of these tests. */
function raw(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.end(request));
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
  });
}

describe('OperationsServer', () => {
  it.each([
    ['/healthz', 200, 'ok\n'],
    ['/readyz', 503, 'not ready\nvirtual Endpoints: listing\n'],
    ['/readyz/sync', 503, 'not ready\nvirtual Endpoints: listing\n'],
    ['/readyz/other', 200, 'ok\n'],
    ['/metrics', 200, 'hostward_up 1\n'],
    ['/status', 200, '{"role":"leader"}\n'],
    ['/status?object=default%2Fnginx', 200, '{"key":"default/nginx"}\n'],
    ['/status?object=default/none', 404, '{"message":"\\"default/none\\" is not known"}\n'],
    ['/', 404, 'there are /healthz, /readyz, /readyz/sync, /readyz/other, /metrics and /status\n'],
  ])('answers %s with %i', async (path, status, text) => {
    const response = await fetch((await started()) + path);
    expect([response.status, await response.text()]).toEqual([status, text]);
  });

  it.each(['/', '/healthz', '/readyz', '/metrics', '/status', '/none', '/favicon.ico'])(
    'answers nobody at %s who sends no host, or an empty one',
    async (path) => {
      const port = Number(new URL(await started()).port);
      const ask = (head: string) => raw(port, `GET ${path} ${head}\r\n\r\n`);
      expect(await ask('HTTP/1.0')).toMatch(/^HTTP\/1.1 421 /);
      expect(await ask('HTTP/1.0\r\nhost:')).toMatch(/^HTTP\/1.1 421 /);
      expect(await ask('HTTP/1.1\r\nhost: ')).toMatch(/^HTTP\/1.1 421 /);
      expect(await ask('HTTP/1.1')).toMatch(/^HTTP\/1.1 400 /);
    },
  );

  it('lists any number of objects without delaying probes, and stops when the client has left', async () => {
    const count = 60_000;
    let given = 0;
    let asked: unknown;
    const base = await started({
      objects: (filter) => {
        asked = filter;
        return (function* () {
          for (given = 0; given < count; given++) yield { object: `default/${given}`, state: 'inSync' };
        })();
      },
    });
    const list = fetch(`${base}/status/objects?namespace=a&state=refused%2FNotOwned&kind=Endpoints`);
    expect((await fetch(`${base}/healthz`)).status).toBe(200);
    expect(given).toBeLessThan(count);
    const { objects } = (await (await list).json()) as { objects: object[] };
    expect(objects).toHaveLength(count);
    expect(objects.at(-1)).toEqual({ object: `default/${count - 1}`, state: 'inSync' });
    expect(asked).toEqual({ namespace: 'a', state: 'refused/NotOwned', kind: 'Endpoints' });
    const leaving = new AbortController();
    const second = await fetch(`${base}/status/objects`, { signal: leaving.signal });
    leaving.abort();
    await expect(second.text()).rejects.toThrow();
    // Enough answers for the server to have noticed the end of the connection.
    for (let n = 0; n < 5; n++) await fetch(`${base}/healthz`);
    expect(given).toBeLessThan(count);
    expect(((await (await fetch(`${base}/status/objects`)).json()) as { objects: object[] }).objects).toHaveLength(
      count,
    );
  });

  it('answers HEAD without a body', async () => {
    const response = await fetch(`${await started()}/healthz`, { method: 'HEAD' });
    expect([response.status, response.headers.get('content-length'), await response.text()]).toEqual([200, '3', '']);
  });

  it('refuses other methods, bodies and endless addresses', async () => {
    const base = await started();
    const post = await fetch(`${base}/status`, { method: 'POST', body: 'x' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect((await fetch(`${base}/${'a'.repeat(3000)}`)).status).toBe(414);
    const port = Number(new URL(base).port);
    expect(await raw(port, 'GET /healthz HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\nhello')).toMatch(
      /^HTTP\/1.1 413/,
    );
  });

  it('answers no route to a web page that rebinds its own name to this machine, and all to probes', async () => {
    const port = Number(new URL(await started()).port);
    const ask = (path: string, host: string) =>
      raw(port, `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
    for (const path of ['/status', '/status/objects', '/healthz', '/readyz', '/metrics', '/', '/none'])
      for (const host of ['evil.example:80', `localhost.evil.example:${port}`, `127.0.0.1.evil.example:${port}`])
        expect(await ask(path, host), `${path} for ${host}`).toMatch(/^HTTP\/1.1 421/);
    // As curl, kubelet and Prometheus ask.
    for (const host of [`localhost:${port}`, 'LOCALHOST', `[::1]:${port}`, '10.1.2.3:9440', '[fd00::7]:9440']) {
      expect(await ask('/status', host), host).toMatch(/^HTTP\/1.1 200/);
      expect(await ask('/healthz', host), host).toMatch(/^HTTP\/1.1 200/);
    }
  });

  it('answers a thrown fault with 500 and keeps running', async () => {
    const base = await started({
      metrics: async () => {
        throw new Error('registry is closed');
      },
    });
    expect((await fetch(`${base}/metrics`)).status).toBe(500);
    expect((await fetch(`${base}/healthz`)).status).toBe(200);
  });

  it('cuts an answer off that fails in its middle', async () => {
    const rows = function* () {
      for (let row = 0; row < 600; row++) yield { row };
      throw new Error('no more rows');
    };
    const base = await started({ ...answers, objects: rows });
    await expect(fetch(`${base}/status/objects`).then((response) => response.text())).rejects.toThrow('terminated');
    expect((await fetch(`${base}/healthz`)).status).toBe(200);
  });

  it('rejects when the port is taken', async () => {
    await started();
    const second = new OperationsServer(server!.address, answers);
    await expect(second.start()).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('stops despite open connections', async () => {
    const base = await started();
    const socket = connect(Number(new URL(base).port), '127.0.0.1');
    socket.on('error', () => {});
    await new Promise((resolve) => socket.once('connect', resolve));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await server?.stop();
    await closed;
  });
});
