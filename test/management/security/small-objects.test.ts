// This API has small objects: bodies, stored objects and the counts of their metadata have limits, whatever the verb and the
// language. Keys that were stored under larger limits are served and deleted, and each change must make them smaller.
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { MemoryStore } from '../../../src/store/memory-store.ts';
import { type Answer, type Ask, type Bench, type Body, keysPath, openBench, people, until } from '../server/bench.ts';
import { openSocket, sendsFirst } from './raw-client.ts';

let bench: Bench;
let alice: string;
const database = Object.assign(new MemoryStore({ clock: systemClock }), { copyTo: async () => undefined });

beforeAll(async () => {
  bench = await openBench({ database, settings: { keys: { ...people.keys, perOwner: 1_000 } } });
  alice = await bench.keyFor('alices', { user: 'alice' });
});
afterAll(() => bench.stop());

const types = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};
const path = `${keysPath}/alices`;
const named = { apiVersion: 'management.platform/v1', kind: 'OwnedAccessKey', metadata: { name: 'alices' } };

function ask(method: string, where: string, body: unknown, how: Partial<Ask> = {}): Promise<Answer> {
  return bench.ask(method, where, { key: alice, body: body as object, ...how });
}

function entries(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, '']));
}

function withMeta(metadata: object): object {
  return { ...named, metadata: { ...named.metadata, ...metadata } };
}

const ways: [string, (metadata: object) => Promise<Answer>][] = [
  ['create', (metadata) => ask('POST', keysPath, { ...named, metadata: { ...metadata, name: 'counted' }, spec: {} })],
  ['dry run', (metadata) => ask('POST', `${keysPath}?dryRun=All`, withMeta({ ...metadata, name: 'dry' }))],
  ['PUT', (metadata) => ask('PUT', path, withMeta(metadata))],
  ['merge patch', (metadata) => ask('PATCH', path, { metadata }, { type: types.merge })],
  ['strategic merge patch', (metadata) => ask('PATCH', path, { metadata }, { type: types.strategic })],
  [
    'JSON patch',
    (metadata) => {
      const operations = Object.entries(metadata).map(([field, value]) => {
        return { op: 'add', path: `/metadata/${field}`, value };
      });
      return ask('PATCH', path, operations, { type: types.json });
    },
  ],
  ['apply', (metadata) => ask('PATCH', `${path}?fieldManager=m&force=true`, withMeta(metadata), { type: types.apply })],
  [
    'apply that creates',
    (metadata) => {
      const body = { ...named, metadata: { ...metadata, name: 'applied' }, spec: {} };
      return ask('PATCH', `${keysPath}/applied?fieldManager=m`, body, { type: types.apply });
    },
  ],
];

describe.each(ways)('%s', (name, send) => {
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'x' };
  const counted = {
    labels: entries(65),
    annotations: entries(65),
    finalizers: Array.from({ length: 33 }, (_, at) => `x.example/f${at}`),
    ownerReferences: Array.from({ length: 33 }, (_, at) => ({ ...owner, uid: `u${at}` })),
  };
  it.each(Object.entries(counted))('has at most so many %s', async (field, value) => {
    const most = Array.isArray(value) ? 32 : 64;
    expect(await send({ [field]: value })).toMatchObject({
      code: 422,
      body: {
        details: { causes: [{ reason: 'FieldValueTooMany', field: `metadata.${field}` }] },
        message: expect.stringContaining(`Too many: ${most + 1}: must have at most ${most} items`),
      },
    });
  });

  it('has at most 64 KiB, and the refusal says so', async () => {
    expect(await send({ annotations: { a: 'x'.repeat(64 * 1024) } })).toMatchObject({
      code: 413,
      body: { kind: 'Status', reason: 'RequestEntityTooLarge', message: expect.stringContaining('limit is 65536') },
    });
  });

  it('makes no object over 32 KiB', async () => {
    expect(await send({ annotations: { a0: 'x'.repeat(40 * 1024) } })).toMatchObject({
      code: 413,
      body: { message: expect.stringContaining('limit is 32768 bytes for an object') },
    });
  });

  // The marks of the server itself are among the annotations.
  it('goes on with less', async () => {
    const answer = await send({ annotations: entries(60), labels: entries(60) });
    expect([name, answer.code]).toEqual([name, expect.toSatisfy((code) => code === 200 || code === 201)]);
  });
});

