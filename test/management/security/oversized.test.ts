// Requests that are too large or too deep: sizes over the limits, nested documents, aliases and patches that grow. Each is refused
// with its own 4xx, and a good key is served all the while.
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ownTime } from '../../own-time.ts';
import { type Bench, keysPath, openBench } from '../server/bench.ts';
import { exchange, type Server } from './raw-client.ts';

let bench: Bench;
let server: Server;
let alice: string;

beforeAll(async () => {
  bench = await openBench();
  server = { port: bench.api.port, caPem: bench.api.caPem };
  alice = await bench.keyFor('alices', { user: 'alice' });
});
afterAll(() => bench.stop());

function create(spec: unknown, type = 'application/json', metadata: object = { generateName: 'big-' }) {
  const body = typeof spec === 'string' ? spec : { metadata, spec: spec as object };
  return bench.ask('POST', keysPath, { key: alice, body, type });
}

async function isWell(): Promise<void> {
  const tookMs = ownTime();
  expect(await bench.ask('GET', keysPath, { key: alice })).toMatchObject({ code: 200 });
  expect(tookMs()).toBeLessThan(2_000);
}

describe('sizes', () => {
  it('headers over 16 KiB are 431, long URLs among them', async () => {
    for (const text of [
      `GET ${keysPath} HTTP/1.1\r\nHost: localhost\r\nX-Big: ${'a'.repeat(17 * 1024)}\r\n\r\n`,
      `GET ${keysPath}?labelSelector=${'a'.repeat(17 * 1024)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    ]) {
      const { answers, isClosed } = await exchange(server, Buffer.from(text), 1);
      expect(answers[0]).toMatchObject({ code: 431, body: expect.stringContaining('limit is 16384 bytes') });
      expect(isClosed).toBe(true);
    }
  });

  it('a body over 64 KiB is 413, announced or not, and a compressed one is no shorter way', async () => {
    const big = `{"metadata":{"generateName":"big-"},"spec":{"description":"${'a'.repeat(64 * 1024)}"}}`;
    expect(await create(big)).toMatchObject({ code: 413, body: { reason: 'RequestEntityTooLarge' } });
    const head = `POST ${keysPath} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${alice}\r\nContent-Type: application/json\r\n`;
    const chunks = `${head}Transfer-Encoding: chunked\r\n\r\n${big.length.toString(16)}\r\n${big}\r\n0\r\n\r\n`;
    const { answers } = await exchange(server, Buffer.from(chunks), 1);
    expect(answers[0]).toMatchObject({ code: 413 });
    const bomb = gzipSync(Buffer.alloc(20_000_000, 'a'));
    const packed = Buffer.concat([
      Buffer.from(`${head}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`),
      bomb,
    ]);
    const [answer] = (await exchange(server, packed, 1)).answers;
    expect(answer?.code).toBeGreaterThanOrEqual(400);
    expect(answer?.code).toBeLessThan(500);
    await isWell();
  });

  it('a report of a direct endpoint may have 1 MiB, which is read for agent keys alone', async () => {
    const agent = await bench.keyFor('agent', { user: 'root', scope: { roles: [{ role: 'agent' }] } });
    const path = keysPath.replace('ownedaccesskeys', 'agentreports');
    const report = JSON.stringify({ spec: { cluster: 'c1', entries: [] } }).padEnd(900_000);
    const sent = (key: string, to: string, body: string) => bench.ask('POST', to, { key, body });
    expect(await sent(agent, path, report)).toMatchObject({ code: 201 });
    expect(await sent(agent, path, report.padEnd(1_100_000))).toMatchObject({ code: 413 });
    const unscoped = await bench.keyFor('no-agent', { user: 'root' });
    expect(await sent(unscoped, path, report.trim())).toMatchObject({ code: 201 });
    expect(await sent(unscoped, path, report)).toMatchObject({ code: 413 });
    const review = '/kubernetes/management/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
    expect(await sent(agent, review, report)).toMatchObject({ code: 413 });
    const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${alice}\r\nContent-Length: ${report.length}\r\n\r\n{`;
    // The rest of the body never comes, and nobody waits for it.
    const { answers } = await exchange(server, Buffer.from(head), 1);
    expect(answers[0]).toMatchObject({ code: 403 });
  });

  it('an object over 32 KiB is refused before it is stored', async () => {
    const annotations = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`a${at}`, 'x'.repeat(2_000)]));
    expect(await create({}, 'application/json', { generateName: 'big-', annotations })).toMatchObject({ code: 413 });
    const claims = { identity: { extraClaims: { a: 'x'.repeat(40_000) } } };
    const byAdmin = await bench.ask('POST', keysPath, { body: { metadata: { generateName: 'big-' }, spec: claims } });
    expect(byAdmin).toMatchObject({ code: 413, body: { reason: 'RequestEntityTooLarge' } });
  });
});

