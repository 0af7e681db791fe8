import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { LocalServer } from '../../../src/apiserver/local/local-server.ts';
import { Playground } from '../../../src/pages/playground/playground.ts';
import { type Evaluate, type Evaluated, playgroundLimits } from '../../../src/pages/playground-api.ts';

const token = 'abc';
const servers: LocalServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

async function serve(evaluated: Evaluated = { kind: 'answer', json: '{"a":1}' }, by?: Evaluate, isAlone = true) {
  const asked: [string, string][] = [];
  const evaluate = async (kind: string, body: string) => {
    asked.push([kind, body]);
    return evaluated;
  };
  const routes = [new Playground({ evaluate: by ?? evaluate, token, isAlone })];
  const server = new LocalServer({ listen: { host: '127.0.0.1', port: 0 }, routes });
  servers.push(server);
  await server.start();
  const base = `http://127.0.0.1:${server.address.port}`;
  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    fetch(`${base}${path}`, {
      method: 'POST',
      body,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    });
  return { base, port: server.address.port, post, asked };
}

function connected(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket));
    socket.on('error', reject);
  });
}

function questionTo(base: string): string {
  const head = [
    'POST /api/render HTTP/1.1',
    `host: ${new URL(base).host}`,
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    'content-length: 2',
    'connection: close',
  ];
  return `${head.join('\r\n')}\r\n\r\n{}`;
}

/** What comes until the server closes the connection. */
function answerTo(socket: Socket, question: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('end', () => resolve(text));
    socket.on('error', reject);
    socket.write(question);
  });
}

describe('the port of the playground', () => {
  it('answers who has the token, for each kind of question', async () => {
    const { post, asked } = await serve();
    for (const kind of ['render', 'test', 'eval']) {
      const response = await post(`/api/${kind}`, `{"of":"${kind}"}`);
      expect([response.status, await response.text()]).toEqual([200, '{"a":1}']);
    }
    expect(asked).toEqual(['render', 'test', 'eval'].map((kind) => [kind, `{"of":"${kind}"}`]));
  });

  it.each([
    ['without a token', { authorization: '' }, 401],
    ['with a wrong token', { authorization: 'Bearer abd' }, 401],
    ['with the token as a password', { authorization: `Basic ${btoa(`:${token}`)}` }, 401],
    ['from a page of another origin', { 'sec-fetch-site': 'cross-site' }, 403],
    ['of a form', { 'content-type': 'text/plain' }, 415],
  ])('evaluates nothing %s', async (_, headers, status) => {
    const { post, asked } = await serve();
    const response = await post('/api/render', '{}', headers);
    expect(response.status).toBe(status);
    expect(await response.text()).not.toBe('');
    expect(asked).toEqual([]);
  });

  it('answers each of 100 questions at once, although it has fewer places and evaluates a few', async () => {
    const running: (() => void)[] = [];
    const { base, port } = await serve(undefined, async () => {
      if (running.length >= playgroundLimits.waiting) return { kind: 'busy' };
      await new Promise<void>((resolve) => running.push(resolve));
      return { kind: 'answer', json: '{}' };
    });
    const sockets = await Promise.all(Array.from({ length: 100 }, () => connected(port)));
    const asked = sockets.map((socket) => answerTo(socket, questionTo(base)));
    while (running.length < playgroundLimits.waiting) await new Promise((resolve) => setImmediate(resolve));
    for (const end of running) end();
    const answers = await Promise.all(asked);
    for (const text of answers) expect(text).toMatch(/^HTTP\/1.1 (200|(429|503)[\s\S]*try again)/);
    expect(answers.filter((text) => text.startsWith('HTTP/1.1 200'))).toHaveLength(playgroundLimits.waiting);
  });

  it.each([
    [true, 'the address that hostward playground prints'],
    [false, 'the link on the status page of the daemon'],
  ])('says where the token is, whether it is alone on its port or not: %s', async (isAlone, place) => {
    const { base, post } = await serve(undefined, undefined, isAlone);
    const refused = await post('/api/eval', '{}', { authorization: '' });
    expect(await refused.json()).toEqual({ message: `the token is missing or wrong; it is in ${place}` });
    expect(await (await fetch(`${base}/playground`)).text()).toContain(`data-token-place="${place}"`);
  });

  it('refuses the script of its page with 200, because a browser writes anything else on its console as an error', async () => {
    const { post } = await serve({ kind: 'busy' });
    const asPage = { 'x-hostward-page': '1' };
    const told = async (headers: Record<string, string>) => {
      const { status, headers: said } = await post('/api/eval', '{}', headers);
      return [status, said.get('x-hostward-status'), said.get('retry-after')];
    };
    expect(await told({})).toEqual([429, null, '1']);
    expect(await told(asPage)).toEqual([200, '429', '1']);
    expect(await told({ ...asPage, authorization: '' })).toEqual([200, '401', null]);
  });

  it('says which method a question has', async () => {
    const { base, asked } = await serve();
    const response = await fetch(`${base}/api/render`);
    const told = [response.status, response.headers.get('allow'), await response.text()];
    expect(told).toEqual([405, 'POST', 'only POST is answered, found "GET"\n']);
    expect(asked).toEqual([]);
  });

  it('refuses a body that is too long in a sentence, and goes on', async () => {
    const { post, asked } = await serve();
    const response = await post('/api/render', 'x'.repeat(playgroundLimits.bodyBytes + 1));
    expect([response.status, await response.text()]).toEqual([413, 'the body is longer than 262144 bytes\n']);
    expect(asked).toEqual([]);
    expect((await post('/api/render', '{}')).status).toBe(200);
  });

  it.each([
    [{ kind: 'busy' }, 429],
    [{ kind: 'wrong', message: 'no' }, 400],
    [{ kind: 'failed', message: 'no' }, 503],
  ] as const)('tells of %j', async (evaluated, status) => {
    const { post } = await serve(evaluated);
    const response = await post('/api/render', '{}');
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ message: expect.stringMatching(/^(no$|too many)/) });
  });

  it('sends a page that names every file it needs, with a nonce of its own in its policy', async () => {
    const { base } = await serve();
    const pages = await Promise.all([fetch(`${base}/playground`), fetch(`${base}/`)]);
    const nonces = new Set<string>();
    for (const page of pages) {
      const policy = page.headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self' 'nonce-");
      expect(policy).toContain("require-trusted-types-for 'script'");
      const text = await page.text();
      const [, nonce = ''] = /data-style-nonce="([^"]+)"/.exec(text) ?? [];
      expect(policy).toContain(`'nonce-${nonce}'`);
      nonces.add(nonce);
      expect(text).not.toContain(token);
      const assets = [...text.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path]) => path as string);
      expect(assets.map((path) => path.replace(/-[^.]+/, ''))).toEqual([
        '/assets/pages.css',
        '/assets/playground.css',
        '/assets/playground.js',
        '/assets/icon.svg',
        '/assets/examples.json',
      ]);
      for (const path of assets) expect((await fetch(`${base}${path}`)).status).toBe(200);
    }
    expect(nonces.size).toBe(2);
  });
});
