import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { keysPath, until } from '../server/bench.ts';
import { type Behind, openBehind, type RawClient, rawClient, requestText } from './upstream.ts';

const prefix = '/kubernetes/project/shop/virtualcluster/v1';
const exec = `${prefix}/api/v1/namespaces/default/pods/web/exec`;

let behind: Behind;
let alice: string;
beforeAll(async () => {
  behind = await openBehind();
  alice = await behind.bench.keyFor('alice-key', { user: 'alice' });
});
afterAll(() => behind.stop());
beforeEach(() => {
  behind.seen.length = 0;
  behind.upgradeWith(echo);
});

/** Says yes, and sends back what arrives. */
function echo(request: IncomingMessage, socket: Socket, head: Buffer): void {
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', `Upgrade: ${request.headers.upgrade}`];
  socket.write(`${lines.join('\r\n')}\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\nhello `);
  if (head.length > 0) socket.write(head);
  socket.pipe(socket);
}

const websocket = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Protocol: v5.channel.k8s.io'];
const spdy = [
  ...['Connection: Upgrade', 'Upgrade: SPDY/3.1', 'Content-Length: 0'],
  ...['X-Stream-Protocol-Version: v5.channel.k8s.io', 'X-Stream-Protocol-Version: v4.channel.k8s.io'],
];

async function open(line: string, headers: readonly string[], key = alice): Promise<RawClient> {
  const client = await rawClient(behind.bench);
  client.write(requestText(`${line} HTTP/1.1`, [`Authorization: Bearer ${key}`, ...headers]));
  return client;
}

async function answerTo(line: string, headers: readonly string[], key = alice): Promise<string> {
  const client = await open(line, headers, key);
  await client.closed;
  return client.text();
}