describe('documents', () => {
  const deep = 4_000;
  const nested = {
    'JSON arrays': `{"metadata":{"generateName":"d-"},"spec":{"scope":${'['.repeat(deep)}${']'.repeat(deep)}}}`,
    'JSON objects': `{"metadata":{"generateName":"d-"},"spec":{"identity":{"extraClaims":${'{"a":'.repeat(deep)}1${'}'.repeat(deep)}}}}`,
    'an unknown field': `{"metadata":{"generateName":"d-"},"zzz":${'['.repeat(deep)}${']'.repeat(deep)}}`,
    metadata: `{"metadata":{"generateName":"d-","managedFields":${'[{"fieldsV1":'.repeat(deep)}1${'}]'.repeat(deep)}},"spec":{}}`,
  };

  it.each(Object.entries(nested))('deep %s are 400 in every language, and never 500', async (_, text) => {
    for (const [method, path, type] of [
      ['POST', keysPath, 'application/json'],
      ['POST', keysPath, 'application/yaml'],
      ['PUT', `${keysPath}/alices`, 'application/json'],
      ['PATCH', `${keysPath}/alices`, 'application/merge-patch+json'],
      ['PATCH', `${keysPath}/alices?fieldManager=deep`, 'application/apply-patch+yaml'],
      ['PATCH', `${keysPath}/alices`, 'application/strategic-merge-patch+json'],
      ['DELETE', `${keysPath}/alices?dryRun=All`, 'application/json'],
    ] as const) {
      const { code, text: said } = await bench.ask(method, path, { body: text, type });
      expect([code, method, type, said.slice(0, 300)]).toEqual([
        expect.toSatisfy((it: number) => it >= 400 && it < 500),
        method,
        type,
        expect.any(String),
      ]);
    }
    const patch = `[{"op":"add","path":"/metadata/labels","value":${'['.repeat(deep)}${']'.repeat(deep)}}]`;
    const patched = await bench.ask('PATCH', `${keysPath}/alices`, {
      body: patch,
      type: 'application/json-patch+json',
    });
    expect(patched.code).toBeGreaterThanOrEqual(400);
    expect(patched.code).toBeLessThan(500);
    await isWell();
  });

  it('aliases that grow are refused, and cost little', async () => {
    const names = 'abcdefghi';
    const bomb = (open: string, close: string, item: (alias: string) => string) => {
      const lines = ['a: &a [x,x,x,x,x,x,x,x,x]'];
      for (let at = 1; at < names.length; at++) {
        const items = Array.from({ length: 9 }, (_, index) => item(`${index}: *${names[at - 1]}`)).join(',');
        lines.push(`${names[at]}: &${names[at]} ${open}${items}${close}`);
      }
      return lines.map((line) => `      ${line}`).join('\n');
    };
    for (const inner of [bomb('[', ']', (text) => text.replace(/^\d: /, '')), bomb('{', '}', (text) => `k${text}`)])
      for (const [method, path, type] of [
        ['POST', keysPath, 'application/yaml'],
        ['PATCH', `${keysPath}/alices?fieldManager=bomb`, 'application/apply-patch+yaml'],
      ] as const) {
        const tookMs = ownTime();
        const text = `apiVersion: management.platform/v1\nkind: OwnedAccessKey\nmetadata: {name: alices}\nspec:\n  identity:\n    extraClaims:\n${inner}\n`;
        const { code, text: said } = await bench.ask(method, path, { body: text, type });
        expect([code, said.slice(0, 200)]).toEqual([400, expect.stringContaining('alias')]);
        expect(tookMs()).toBeLessThan(1_000);
      }
    await isWell();
  });

  it('a JSON patch that copies itself into growth is refused', async () => {
    const operations = [
      { op: 'add', path: '/metadata/annotations', value: { a: 'x'.repeat(1_000) } },
      ...Array.from({ length: 30 }, (_, at) => ({
        op: 'copy',
        from: '/metadata/annotations',
        path: `/metadata/annotations/a${at}`,
      })),
    ];
    const tookMs = ownTime();
    const { code } = await bench.ask('PATCH', `${keysPath}/alices`, {
      body: JSON.stringify(operations),
      type: 'application/json-patch+json',
    });
    expect(code).toBeGreaterThanOrEqual(400);
    expect(code).toBeLessThan(500);
    expect(tookMs()).toBeLessThan(2_000);
  });
});