describe('managers', () => {
  it('are at most 32, those of earlier writes among them', async () => {
    await ask('POST', keysPath, { metadata: { name: 'managed' }, spec: {} });
    const apply = (manager: string) => {
      const body = { ...named, metadata: { name: 'managed' }, spec: { displayName: 'x' } };
      return ask('PATCH', `${keysPath}/managed?fieldManager=${manager}`, body, { type: types.apply });
    };
    let last: Answer | undefined;
    for (let at = 0; at < 40 && last?.code !== 422; at++) last = await apply(`m${at}`);
    expect(last?.body).toMatchObject({
      details: { causes: [{ reason: 'FieldValueTooMany', field: 'metadata.managedFields' }] },
    });
    expect((await apply('m0')).code).toBe(200);
  });

  it('that a client sends are counted too', async () => {
    const { body } = await ask('GET', path, undefined);
    const [entry] = (body['metadata'] as Body)['managedFields'] as unknown as object[];
    const managedFields = Array.from({ length: 33 }, (_, at) => ({ ...entry, manager: `sent${at}` }));
    const { metadata } = body;
    expect(await ask('PUT', path, { ...body, metadata: { ...metadata, managedFields } })).toMatchObject({ code: 422 });
  });
});

describe('a key that is larger already', () => {
  const key = '/registry/ownedaccesskeys/alices';
  const large = `${keysPath}/alices`;

  beforeAll(async () => {
    const { record } = await database.get(key);
    const stored = JSON.parse(record?.value ?? '') as { metadata: object };
    const finalizers = ['x.example/wait'];
    const ownerReferences = Array.from({ length: 4_800 }, (_, at) => {
      return { apiVersion: 'example.com/v1', kind: 'Thing', name: `n${at}`, uid: `u${at}${'x'.repeat(200)}` };
    });
    const metadata = { ...stored.metadata, finalizers, ownerReferences, labels: entries(100) };
    const written = await database.write(key, {
      expect: record?.revision ?? 0,
      value: JSON.stringify({ ...stored, metadata }),
    });
    expect(written.ok).toBe(true);
  });

  it('is served, and authenticates', async () => {
    const { code, body } = await ask('GET', large, undefined);
    expect([code, ((body['metadata'] as Body)['ownerReferences'] as unknown as object[]).length]).toEqual([200, 4_800]);
  });

  it('does not grow, neither in bytes nor in counts', async () => {
    const grown = await ask('PATCH', large, { spec: { description: 'longer' } }, { type: types.merge });
    expect(grown).toMatchObject({ code: 413, body: { message: expect.stringContaining('must make it smaller') } });
    const more = { metadata: { ownerReferences: null, labels: { more: '' } } };
    expect(await ask('PATCH', large, more, { type: types.merge })).toMatchObject({ code: 422 });
  });

  it('shrinks, step by step or at once', async () => {
    const remove = [{ op: 'remove', path: '/metadata/ownerReferences/0' }];
    expect(await bench.ask('PATCH', large, { body: remove, type: types.json })).toMatchObject({ code: 200 });
    const less = { metadata: { labels: { a0: null } } };
    expect(await bench.ask('PATCH', large, { body: less, type: types.merge })).toMatchObject({ code: 200 });
  });

  it('is deleted, with its finalizer', async () => {
    expect(await ask('DELETE', large, undefined)).toMatchObject({ code: 200 });
    const open = [{ op: 'remove', path: '/metadata/finalizers' }];
    expect(await bench.ask('PATCH', large, { body: open, type: types.json })).toMatchObject({ code: 200 });
    expect(await bench.ask('GET', large)).toMatchObject({ code: 404 });
  });
});

