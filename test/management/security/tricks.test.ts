// Forty seeded variants each of header, path and smuggling tricks, sent as raw bytes over TLS to a management API: none gets
// the rights of somebody else, none breaks the server, and after each the connection is closed or means what it meant.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Dice } from '../model/dice.ts';
import { type Bench, keysPath, openBench } from '../server/bench.ts';
import { headerTricks } from './header-tricks.ts';
import { pathTricks } from './path-tricks.ts';
import { type Exchange, exchange, type Server } from './raw-client.ts';
import { smugglingTricks } from './smuggling-tricks.ts';

/** Of each kind; more by the environment. */
const variants = Number(process.env['HOSTWARD_TRICKS'] ?? 12);
const seeds = Array.from({ length: variants }, (_, at) => at + 1);
const whoami = '/kubernetes/management/apis/authentication.k8s.io/v1/selfsubjectreviews';
const json = 'Content-Type: application/json\r\nAccept: application/json\r\n';

let bench: Bench;
let server: Server;
let alice: string;
let bob: string;
let before: string;

async function world(): Promise<string> {
  const names = ['alices', 'bobs'];
  const read = await Promise.all(names.map((name) => bench.ask('GET', `${keysPath}/${name}`)));
  return read.map(({ code, body }) => `${code} ${body['metadata']?.['resourceVersion']}`).join(' ');
}

beforeAll(async () => {
  bench = await openBench();
  server = { port: bench.api.port, caPem: bench.api.caPem };
  alice = await bench.keyFor('alices', { user: 'alice' });
  bob = await bench.keyFor('bobs', { user: 'bob' });
  before = await world();
});
afterAll(() => bench.stop());

/** The request that must stay itself: its answer has its id. */
function canary(id: string): string {
  return `GET /kubernetes/management/version HTTP/1.1\r\nHost: localhost\r\nAudit-Id: ${id}\r\n\r\n`;
}

async function send(text: string, id: string): Promise<Exchange> {
  return exchange(server, Buffer.from(text + canary(id), 'utf8'), 2);
}

/** The end at once, one answer and the end, or one answer and that of the next request. */
function expectSane({ answers, isClosed, rest }: Exchange, id: string, what: string): void {
  const ids = answers.map(({ headers }) => headers.get('audit-id'));
  expect(rest, what).not.toContain('hidden');
  expect(answers.length > 0 || isClosed || rest !== '', `${what}: no answer, and the connection stays open`).toBe(true);
  expect(ids, what).not.toContain('hidden');
  for (const { code } of answers) expect(code, what).toBeLessThan(500);
  if (answers.length < 2)
    expect(isClosed || ids[0] === id || rest !== '', `${what}: one answer, and the connection stays open`).toBe(true);
  else expect(ids.slice(1), what).toEqual([id]);
}

