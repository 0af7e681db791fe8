// Checks of lists, watches, patches, apply and deletion by their numbers, over TLS.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createdByAnnotation } from '../../../src/management/keys/rules/server-marks.ts';
import { type Bench, keysPath, openBench, until } from '../server/bench.ts';

let bench: Bench;
let count = 0;
const types = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

beforeAll(async () => {
  bench = await openBench({
    settings: { keys: { maxTTL: 0, requireExpiry: false, allowSupplied: false, perOwner: 1000 } },
  });
});
afterAll(() => bench.stop());

async function made(metadata: object = {}): Promise<string> {
  const name = `back-${count++}`;
  const { code, text } = await bench.ask('POST', keysPath, {
    body: { metadata: { name, ...metadata }, spec: { user: 'alice' } },
  });
  if (code !== 201) throw new Error(text);
  return name;
}

function patch(name: string, type: keyof typeof types, body: object | string, query = '') {
  return bench.ask('PATCH', `${keysPath}/${name}${query}`, { type: types[type], body });
}

function applied(name: string, spec: object, manager: string, more = '') {
  const body = { apiVersion: 'management.platform/v1', kind: 'OwnedAccessKey', metadata: { name }, spec };
  return patch(name, 'apply', body, `?fieldManager=${manager}${more}`);
}

async function read(name: string) {
  return (await bench.ask('GET', `${keysPath}/${name}`)).body;
}

describe('lists', () => {
  it('from the present, from any version, from one at least and from one exactly', async () => {
    const name = await made();
    const version = String((await bench.ask('GET', keysPath)).body['metadata']?.['resourceVersion']);
    await bench.ask('DELETE', `${keysPath}/${name}`);
    const has = async (query: string) => (await bench.ask('GET', `${keysPath}?${query}`)).text.includes(`"${name}"`);
    expect(await has('resourceVersion=0')).toBe(false);
    expect(await has(`resourceVersion=${version}&resourceVersionMatch=NotOlderThan`)).toBe(false);
    expect(await has(`resourceVersion=${version}&resourceVersionMatch=Exact`)).toBe(true);
  });

  it('unknown parameters are ignored, bad numbers are 400, and a negative limit counts as no limit', async () => {
    expect((await bench.ask('GET', `${keysPath}?zzz=1`)).code).toBe(200);
    expect((await bench.ask('GET', `${keysPath}?limit=many`)).code).toBe(400);
    expect((await bench.ask('GET', `${keysPath}?limit=-1`)).body['metadata']).not.toHaveProperty('continue');
  });
});

describe('watches', () => {
  it('with version 0 they begin with what is there, and without initial events with what comes', async () => {
    const name = await made();
    const first = await bench.follow(`${keysPath}?watch=true&resourceVersion=0`, bench.admin);
    const query = 'sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const later = await bench.follow(`${keysPath}?watch=true&${query}`, bench.admin);
    await until(() => first.events.some(({ object }) => (object?.['metadata']?.['name'] as unknown) === name), name);
    const next = await made();
    await until(() => later.events.length > 0, 'the first event');
    expect(later.events[0]).toMatchObject({ type: 'ADDED', object: { metadata: { name: next } } });
    first.stop();
    later.stop();
  });

  it('a version of the future waits', async () => {
    const watch = await bench.follow(`${keysPath}?watch=true&resourceVersion=999999`, bench.admin);
    await made();
    await bench.ask('GET', keysPath);
    expect(watch.events).toEqual([]);
    watch.stop();
  });

  it('a watch needs the verb, before it begins', async () => {
    const key = await bench.keyFor('no-watch', { user: 'alice', scope: {} });
    expect(await bench.ask('GET', `${keysPath}?watch=true`, { key })).toMatchObject({
      code: 403,
      body: { reason: 'Forbidden' },
    });
  });
});