function auditLines(): Record<string, unknown>[] {
  const text = readFileSync(join(behind.bench.folder, 'audit.log'), 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('a session through the server', () => {
  for (const [name, line, headers] of [
    ['WebSocket', `GET ${exec}`, websocket],
    ['SPDY', `POST ${exec}`, spdy],
  ] as const) {
    it(`4: echoes over ${name}, with the bytes that came together with the head`, async () => {
      const client = await rawClient(behind.bench);
      client.write(
        `${requestText(`${line}?command=cat HTTP/1.1`, [`Authorization: Bearer ${alice}`, ...headers])}early `,
      );
      await until(() => client.text().endsWith('hello early '), 'the first echo');
      client.write('late');
      await until(() => client.text().endsWith('hello early late'), 'the second echo');
      expect(client.text()).toMatch(/^HTTP\/1.1 101 Switching Protocols\r\n/);
      expect(client.text()).toMatch(/\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n/);
      const [seen] = behind.seen;
      expect(seen).toMatchObject({ url: '/api/v1/namespaces/default/pods/web/exec?command=cat' });
      expect(seen?.headers.get('impersonate-user')).toEqual(['hostward:user:alice']);
      expect(seen?.headers.get('connection')).toEqual(['Upgrade']);
      if (name === 'SPDY') expect(seen?.headers.get('x-stream-protocol-version')).toHaveLength(2);
      client.socket.destroy();
      await until(() => behind.open.size === 0, 'the end of the session behind');
    });
  }

  it('5: carries 10 MiB each way, whole', async () => {
    const sent = randomBytes(10 * 1024 * 1024);
    const client = await open(`GET ${exec}`, websocket);
    await until(() => client.text().includes('hello '), 'the beginning');
    client.write(sent);
    await until(() => client.text().length >= sent.length, 'the echo');
    const text = Buffer.from(client.text(), 'latin1');
    const at = text.indexOf('hello ') + 'hello '.length;
    expect(text.subarray(at).equals(sent)).toBe(true);
    client.socket.destroy();
  });

  for (const code of [200, 403]) {
    it(`6: passes a ${code} on, closes both sides, and runs nothing that was sent behind it (CVE-2018-1002105)`, async () => {
      behind.upgradeWith((_request, socket) => {
        socket.write(`HTTP/1.1 ${code} Said\r\nContent-Length: 2\r\nX-From: behind\r\n\r\nno`);
        socket.on('data', () => behind.seen.push({ method: 'SMUGGLED', url: '', headers: new Map(), body: '' }));
      });
      const client = await rawClient(behind.bench);
      const first = requestText(`GET ${exec} HTTP/1.1`, [`Authorization: Bearer ${alice}`, ...websocket]);
      const second = requestText('DELETE /api/v1/nodes HTTP/1.1', []);
      client.write(first + second);
      await until(() => client.text().includes('X-From'), 'the answer');
      client.write(second);
      await client.closed;
      expect(client.text()).toMatch(new RegExp(`^HTTP/1.1 ${code} Said\r\n[\\s\\S]*\r\n\r\nno$`));
      await until(() => behind.open.size === 0, 'the end of the connection behind');
      expect(behind.seen).toHaveLength(1);
    });
  }

  it('does not follow a redirect of an upgrade (CVE-2020-8559)', async () => {
    behind.upgradeWith((_request, socket) =>
      socket.end('HTTP/1.1 302 Found\r\nLocation: https://other.example/run\r\nContent-Length: 0\r\n\r\n'),
    );
    const text = await answerTo(`GET ${exec}`, websocket);
    expect(text).toMatch(/^HTTP\/1.1 502 /);
    expect(text).not.toMatch(/location|other\.example/i);
    expect(behind.seen).toHaveLength(1);
  });

  it('refuses an upstream that changes to another protocol than the one asked for', async () => {
    behind.upgradeWith((_request, socket) => {
      socket.resume();
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n');
    });
    expect(await answerTo(`GET ${exec}`, websocket)).toMatch(/^HTTP\/1.1 502 /);
  });

  it('236: 10, 20: ends within a second with its key, and stands in the audit log with its bytes', async () => {
    const key = await behind.bench.keyFor('exec-key', { user: 'alice' });
    const client = await open(`POST ${exec}`, spdy, key);
    await until(() => client.text().endsWith('hello '), 'the session');
    client.write('four');
    await until(() => client.text().endsWith('four'), 'the echo');
    const startedMs = performance.now();
    const body = { spec: { disabled: true } };
    await behind.bench.ask('PATCH', `${keysPath}/exec-key`, { type: 'application/merge-patch+json', body });
    await client.closed;
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    await until(() => behind.open.size === 0, 'the end of the session behind');
    const ended = () => auditLines().filter(({ stage, bytesIn }) => stage === 'streamEnd' && bytesIn === 4);
    await until(() => ended().length === 1, 'the last audit line');
    const [end] = ended();
    expect(end).toMatchObject({ bytesIn: 4, bytesOut: 10, reason: expect.stringMatching(/key/) });
    const stages = auditLines().filter(({ id }) => id === end?.['id']);
    expect(stages.map(({ stage }) => stage)).toEqual(['intent', 'outcome', 'streamStart', 'streamEnd']);
    expect(stages[0]).toMatchObject({ request: 'create pods/exec web in default' });
    expect(stages[1]).toMatchObject({ code: 101 });
  });

  it('18: counts as create, so that a scope with the verb get alone does not allow it', async () => {
    const scope = { rules: [{ verbs: ['get'], resources: [{ group: '', resources: ['*'] }] }] };
    const key = await behind.bench.keyFor('reader', { user: 'alice', scope });
    expect(await answerTo(`GET ${exec}`, websocket, key)).toMatch(/^HTTP\/1.1 403 /);
    expect(await answerTo(`POST ${exec}`, spdy, key)).toMatch(/^HTTP\/1.1 403 /);
    expect(behind.seen).toEqual([]);
  });

  it('19: refuses other protocols, upgrades of lists, and those with a body', async () => {
    const cases: [string, string[]][] = [
      [`GET ${exec}`, ['Connection: Upgrade', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__']],
      [`GET ${exec}`, ['Connection: Upgrade', 'Upgrade: websocket, h2c']],
      [`GET ${exec}`, ['Connection: close', 'Upgrade: websocket']],
      [`GET ${prefix}/api/v1/pods`, websocket],
      [`GET ${prefix}/api/v1/pods?watch=true`, websocket],
      [`POST ${exec}`, ['Connection: Upgrade', 'Upgrade: SPDY/3.1', 'Content-Length: 3', '', 'abc']],
    ];
    for (const [line, headers] of cases) expect(await answerTo(line, headers)).toMatch(/^HTTP\/1.1 400 /);
    expect(behind.seen).toEqual([]);
  });

  it('takes the key from the list of protocols and does not pass it on', async () => {
    const bearer = `base64url.bearer.authorization.k8s.io.${Buffer.from(alice).toString('base64url')}`;
    const client = await rawClient(behind.bench);
    const upgrade = ['Connection: Upgrade', 'Upgrade: websocket'];
    const protocols = `Sec-WebSocket-Protocol: ${bearer}, v5.channel.k8s.io`;
    client.write(requestText(`GET ${exec} HTTP/1.1`, [...upgrade, protocols]));
    await until(() => client.text().endsWith('hello '), 'the session');
    expect(behind.seen[0]?.headers.get('sec-websocket-protocol')).toEqual(['v5.channel.k8s.io']);
    client.socket.destroy();
    const alone = await rawClient(behind.bench);
    alone.write(requestText(`GET ${exec} HTTP/1.1`, [...upgrade, `Sec-WebSocket-Protocol: ${bearer}`]));
    await alone.closed;
    expect(alone.text()).toMatch(/^HTTP\/1.1 400 /);
  });

  it('refuses a session without a key, with a Status', async () => {
    const client = await rawClient(behind.bench);
    client.write(requestText(`GET ${exec} HTTP/1.1`, websocket));
    await client.closed;
    expect(client.text()).toMatch(/^HTTP\/1.1 401 [\s\S]*"kind":"Status"/);
  });
});