describe('tricks with headers', () => {
  it.each(seeds)('variant %i gets no rights of anybody else', async (seed) => {
    const dice = new Dice(seed);
    const lines = headerTricks[seed % headerTricks.length]?.(dice, { own: alice, foreign: bob }) ?? [];
    const what = lines.join(' | ').slice(0, 300);
    const body = '{}';
    const asked = `POST ${whoami} HTTP/1.1\r\nHost: localhost\r\n${json}Content-Length: ${body.length}\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
    const id = `canary-${seed}`;
    const found = await send(asked, id);
    expectSane(found, id, what);
    const [first] = found.answers;
    if (first !== undefined && first.code < 300 && first.headers.get('audit-id') !== id) {
      const { username, groups } = (
        JSON.parse(first.body) as { status: { userInfo: { username: string; groups: string[] } } }
      ).status.userInfo;
      expect([username, groups], what).toEqual(['alice', ['devs', 'system:authenticated']]);
    }
    const read = `GET ${keysPath}/bobs HTTP/1.1\r\nHost: localhost\r\n${lines.join('\r\n')}\r\n\r\n`;
    const other = await send(read, id);
    expectSane(other, id, what);
    for (const { code, body: text } of other.answers)
      expect(code === 200 && text.includes('"name":"bobs"'), what).toBe(false);
    expect(await world()).toBe(before);
  });

  it('two credentials are none', async () => {
    for (const lines of [
      [alice, bob],
      [bob, alice],
      [alice, alice],
    ]) {
      const head = lines.map((key) => `Authorization: Bearer ${key}\r\n`).join('');
      const { answers } = await send(`GET ${keysPath} HTTP/1.1\r\nHost: localhost\r\n${head}\r\n`, 'canary');
      expect([401, 429]).toContain(answers[0]?.code);
    }
  });
});

describe('tricks with paths', () => {
  it.each(seeds)('variant %i reaches nothing of anybody else', async (seed) => {
    const dice = new Dice(seed);
    const path = pathTricks[seed % pathTricks.length]?.(dice) ?? '';
    for (const authorization of [`Authorization: Bearer ${alice}\r\n`, '']) {
      // Who may delete a selection of the own keys does so, and that is no trick.
      for (const method of path.includes('?') ? ['GET'] : ['GET', 'DELETE']) {
        const id = `canary-${seed}`;
        const found = await send(`${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${authorization}\r\n`, id);
        const what = `${method} ${path.slice(0, 200)} ${authorization === '' ? 'without a key' : ''}`;
        expectSane(found, id, what);
        const [first] = found.answers;
        if (first === undefined || first.headers.get('audit-id') === id) continue;
        const isOpen = first.code < 300;
        expect(isOpen && /"name":"bobs"|bank/.test(first.body), what).toBe(false);
        if (authorization === '') expect(isOpen, what).toBe(false);
      }
    }
    expect(await world()).toBe(before);
  });

  it('a path that is not plain is 400 for everybody, and a key in a namespace is nowhere', async () => {
    for (const path of [
      '/kubernetes/management//apis',
      '/kubernetes/management/apis/./x',
      '/kubernetes/management/%2e%2e/x',
    ])
      expect(await bench.ask('GET', path)).toMatchObject({ code: 400, body: { reason: 'BadRequest' } });
    const inNamespace = keysPath.replace('ownedaccesskeys', 'namespaces/p-shop/ownedaccesskeys');
    expect(await bench.ask('GET', inNamespace)).toMatchObject({ code: 404 });
    expect(await bench.ask('GET', inNamespace, { key: alice })).toMatchObject({ code: 404 });
  });
});

describe('tricks with the end of a body', () => {
  const names = Object.keys(smugglingTricks);

  it.each(seeds)('variant %i hides no second request', async (seed) => {
    const dice = new Dice(seed);
    const name = names[seed % names.length] as string;
    const hidden = `GET ${keysPath} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${bob}\r\nAudit-Id: hidden\r\n\r\n`;
    const head = `POST ${whoami} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${alice}\r\n${json}`;
    const text = smugglingTricks[name]?.(dice, hidden, head) ?? '';
    const id = `canary-${seed}`;
    const found = await send(text, id);
    const what = `${name}: ${JSON.stringify(text.slice(head.length, head.length + 120))}`;
    expectSane(found, id, what);
    for (const { code } of found.answers) expect(code, what).toBeLessThan(500);
    expect(await world()).toBe(before);
  });

  it.each(['gzip, chunked', 'identity, chunked', 'chunked, chunked'])(
    'a body in the transfer encoding "%s" is 400, and nothing is made',
    async (encoding) => {
      const head = `POST ${keysPath} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${alice}\r\n${json}`;
      const body = JSON.stringify({ metadata: { name: 'encoded' } });
      const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
      const { answers } = await send(`${head}Transfer-Encoding: ${encoding}\r\n\r\n${chunks}`, 'canary-encoded');
      expect(answers[0]?.code).toBe(400);
      expect(await bench.ask('GET', `${keysPath}/encoded`)).toMatchObject({ code: 404 });
    },
  );
});