describe('updates', () => {
  it('without a version they are allowed', async () => {
    const name = await made();
    const body = { metadata: { name }, spec: { user: 'alice', displayName: 'new' } };
    expect(await bench.ask('PUT', `${keysPath}/${name}`, { body })).toMatchObject({
      code: 200,
      body: { spec: { displayName: 'new' } },
    });
  });

  it('a text that is not a version is 400', async () => {
    const name = await made();
    const body = { metadata: { name, resourceVersion: 'abc' }, spec: { user: 'alice' } };
    expect((await bench.ask('PUT', `${keysPath}/${name}`, { body })).code).toBe(400);
  });

  it('what the server alone sets stays, and a deletion time is 422', async () => {
    const name = await made();
    const before = await read(name);
    const given = { name, creationTimestamp: '2001-01-01T00:00:00Z', generation: 99 };
    const { body } = await bench.ask('PUT', `${keysPath}/${name}`, {
      body: { metadata: given, spec: { user: 'alice' } },
    });
    expect(body['metadata']?.['creationTimestamp']).toBe(before['metadata']?.['creationTimestamp']);
    expect(body['metadata']?.['generation']).toBe(1);
    const going = { name, deletionTimestamp: '2030-01-01T00:00:00Z' };
    expect(
      (await bench.ask('PUT', `${keysPath}/${name}`, { body: { metadata: going, spec: { user: 'alice' } } })).code,
    ).toBe(422);
  });
});

describe('JSON patches', () => {
  it('a label where there are some; a missing parent, a failed test and a missing path are 422', async () => {
    // Each key has an annotation of the server, and no label.
    const add = [{ op: 'add', path: '/metadata/labels/a', value: 'b' }];
    expect((await patch(await made({ labels: { x: 'y' } }), 'json', add)).code).toBe(200);
    const name = await made();
    for (const body of [
      add,
      [{ op: 'test', path: '/spec/user', value: 'bob' }],
      [{ op: 'remove', path: '/spec/team' }],
    ])
      expect([body, (await patch(name, 'json', body)).code]).toEqual([body, 422]);
  });

  it('no list and bad JSON are 400; an unknown operation is 422, as on the real server of 1.36', async () => {
    const name = await made();
    expect((await patch(name, 'json', '[{"op":"fly","path":"/a"}]')).code).toBe(422);
    for (const body of ['{}', '[', '7']) expect([body, (await patch(name, 'json', body)).code]).toEqual([body, 400]);
  });

  it('escapes, the end of a list, move and copy', async () => {
    const name = await made({ annotations: { 'a/b': '1' } });
    const { code, body } = await patch(name, 'json', [
      { op: 'replace', path: '/metadata/annotations/a~1b', value: '2' },
      { op: 'copy', from: '/metadata/annotations/a~1b', path: '/metadata/annotations/c' },
      { op: 'move', from: '/metadata/annotations/c', path: '/metadata/annotations/d' },
      { op: 'add', path: '/metadata/finalizers', value: ['example.com/a'] },
      { op: 'add', path: '/metadata/finalizers/-', value: 'example.com/b' },
    ]);
    expect([code, body['metadata']?.['annotations'], body['metadata']?.['finalizers']]).toEqual([
      200,
      { 'a/b': '2', d: '2', [createdByAnnotation]: expect.stringMatching(/^user:/) },
      ['example.com/a', 'example.com/b'],
    ]);
  });

  it('names, uids, versions and kinds are not patched, and the result is validated', async () => {
    const name = await made();
    const replace = async (path: string, value: unknown) =>
      (await patch(name, 'json', [{ op: 'replace', path, value }])).code;
    expect(await replace('/metadata/name', 'other')).toBe(400);
    expect(await replace('/metadata/uid', 'other')).toBe(422);
    expect(await replace('/metadata/resourceVersion', '1')).toBe(409);
    expect(await replace('/kind', 'Other')).toBe(422);
    expect((await patch(name, 'json', [{ op: 'add', path: '/spec/ttl', value: 'x' }])).code).toBe(422);
  });

  it('an absent object is 404, and no operations change nothing', async () => {
    const name = await made();
    const before = await read(name);
    expect((await patch(name, 'json', [])).body['metadata']?.['resourceVersion']).toBe(
      before['metadata']?.['resourceVersion'],
    );
    expect((await patch('absent', 'json', [])).code).toBe(404);
  });
});

