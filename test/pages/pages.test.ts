import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { OperationsServer } from '../../src/daemon/operations/operations-server.ts';
import { Pages } from '../../src/pages/pages.ts';
import { createPageFacts } from '../../src/sync/report/look/page-facts.ts';
import { FakeWorld, putPair } from '../sync/fake-sync.ts';

let world: FakeWorld;
let server: OperationsServer;
afterEach(async () => {
  await server.stop();
  await world.stop();
});

async function serve(host = '127.0.0.1', more: Record<string, unknown> = {}) {
  world = new FakeWorld();
  putPair(world, 'web');
  await world.run();
  const told = {
    verdict: { state: 'inStep', isWell: true, sentence: 'in step: 1 object', since: '2026-01-01T00:00:00Z' },
    uptimeSeconds: 1,
    ...more,
  };
  const { clock } = world;
  const asked = { times: 0 };
  const pages = new Pages({
    clock,
    status: () => {
      asked.times++;
      return told;
    },
    facts: createPageFacts({ clock, syncs: () => [world.sync], contents: () => [], referrersOf: () => [] }),
    port: () => server.address.port,
  });
  const answers = {
    health: () => ({ isHealthy: true, lines: [] }),
    readiness: () => ({ isReady: true, lines: [], parts: [] }),
    metrics: async () => ({ contentType: 'text/plain', text: '' }),
    status: () => told,
    objects: () => [],
    objectStatus: () => undefined,
  };
  server = new OperationsServer({ host, port: 0 }, answers, { pages });
  await server.start();
  const { port } = server.address;
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers });
  return { get, port, told, asked };
}

