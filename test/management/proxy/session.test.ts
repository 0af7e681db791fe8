import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ownTime } from '../../own-time.ts';
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

const merge = (spec: object) => ({ type: 'application/merge-patch+json', body: { spec } });

describe('a session through the server', () => {
  for (const [name, line, headers] of [
    ['WebSocket', `GET ${exec}`, websocket],
    ['SPDY', `POST ${exec}`, spdy],
    ['SPDY without a length', `POST ${exec}`, spdy.filter((line) => !line.startsWith('Content-Length'))],
  ] as const) {
    it(`echoes over ${name}, with the bytes that came together with the head`, async () => {
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
      expect(seen?.headers.get('transfer-encoding')).toBeUndefined();
      if (name !== 'WebSocket') expect(seen?.headers.get('x-stream-protocol-version')).toHaveLength(2);
      client.socket.destroy();
      await until(() => behind.open.size === 0, 'the end of the session behind');
    });
  }

  it('carries 10 MiB each way, whole', async () => {
    const sent = randomBytes(10 * 1024 * 1024);
    const client = await open(`GET ${exec}`, websocket);
    await until(() => client.text().includes('hello '), 'the beginning');
    client.write(sent);
    await until(() => client.text().length >= sent.length, 'the echo', 20_000);
    const text = Buffer.from(client.text(), 'latin1');
    const at = text.indexOf('hello ') + 'hello '.length;
    expect(text.subarray(at).equals(sent)).toBe(true);
    client.socket.destroy();
  });

  for (const code of [200, 403]) {
    it(`passes a ${code} on, closes both sides, and runs nothing that was sent behind it (CVE-2018-1002105)`, async () => {
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
    const client = await open(`GET ${exec}`, websocket);
    await until(() => client.text() !== '', 'the answer');
    expect(client.text()).toMatch(/^HTTP\/1.1 502 /);
    await client.closed;
  });

  it('ends within a second with its key, and is in the audit log with its bytes', async () => {
    const key = await behind.bench.keyFor('exec-key', { user: 'alice' });
    // Without a version of the streams the bytes are no frames, and nothing waits for the end of one.
    behind.upgradeWith((_request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nhello ');
      socket.pipe(socket);
    });
    const client = await open(`POST ${exec}`, spdy, key);
    await until(() => client.text().endsWith('hello '), 'the session');
    client.write('four');
    await until(() => client.text().endsWith('four'), 'the echo', 20_000);
    const tookMs = ownTime();
    await behind.bench.ask('PATCH', `${keysPath}/exec-key`, merge({ disabled: true }));
    await client.closed;
    expect(tookMs()).toBeLessThan(1_000);
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

  /** A frame from the upstream, on a channel of the Kubernetes protocols. */
  const frameOf = (channel: number, text: string) =>
    Buffer.concat([Buffer.of(0x82, text.length + 1, channel), Buffer.from(text)]);
  const closeFrame = (code: number, reason: string) =>
    Buffer.concat([Buffer.of(0x88, reason.length + 2, code >> 8, code & 0xff), Buffer.from(reason)]).toString('latin1');
  const disabled = 'the access key is disabled';
  const status = JSON.stringify({
    ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: disabled },
    ...{ reason: 'Unauthorized', code: 401 },
  });
  const errorFrame = `\x82\x7e\x00${String.fromCharCode(status.length + 1)}\x03${status}`;
  const closed = closeFrame(1008, disabled);
  const afterResult = closeFrame(1000, disabled);
  const early = frameOf(1, 'early').toString('latin1');
  const half = Buffer.of(0x82, 6, 1, 0x68);

  const cases: [string, string, string, Buffer[], string][] = [
    ['an exec', 'exec', 'v5.channel.k8s.io', [frameOf(1, 'early')], early + errorFrame + afterResult],
    ['an attach without output', 'attach', 'v4.channel.k8s.io', [], errorFrame + afterResult],
    ['an old exec', 'exec', 'channel.k8s.io', [], `\x82\x1b\x03${disabled}${afterResult}`],
    [
      'an exec in base64',
      'exec',
      'base64.channel.k8s.io',
      [],
      `\x81\x253${Buffer.from(disabled).toString('base64')}${afterResult}`,
    ],
    [
      'an exec that has its result',
      'exec',
      'v5.channel.k8s.io',
      [frameOf(3, '{}')],
      frameOf(3, '{}').toString('latin1') + closed,
    ],
    ['an exec within a message', 'exec', 'v5.channel.k8s.io', [Buffer.of(0x02, 2, 1, 0x68)], `\x02\x02\x01h${closed}`],
    [
      'a port-forward of two ports',
      'portforward?ports=80,443',
      'v4.channel.k8s.io',
      [],
      `\x82\x1b\x01${disabled}\x82\x1b\x03${disabled}${closed}`,
    ],
    ['a tunnel', 'portforward', 'SPDY/3.1+portforward.k8s.io', [frameOf(1, 'early')], early + closed],
    ['another program', 'proxy/x', 'v4.channel.k8s.io', [], closed],
    ['an exec whose frame never ends', 'exec', 'v5.channel.k8s.io', [half], half.toString('latin1')],
    ['an exec that has closed', 'exec', 'v5.channel.k8s.io', [Buffer.of(0x88, 0)], '\x88\x00'],
  ];
  const stream = frameOf(1, 'x'.repeat(100)).toString('latin1').repeat(400);

  it('tells sessions of all kinds why they end, between two frames', async () => {
    const key = await behind.bench.keyFor('told', { user: 'alice' });
    behind.upgradeWith((request, socket) => {
      const number = Number(request.headers['x-case']);
      const [, , protocol = 'v5.channel.k8s.io', parts = []] = cases[number] ?? [];
      const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: websocket'];
      socket.write(`${lines.join('\r\n')}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`);
      socket.resume();
      for (const part of parts) socket.write(part);
      if (number < cases.length) return;
      // The last one never pauses, and its pieces end within frames.
      let at = 0;
      const writing = setInterval(() => {
        socket.write(Buffer.from(stream.slice(at, at + 37), 'latin1'));
        at += 37;
      }, 1);
      socket.once('close', () => clearInterval(writing));
    });
    const pod = exec.slice(0, -'exec'.length);
    const clients: RawClient[] = [];
    for (const [number, path] of [...cases.map(([, path]) => path), 'exec'].entries())
      clients.push(await open(`GET ${pod}${path}`, [...websocket, `X-Case: ${number}`], key));
    const framesOf = (client: RawClient) => client.text().split('\r\n\r\n').slice(1).join('\r\n\r\n');
    const begun = (client: RawClient, number: number) => {
      const begin = Buffer.concat(cases[number]?.[3] ?? [frameOf(1, 'x')])
        .toString('latin1')
        .slice(3);
      return client.text().includes('\r\n\r\n') && framesOf(client).includes(begin);
    };
    await until(() => clients.every(begun), 'the first frames');
    await behind.bench.ask('PATCH', `${keysPath}/told`, merge({ disabled: true }));
    await Promise.all(clients.map((client) => client.closed));
    for (const [number, [what, , , , wanted]] of cases.entries())
      expect(`${what}: ${framesOf(clients[number] as RawClient)}`).toBe(`${what}: ${wanted}`);
    const last = framesOf(clients.at(-1) as RawClient);
    const passed = last.slice(0, -(errorFrame + afterResult).length);
    expect(last.slice(passed.length)).toBe(errorFrame + afterResult);
    expect(passed.length % 103).toBe(0);
    expect(stream.startsWith(passed)).toBe(true);
    await until(() => behind.open.size === 0, 'the end of the sessions behind');
  });

  it('tells an exec over SPDY why it ends, between two frames and only if it has no result', async () => {
    const key = await behind.bench.keyFor('told-spdy', { user: 'alice' });
    const reply = Buffer.of(0x80, 3, 0, 2, 0, 0, 0, 4, 0, 0, 0, 1);
    const output = Buffer.of(0, 0, 0, 5, 0, 0, 0, 2, 0x68, 0x69);
    const result = Buffer.of(0, 0, 0, 1, 1, 0, 0, 2, 0x7b, 0x7d);
    const sessions: [string, Buffer[], string][] = [
      ['exec', [reply, output], `\x00\x00\x00\x01\x01\x00\x00${String.fromCharCode(status.length)}${status}`],
      ['exec', [reply, result], ''],
      ['exec', [], ''],
      ['portforward', [reply, output], ''],
    ];
    behind.upgradeWith((request, socket) => {
      const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: SPDY/3.1'];
      socket.write(`${lines.join('\r\n')}\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n`);
      socket.resume();
      for (const part of sessions[Number(request.headers['x-case'])]?.[1] ?? []) socket.write(part);
    });
    const clients: RawClient[] = [];
    for (const [number, [subresource]] of sessions.entries())
      clients.push(await open(`POST ${exec.slice(0, -4)}${subresource}`, [...spdy, `X-Case: ${number}`], key));
    const bytesOf = (number: number) => clients[number]?.text().split('\r\n\r\n').slice(1).join('\r\n\r\n') ?? '';
    const begun = (number: number) => Buffer.concat(sessions[number]?.[1] ?? []).toString('latin1');
    const isOpen = (client: RawClient) => client.text().includes('\r\n\r\n');
    await until(() => clients.every((client, at) => isOpen(client) && bytesOf(at) === begun(at)), 'the first frames');
    await behind.bench.ask('PATCH', `${keysPath}/told-spdy`, merge({ disabled: true }));
    await Promise.all(clients.map((client) => client.closed));
    for (const [number, [, , wanted]] of sessions.entries()) expect(bytesOf(number)).toBe(begun(number) + wanted);
  });

  it('tells an exec that the upstream broke it off', async () => {
    behind.upgradeWith((_request, socket) => {
      const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: websocket'];
      socket.end(`${lines.join('\r\n')}\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n`);
    });
    const text = await answerTo(`GET ${exec}`, websocket);
    const message = 'virtual cluster shop/v1 broke the session off; start it again';
    expect(text).toContain(
      `"message":"${message}","reason":"ServiceUnavailable","code":502}${closeFrame(1000, message)}`,
    );
  });

  it('outlives an upstream that resets the connection right behind its 101', async () => {
    behind.upgradeWith((_request, socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n', () =>
        setImmediate(() => socket.resetAndDestroy()),
      ),
    );
    // The audit line of a session lies between the 101 and the session, and the reset shall fall into that time.
    const texts = await Promise.all(Array.from({ length: 8 }, () => answerTo(`GET ${exec}`, websocket)));
    for (const text of texts) expect(text).toMatch(/^HTTP\/1.1 (101 Switching Protocols|502 Bad Gateway)\r\n/);
  });

  it('tells a request that waits for the upstream why it gets no answer', async () => {
    const key = await behind.bench.keyFor('waits', { user: 'alice' });
    behind.answerWith(() => undefined);
    const answer = behind.bench.ask('GET', `${prefix}/api/v1/pods`, { key });
    await until(() => behind.seen.length === 1, 'the request behind');
    await behind.bench.ask('PATCH', `${keysPath}/waits`, merge({ disabled: true }));
    expect(await answer).toMatchObject({ code: 401, body: { kind: 'Status', message: disabled } });
  });

  it('counts as create, so that a scope with the verb get alone does not allow it', async () => {
    const scope = { rules: [{ verbs: ['get'], resources: [{ group: '', resources: ['*'] }] }] };
    const key = await behind.bench.keyFor('reader', { user: 'alice', scope });
    expect(await answerTo(`GET ${exec}`, websocket, key)).toMatch(/^HTTP\/1.1 403 /);
    expect(await answerTo(`POST ${exec}`, spdy, key)).toMatch(/^HTTP\/1.1 403 /);
    expect(behind.seen).toEqual([]);
  });

  it('refuses other protocols, upgrades of lists, and those with a body', async () => {
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