describe('apply', () => {
  const managers = async (name: string) =>
    ((await read(name))['metadata']?.['managedFields'] ?? []) as unknown as {
      manager: string;
      operation: string;
      fieldsV1: object;
      time: string;
    }[];

  it('an entry of the manager with its fields in their notation', async () => {
    const name = `back-${count++}`;
    await applied(name, { user: 'alice', displayName: 'a' }, 'first');
    expect(await managers(name)).toEqual([
      {
        ...{ manager: 'first', operation: 'Apply', apiVersion: 'management.platform/v1', fieldsType: 'FieldsV1' },
        time: expect.stringMatching(/Z$/),
        fieldsV1: { 'f:spec': { 'f:user': {}, 'f:displayName': {} } },
      },
    ]);
  });

  it('a conflict with an update names its version; the same value is shared', async () => {
    const name = await made();
    await patch(name, 'merge', { spec: { displayName: 'a' } }, '?fieldManager=editor');
    const { code, body } = await applied(name, { displayName: 'b' }, 'first');
    expect([code, body['message']]).toEqual([
      409,
      expect.stringContaining('conflict with "editor" using management.platform/v1'),
    ]);
    expect((await applied(name, { displayName: 'a' }, 'first')).code).toBe(200);
    expect((await managers(name)).map(({ manager }) => manager)).toEqual(expect.arrayContaining(['editor', 'first']));
  });

  it('lists of the spec are whole', async () => {
    const name = `back-${count++}`;
    await applied(name, { user: 'alice', groups: ['devs'] }, 'first');
    expect(await applied(name, { groups: ['devs', 'x'] }, 'second')).toMatchObject({
      code: 409,
      body: { message: expect.stringContaining('.spec.groups') },
    });
  });

  it('managed fields are cleared by [{}], and the default manager is the program', async () => {
    const name = await made();
    await bench.ask('PATCH', `${keysPath}/${name}`, {
      type: types.merge,
      body: { spec: { displayName: 'x' } },
      headers: { 'user-agent': 'pipeline/1.0' },
    });
    expect((await managers(name)).map(({ manager }) => manager)).toContain('pipeline');
    await patch(name, 'merge', { metadata: { managedFields: [{}] } });
    expect((await managers(name)).map(({ manager }) => manager)).not.toContain('pipeline');
  });
});

describe('deletion and limits', () => {
  it('foreground and orphan are finalizers, background is at once', async () => {
    const name = await made();
    const dry = await bench.ask('DELETE', `${keysPath}/${name}`, { body: { propagationPolicy: 'Background' } });
    expect(dry).toMatchObject({ code: 200, body: { kind: 'Status' } });
    for (const [policy, finalizer] of [
      ['Foreground', 'foregroundDeletion'],
      ['Orphan', 'orphan'],
    ] as const) {
      const { body } = await bench.ask('DELETE', `${keysPath}/${await made()}`, {
        body: { propagationPolicy: policy },
      });
      expect(body['metadata']?.['finalizers']).toEqual([finalizer]);
    }
  });

  it('options of null are none', async () => {
    expect(await bench.ask('DELETE', `${keysPath}/${await made()}`, { body: 'null' })).toMatchObject({ code: 200 });
  });

  it('a collection is deleted by its selector, and only the keys of the caller', async () => {
    const mine = await made({ labels: { gone: 'yes' } });
    const bobs = await bench.ask('POST', keysPath, {
      body: { metadata: { name: 'bobs', labels: { gone: 'yes' } }, spec: { user: 'bob' } },
    });
    const key = await bench.keyFor('deleter', { user: 'alice' });
    const { code, body } = await bench.ask('DELETE', `${keysPath}?labelSelector=gone%3Dyes`, { key });
    expect([code, (body['items'] as unknown as unknown[]).length]).toEqual([200, 1]);
    expect([
      (await bench.ask('GET', `${keysPath}/${mine}`)).code,
      (await bench.ask('GET', `${keysPath}/bobs`)).code,
    ]).toEqual([404, 200]);
    expect(bobs.code).toBe(201);
  });

  it('a body over 64 KiB is 413 and says the limit', async () => {
    const body = `{"spec":{"description":"${'a'.repeat(64 * 1024)}"}}`;
    expect(await bench.ask('POST', keysPath, { body })).toMatchObject({
      code: 413,
      body: { message: expect.stringContaining('limit is 65536') },
    });
  });

  it('warnings are 299 with quotes escaped', async () => {
    const { headers } = await bench.ask('POST', `${keysPath}?dryRun=All`, {
      body: { metadata: { name: 'w' }, spec: { user: 'alice', zzz: 1 } },
    });
    expect(String(headers['warning'])).toContain('299 - "unknown field \\"spec.zzz\\""');
  });

  it('login data of somebody who is no administrator is 403 with the field', async () => {
    const key = await bench.keyFor('login', { user: 'alice' });
    const body = { metadata: { name: 'with-login' }, spec: { identity: { username: 'a' } } };
    expect(await bench.ask('POST', keysPath, { key, body })).toMatchObject({
      code: 403,
      body: { details: { causes: [{ field: 'spec.identity' }] } },
    });
  });
});