describe('the pages of a daemon', () => {
  it('gives commands that ask this daemon, whatever its port', async () => {
    const trouble = [{ object: 'shop/api', state: 'refused/NameCollision', message: 'taken' }];
    const { get, port } = await serve('127.0.0.1', { trouble });
    expect(await (await get('/')).text()).toContain(
      `<code>hostward status shop/api --address 127.0.0.1:${port}</code>`,
    );
  });

  it.each([
    ['/', 200, 'in step: 1 object'],
    ['/objects', 200, 'default/web'],
    ['/objects?text=none', 200, 'No such object'],
    ['/objects/default/web', 200, 'nothing is to be written'],
    ['/objects/default/web?kind=Endpoints', 200, 'nothing is to be written'],
    ['/objects/default/web?kind=Secret', 404, 'Hostward does not look at Secret here, only at Endpoints'],
    ['/objects/default/none', 404, 'The virtual cluster has no Endpoints of this name, and the host has no copy'],
    ['/objects/default/%E2%80%AEnone', 404, '<h1>default/\\u202enone</h1>\n<p>No object can have this name.</p>'],
    ['/objects?text=%E2%80%AEx', 200, 'value="\\u202ex"'],
    ['/objects?text=%5Cu202ex', 200, 'value="\\u202ex"'],
    ['/objects/default', 404, 'Wanted /objects/NAMESPACE/NAME'],
    ['/objects/%E0%A4%A/x', 404, 'Wanted /objects/NAMESPACE/NAME'],
    ['/objects/a/%3Cscript%3Ealert(1)%3C%2Fscript%3E', 404, '<h1>a/&lt;script&gt;alert(1)&lt;/script&gt;</h1>'],
    [
      '/objects?text=%22%3E%3Cscript%3Ealert(1)%3C/script%3E',
      200,
      'value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"',
    ],
  ])('answers %s with %i, whole without a script, and closed to strangers', async (path, status, words) => {
    const { get } = await serve();
    const answer = await get(path);
    const page = await answer.text();
    expect([answer.status, page.includes(words)]).toEqual([status, true]);
    expect(page).not.toContain('<script>');
    expect(page).toMatch(/As of <time id="asof" datetime="2026-/);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; script-src 'self'; style-src 'self'; .*frame-ancestors 'none'; require-trusted-types-for 'script'/,
      ),
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
      'cache-control': 'no-store',
    });
    expect(answer.headers.has('set-cookie')).toBe(false);
  });

  it.each([
    ['/', "'none'"],
    ['/objects', "'self'"],
    ['/objects/default/web', "'none'"],
  ])('lets a form be sent from %s to %s, for the filter', async (path, place) => {
    const { get } = await serve();
    const policy = (await get(path)).headers.get('content-security-policy');
    expect(policy).toContain(`form-action ${place};`);
  });

  it('answers 304 while nothing is new, and a page again when a fact changes, but not for an age', async () => {
    const { get, told } = await serve();
    const etag = (await get('/')).headers.get('etag') as string;
    const again = async () => (await get('/', { 'if-none-match': etag })).status;
    expect(await again()).toBe(304);
    told.uptimeSeconds = 99;
    await world.clock.advance(5_000);
    expect(await again()).toBe(304);
    told.verdict.sentence = 'in step: 2 objects';
    await world.clock.advance(5_000);
    expect(await again()).toBe(200);
  });

  it('asks the daemon for its status at most once a second, however many people look', async () => {
    const { get, asked } = await serve();
    await Promise.all(Array.from({ length: 20 }, () => get('/')));
    expect(asked.times).toBe(1);
    await world.clock.advance(1_000);
    await get('/');
    expect(asked.times).toBe(2);
  });

  it('answers a page about an object again when the object has changed', async () => {
    const { get } = await serve();
    const etag = (await get('/objects/default/web')).headers.get('etag') as string;
    const again = async () => (await get('/objects/default/web', { 'if-none-match': etag })).status;
    expect(await again()).toBe(304);
    await world.change(() => putPair(world, 'web', '10.0.0.9'));
    expect(await again()).toBe(200);
  });

  it('tells a script of a page that its object has gone with 200, and everybody else with 404', async () => {
    const { get } = await serve();
    const told = async (headers = {}) => {
      const { status, headers: said } = await get('/objects/default/gone', headers);
      return [status, said.get('x-hostward-status')];
    };
    expect(await told()).toEqual([404, null]);
    expect(await told({ 'x-hostward-page': '1' })).toEqual([200, '404']);
  });

  it('serves scripts and styles under names that hold their hash, and no other file', async () => {
    const { get } = await serve();
    const paths = [...(await (await get('/')).text()).matchAll(/"(\/assets\/[^"]+)"/g)].map(
      ([, path]) => path as string,
    );
    expect(paths.map((path) => path.replace(/-[A-Z0-9]{8}\./, '-HASH.'))).toEqual([
      '/assets/pages-HASH.css',
      '/assets/status-HASH.js',
      '/assets/icon-HASH.svg',
    ]);
    for (const path of paths) {
      const answer = await get(path);
      expect([answer.status, answer.headers.get('cache-control')]).toEqual([
        200,
        'public, max-age=31536000, immutable',
      ]);
    }
    for (const path of ['/assets/', '/assets/../package.json', '/assets/%2e%2e/main.js', '/assets/status.js'])
      expect((await get(path)).status).toBe(404);
  });

  it('weighs at most 15 kB for the browser', async () => {
    const { get } = await serve();
    const { brotliCompressSync } = await import('node:zlib');
    const page = await (await get('/')).text();
    const paths = [...page.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path]) => path as string);
    let bytes = brotliCompressSync(page).length;
    for (const path of paths) bytes += brotliCompressSync(await (await get(path)).bytes()).length;
    expect(bytes).toBeLessThanOrEqual(15_000);
  });

  it('refuses a page that has rebound its name, and says how to get here to whom it is not', async () => {
    const { port } = await serve('0.0.0.0');
    const ask = (address: string, host: string, path = '/'): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connect(port, address, () =>
          socket.end(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`),
        );
        let text = '';
        socket.on('data', (chunk) => {
          text += chunk;
        });
        socket.on('end', () => resolve(text));
        socket.on('error', reject);
      });
    expect(await ask('127.0.0.1', `evil.example:${port}`)).toMatch(/^HTTP\/1.1 421/);
    const others = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
    const outside = others.find(({ family, internal }) => family === 'IPv4' && !internal);
    // A machine without a network has no address to come from.
    if (outside === undefined) return;
    const refused = await ask(outside.address, `${outside.address}:${port}`);
    expect(refused).toMatch(/^HTTP\/1.1 403/);
    expect(refused).toContain(`kubectl port-forward POD ${port}:${port}`);
    expect(refused).not.toContain('in step');
    const status = await ask(outside.address, `${outside.address}:${port}`, '/status');
    expect(status).toMatch(/^HTTP\/1.1 403/);
    expect(status).toContain(`kubectl port-forward POD ${port}:${port}\nand open http://localhost:${port}/status`);
    expect(status).not.toContain('in step');
  });
});