describe('a client that is still sending', () => {
  const body = Buffer.alloc(2_000_000, 'a');
  const chunk = Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);
  it.each([
    ['announced', `Content-Length: ${body.length}`, body],
    ['in one chunk', 'Transfer-Encoding: chunked', chunk],
  ])('can read the 413: two megabytes, %s', async (_how, framing, bytes) => {
    const head = `POST ${keysPath} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${bench.admin}\r\n${framing}\r\n\r\n`;
    const text = await sendsFirst({ port: bench.api.port, caPem: bench.api.caPem }, head, bytes);
    expect(text).toMatch(/^HTTP\/1\.1 413 [\s\S]*limit is 65536/);
  });

  // They held more memory than the uploads that were let in, and ended a server with 256 MiB.
  it('is not one of a thousand: the oldest of those that were refused are cut', async () => {
    const where = { port: bench.api.port, caPem: bench.api.caPem };
    const head = `POST ${keysPath} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n{`;
    const sockets: TLSSocket[] = [];
    const refused = async () => {
      const socket = await openSocket(where);
      sockets.push(socket);
      const answered = new Promise<string>((resolve) => socket.once('data', (part) => resolve(String(part))));
      socket.write(head);
      expect(await answered).toMatch(/^HTTP\/1\.1 401 /);
    };
    for (let count = 0; count < 64; count++) await refused();
    expect(sockets.filter(({ closed }) => closed)).toEqual([]);
    for (let count = 0; count < 6; count++) await refused();
    await until(() => sockets.slice(0, 6).every(({ closed }) => closed), 'the end of the oldest six');
    expect(sockets.slice(6).filter(({ closed }) => closed)).toEqual([]);
    for (const socket of sockets) socket.destroy();
  });
});

describe('a key that uses too much of the event loop', () => {
  it('is answered 429 with Retry-After, and the others are served', async () => {
    const shares = { ofOne: 0.005, ofOwner: 1, altogether: 1, small: 1 };
    const narrow = await openBench({ loopShares: shares });
    try {
      const key = await narrow.keyFor('busy', { user: 'alice' });
      const body = { spec: { description: 'x'.repeat(4_000) }, metadata: { labels: entries(60) } };
      let last: Answer | undefined;
      for (let count = 0; count < 500 && last?.code !== 429; count++)
        last = await narrow.ask('PATCH', `${keysPath}/busy?dryRun=All`, { key, body, type: types.merge });
      expect(last).toMatchObject({
        code: 429,
        headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
        body: { reason: 'TooManyRequests', message: expect.stringContaining('of the last 10 seconds of this server') },
      });
      const other = await narrow.keyFor('calm', { user: 'bob' });
      expect(await narrow.ask('GET', `${keysPath}/calm`, { key: other })).toMatchObject({ code: 200 });
    } finally {
      await narrow.stop();
    }
  });
});

describe('the bytes of an owner', () => {
  it('are a quota beside the number of keys: 403 for a new key and for a change, and room again after a delete', async () => {
    const { keys, ...others } = people;
    const full = await openBench({ settings: { ...others, keys: { ...keys, perOwner: 10 } } });
    try {
      const spec = { user: 'bob', description: 'x'.repeat(4_000) };
      const make = (name: string, query = '') => {
        const metadata = { name, annotations: { a: 'x'.repeat(17_000) } };
        return full.ask('POST', keysPath + query, { body: { metadata, spec } });
      };
      const refused = {
        code: 403,
        body: { message: expect.stringContaining('bytes, and may have 40960 with this one') },
      };
      await full.keyFor('small', { user: 'bob' });
      expect((await make('first')).code).toBe(201);
      expect(await make('second')).toMatchObject(refused);
      expect(await make('second', '?dryRun=All')).toMatchObject(refused);
      const body = { metadata: { annotations: { a: 'x'.repeat(25_000) } } };
      expect(await full.ask('PATCH', `${keysPath}/small`, { body, type: types.merge })).toMatchObject(refused);
      await full.ask('DELETE', `${keysPath}/first`);
      expect((await make('second')).code).toBe(201);
    } finally {
      await full.stop();
    }
  });
});
