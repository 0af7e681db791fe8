// Checks 65 to 100 and 141 to 188 of the specification: create, update, the three patches and server-side apply.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, type Ask, type Bench, keysPath, openBench } from './bench.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench({
    settings: { keys: { maxTTL: 0, requireExpiry: false, allowSupplied: true, perOwner: 500 } },
  });
});
afterAll(() => bench.stop());

let count = 0;
const fresh = () => `made-${++count}`;
const types = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

function create(body: object | string, how: Ask & { query?: string } = {}): Promise<Answer> {
  return bench.ask('POST', `${keysPath}${how.query ?? ''}`, { body, ...how });
}

async function made(spec: object = {}, metadata: object = {}): Promise<string> {
  const name = fresh();
  const answer = await create({ metadata: { name, ...metadata }, spec: { user: 'alice', ...spec } });
  if (answer.code !== 201) throw new Error(answer.text);
  return name;
}

function patch(name: string, type: keyof typeof types, body: object | string, query = ''): Promise<Answer> {
  return bench.ask('PATCH', `${keysPath}/${name}${query}`, { type: types[type], body });
}

/** What the database has of the hidden fields; a copy of it can be read while the server has the file. */
async function storedSealed(name: string): Promise<object> {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-sealed-'));
  try {
    await bench.api.backUp(join(folder, 'copy'), false);
    const database = new DatabaseSync(join(folder, 'copy', 'keys.db'));
    const select = database.prepare('SELECT value FROM log WHERE key = ? ORDER BY revision DESC LIMIT 1');
    const value = String(select.get(`/registry/ownedaccesskeys/${name}`)?.['value']);
    database.close();
    return JSON.parse(value).hidden.sealed;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const causes = ({ body }: Answer): [string, string][] =>
  ((body['details']?.['causes'] ?? []) as unknown as { reason: string; field: string }[]).map(({ reason, field }) => [
    reason,
    field,
  ]);

describe('create', () => {
  it('the server sets uid, version, generation, time and managers', async () => {
    const { code, body } = await create({ metadata: { name: fresh() }, spec: { user: 'alice', displayName: 'CI' } });
    expect(code).toBe(201);
    expect(body).toMatchObject({
      kind: 'OwnedAccessKey',
      apiVersion: 'management.platform/v1',
      metadata: {
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        resourceVersion: expect.stringMatching(/^\d+$/),
        generation: 1,
        creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        managedFields: [{ operation: 'Update', fieldsV1: { 'f:spec': { 'f:displayName': {} } } }],
      },
      spec: { type: 'User', user: 'alice', key: expect.stringMatching(/^mpk_/) },
      status: {},
    });
  });

  it('4.3 of the requirements: YAML without Content-Type and with one, apiVersion and kind given or left out', async () => {
    const name = fresh();
    const yaml = `apiVersion: management.platform/v1
kind: OwnedAccessKey
metadata:
  name: ${name}
spec:
  displayName: Pipeline
  ttl: 1728000
  type: User
  user: alice
status: {}
`;
    expect(await create(yaml, { type: 'application/yaml' })).toMatchObject({
      code: 201,
      body: { spec: { ttl: 1728000 } },
    });
    expect(await create(`metadata:\n  name: ${fresh()}\nspec: {user: alice}\n`, { type: '' })).toMatchObject({
      code: 201,
    });
    const put = await bench.ask('PUT', `${keysPath}/${name}`, {
      type: 'application/yaml',
      body: yaml.replace('Pipeline', 'Release'),
    });
    expect(put).toMatchObject({ code: 200, body: { spec: { displayName: 'Release' } } });
    const annotation = [{ op: 'add', path: '/metadata/annotations', value: { team: 'red' } }];
    expect(await patch(name, 'json', annotation)).toMatchObject({
      code: 200,
      body: { metadata: { annotations: { team: 'red' } } },
    });
    expect(await bench.ask('DELETE', `${keysPath}/${name}`)).toMatchObject({ code: 200 });
  });

  const refused: [string, object, number, [string, string][]][] = [
    ['no name', { spec: { user: 'alice' } }, 422, [['FieldValueRequired', 'metadata.name']]],
    ['a bad name', { metadata: { name: 'Bad_Name' }, spec: {} }, 422, [['FieldValueInvalid', 'metadata.name']]],
    [
      'a wrong type',
      { metadata: { name: 'x' }, spec: { ttl: 'long', disabled: 'y' } },
      422,
      [
        ['FieldValueTypeInvalid', 'spec.disabled'],
        ['FieldValueTypeInvalid', 'spec.ttl'],
      ],
    ],
    [
      'an unknown type of key',
      { metadata: { name: 'x' }, spec: { type: 'Robot' } },
      422,
      [['FieldValueNotSupported', 'spec.type']],
    ],
    ['a negative ttl', { metadata: { name: 'x' }, spec: { ttl: -1 } }, 422, [['FieldValueInvalid', 'spec.ttl']]],
    [
      'a ttl that is no integer',
      { metadata: { name: 'x' }, spec: { ttl: 1.5 } },
      422,
      [['FieldValueTypeInvalid', 'spec.ttl']],
    ],
    [
      'a ttl beyond a hundred years',
      { metadata: { name: 'x' }, spec: { ttl: 3153600001 } },
      422,
      [['FieldValueInvalid', 'spec.ttl']],
    ],
    [
      'all causes at once',
      { metadata: { name: 'x' }, spec: { ttl: -1, user: 'system:x', scope: { roles: [{ role: 'no' }] } } },
      422,
      [
        ['FieldValueInvalid', 'spec.ttl'],
        ['FieldValueInvalid', 'spec.user'],
        ['FieldValueNotSupported', 'spec.scope.roles[0].role'],
      ],
    ],
    [
      'two owners',
      { metadata: { name: 'x' }, spec: { user: 'alice', team: 'red' } },
      422,
      [['FieldValueInvalid', 'spec.team']],
    ],
    ['an unknown user', { metadata: { name: 'x' }, spec: { user: 'zoe' } }, 422, [['FieldValueInvalid', 'spec.user']]],
    [
      'a mark of the server',
      { metadata: { name: 'x', labels: { 'hostward.dev/a': 'b' } }, spec: {} },
      422,
      [['FieldValueForbidden', 'metadata.labels[hostward.dev/a]']],
    ],
    [
      'a rule with a wildcard within a step',
      { metadata: { name: 'x' }, spec: { scope: { rules: [{ nonResourceURLs: ['/healthz*'] }] } } },
      422,
      [['FieldValueInvalid', 'spec.scope.rules[0].nonResourceURLs[0]']],
    ],
    [
      'a weak supplied value',
      { metadata: { name: 'x' }, spec: { key: 'short' } },
      422,
      [['FieldValueInvalid', 'spec.key']],
    ],
    ['a resourceVersion', { metadata: { name: 'x', resourceVersion: '5' }, spec: {} }, 400, []],
    ['another apiVersion', { apiVersion: 'v2', metadata: { name: 'x' } }, 400, []],
    ['another kind', { kind: 'Pod', metadata: { name: 'x' } }, 400, []],
    ['a label that is a number', { metadata: { name: 'x', labels: { a: 1 } } }, 400, []],
    [
      'a blocked owner of an unknown kind',
      {
        metadata: {
          name: 'x',
          ownerReferences: [{ apiVersion: 'v1', kind: 'Secret', name: 'a', uid: 'b', blockOwnerDeletion: true }],
        },
        spec: {},
      },
      422,
      [['FieldValueForbidden', 'metadata.ownerReferences[0].blockOwnerDeletion']],
    ],
    [
      'an owner that lies in a namespace',
      {
        metadata: {
          name: 'x',
          ownerReferences: [
            { apiVersion: 'management.platform/v1', kind: 'VirtualClusterInstance', name: 'a', uid: 'b' },
          ],
        },
        spec: {},
      },
      422,
      [['FieldValueInvalid', 'metadata.ownerReferences[0]']],
    ],
  ];
  it.each(refused)('%s is refused with its field', async (_name, body, code, fields) => {
    const answer = await create(body);
    expect({ code: answer.code, causes: causes(answer) }).toEqual({ code, causes: expect.arrayContaining(fields) });
    expect(causes(answer)).toHaveLength(fields.length);
    expect(answer.body).toMatchObject({ kind: 'Status', status: 'Failure', code });
  });

  it('blockOwnerDeletion of a key that the caller may not delete is 422', async () => {
    const owner = await made({ user: 'bob' });
    const { body } = await bench.ask('GET', `${keysPath}/${owner}`);
    const uid = String(body['metadata']?.['uid']);
    const reference = {
      apiVersion: 'management.platform/v1',
      kind: 'OwnedAccessKey',
      name: owner,
      uid,
      blockOwnerDeletion: true,
    };
    const scope = {
      rules: [{ verbs: ['create'], resources: [{ group: 'management.platform', resources: ['ownedaccesskeys'] }] }],
    };
    const key = await bench.keyFor(fresh(), { user: 'alice', scope });
    const child = { metadata: { name: fresh(), ownerReferences: [reference] }, spec: { scope: {} } };
    expect(await create(child, { key })).toMatchObject({ code: 422 });
    expect(await create({ ...child, spec: { user: 'alice' } })).toMatchObject({ code: 201 });
  });

  it('blockOwnerDeletion of a key that the caller cannot see is answered as that of an absent one', async () => {
    const hidden = await made({ user: 'bob' });
    const mine = await made({ user: 'alice' });
    const uidOf = async (name: string) =>
      String((await bench.ask('GET', `${keysPath}/${name}`)).body['metadata']?.['uid']);
    const key = await bench.keyFor(fresh(), { user: 'alice' });
    const childOf = async (name: string, uid: string) => {
      const about = { apiVersion: 'management.platform/v1', kind: 'OwnedAccessKey', name, uid };
      const metadata = { name: 'child-of', ownerReferences: [{ ...about, blockOwnerDeletion: true }] };
      const { code, text } = await create({ metadata, spec: {} }, { key, query: '?dryRun=All' });
      return { code, text: text.replaceAll(name, 'NAME') };
    };
    const absent = await childOf('absent', 'u-1');
    expect(absent).toMatchObject({ code: 422, text: expect.stringContaining('may not delete the owner') });
    expect(await childOf(hidden, await uidOf(hidden))).toEqual(absent);
    expect(await childOf(mine, await uidOf(mine))).toMatchObject({ code: 201 });
  });

  it('a taken name is 409', async () => {
    const name = await made();
    expect(await create({ metadata: { name }, spec: {} })).toMatchObject({
      code: 409,
      body: { reason: 'AlreadyExists', message: `ownedaccesskeys.management.platform "${name}" already exists` },
    });
  });

  it('generateName makes a name, and a name wins', async () => {
    const generated = await create({ metadata: { generateName: 'ci-' }, spec: { user: 'alice' } });
    expect(generated.body['metadata']?.['name']).toMatch(/^ci-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    const name = fresh();
    const both = await create({ metadata: { name, generateName: 'ci-' }, spec: { user: 'alice' } });
    expect(both.body['metadata']?.['name']).toBe(name);
  });

  it('unknown and double fields are told of, refused or passed over', async () => {
    const body = () => `{"metadata":{"name":"${fresh()}"},"spec":{"user":"alice","zzz":1,"user":"alice"}}`;
    const warned = await create(body());
    expect([warned.headers['warning']].flat().join()).toMatch(
      /unknown field .*spec\.zzz.*duplicate field .*spec\.user/,
    );
    expect(await create(body(), { query: '?fieldValidation=Strict' })).toMatchObject({ code: 400 });
    const silent = await create(body(), { query: '?fieldValidation=Ignore' });
    expect([silent.code, String(silent.headers['warning'])]).toEqual([201, expect.not.stringMatching(/field/)]);
    expect(await create(body(), { query: '?fieldValidation=Perhaps' })).toMatchObject({ code: 422 });
    const yaml = (query = '') =>
      create(`metadata:\n  name: ${fresh()}\nspec:\n  user: bob\n  "user": alice\n`, {
        query,
        headers: { 'content-type': 'application/yaml' },
      });
    const told = await yaml();
    expect(told).toMatchObject({ code: 201, body: { spec: { user: 'alice' } } });
    expect([told.headers['warning']].flat().join()).toContain('line 5: key \\"user\\" already set in map');
    expect(await yaml('?fieldValidation=Strict')).toMatchObject({
      code: 400,
      body: { message: expect.stringContaining('strict decoding error: line 5: key "user" already set in map') },
    });
    expect((await yaml('?fieldValidation=Ignore')).code).toBe(201);
    const unknown = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`f${at}`, 1]));
    const strange = () => ({ metadata: { name: fresh() }, spec: { user: 'alice' }, ...unknown });
    const crowded = await create(strange());
    // Python's clients refuse an answer of more than 100 headers, and Node's one of more than 16 KiB of them.
    expect([crowded.code, [crowded.headers['warning']].flat().length < 60]).toEqual([201, true]);
    expect(String(crowded.headers['warning'])).toMatch(/and 46\d more warnings/);
    expect(await create(strange(), { query: '?fieldValidation=Strict' })).toMatchObject({
      code: 400,
      body: { message: expect.stringMatching(/unknown field "f99", and 400 more$/) },
    });
    const fields = Array.from({ length: 6_000 }, (_, at) => `"${at.toString(36)}":0`);
    const huge = await create(`{"metadata":{"name":"${fresh()}"},"spec":{"user":"alice"},${fields.join()}}`);
    expect([huge.code, String(huge.headers['warning'])]).toEqual([201, expect.stringContaining('5961 more warnings')]);
  });

  it('refuses managers that would make conflicts long or forge lines', async () => {
    const name = await made({}, { labels: { a: 'b' } });
    const { body } = await bench.ask('GET', `${keysPath}/${name}`);
    const sent = (entry: object) => {
      const owned = { 'f:metadata': { 'f:labels': { 'f:a': {} } } };
      const kept = { operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: owned };
      const managedFields = [{ manager: 'x', ...kept, ...entry }];
      return bench.ask('PUT', `${keysPath}/${name}`, {
        body: { ...body, metadata: { ...body['metadata'], managedFields } },
      });
    };
    const path = 'metadata.managedFields[0]';
    expect(causes(await sent({ manager: 'x'.repeat(129) }))).toEqual([['FieldValueTooLong', `${path}.manager`]]);
    expect(causes(await sent({ manager: 'a\nb' }))).toEqual([['FieldValueInvalid', `${path}.manager`]]);
    expect(causes(await sent({ subresource: 'x'.repeat(257) }))).toEqual([
      ['FieldValueTooLong', `${path}.subresource`],
    ]);
    expect((await sent({ manager: 'x'.repeat(128) })).code).toBe(200);
  });

  it('a dry run checks everything, keeps nothing and shows no key', async () => {
    const name = fresh();
    const tried = await create({ metadata: { name }, spec: { user: 'alice' } }, { query: '?dryRun=All' });
    expect(tried).toMatchObject({ code: 201, body: { metadata: { name } } });
    expect(tried.text).not.toContain('mpk_');
    expect(await bench.ask('GET', `${keysPath}/${name}`)).toMatchObject({ code: 404 });
    expect(await create({ metadata: { name }, spec: {} }, { query: '?dryRun=Some' })).toMatchObject({ code: 422 });
  });

  it('deprecated fields are kept, with a warning that names what replaces them', async () => {
    const spec = { user: 'alice', parent: 'p', scope: { allowPlatformCli: true, rules: [{ verbs: ['get'] }] } };
    const answer = await create({ metadata: { name: fresh() }, spec });
    const warnings = [answer.headers['warning']].flat().join();
    for (const words of ['spec.parent: deprecated', 'allowPlatformCli: deprecated', 'rules: deprecated'])
      expect(warnings).toContain(words);
    expect(answer.body['spec']).toMatchObject(spec);
    const path = `${keysPath}/${String(answer.body['metadata']?.['name'])}`;
    const patched = async (body: object) => {
      const headers = { 'content-type': 'application/merge-patch+json' };
      const { code, headers: got } = await bench.ask('PATCH', path, { body, headers });
      expect(code).toBe(200);
      return [got['warning'] ?? []].flat().join();
    };
    // Whoever sets a label or disables a key has nothing to do with the rules.
    expect(await patched({ metadata: { labels: { a: 'b' } } })).not.toContain('deprecated');
    expect(await patched({ spec: { disabled: true } })).not.toContain('deprecated');
    expect(await patched({ spec: { scope: { rules: [{ verbs: ['list'] }] } } })).toContain('rules: deprecated');
  });

  it('hidden fields go in and never come out, the last-applied annotation included', async () => {
    const secret = 'zebra-quartz-1234567890-ABCDEFGHIJ';
    const hidden = { identity: { username: 'a', connectorData: `${secret}-a` }, oidcLogin: { idToken: `${secret}-b` } };
    const applied = JSON.stringify({ spec: { key: secret, ...hidden } });
    const name = fresh();
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': applied };
    const answer = await create({ metadata: { name, annotations }, spec: { user: 'alice', key: secret, ...hidden } });
    expect(answer).toMatchObject({ code: 201, body: { spec: { key: secret, identity: { username: 'a' } } } });
    expect(answer.text).not.toContain(`${secret}-`);
    const table = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };
    for (const [path, headers] of [
      [`${keysPath}/${name}`, {}],
      [keysPath, {}],
      [`${keysPath}?includeObject=Object`, table],
    ] as const)
      expect((await bench.ask('GET', path, { headers })).text).not.toContain(secret);
    const copy = [{ op: 'copy', from: '/spec/identity/connectorData', path: '/spec/description' }];
    // As the real server, a copy of what is not there copies nothing.
    const copied = await patch(name, 'json', copy);
    expect([copied.text.includes(secret), copied.body['spec']?.['description']]).toEqual([false, undefined]);
    expect(await patch(name, 'json', [{ op: 'test', path: '/spec/key', value: secret }])).toMatchObject({ code: 422 });
    expect(await bench.ask('GET', keysPath, { key: secret })).toMatchObject({ code: 200 });
    const again = await create({ metadata: { name: fresh() }, spec: { user: 'alice', key: secret } });
    expect(again).toMatchObject({ code: 422, body: { details: { causes: [{ field: 'spec.key' }] } } });
    expect(again.text).not.toContain(secret);
  });
});

describe('update', () => {
  it('3.2: in a PUT an absent identity keeps its hidden part and null clears it; a patch clears what it removes', async () => {
    const connectorData = 'hidden-connector-data';
    // Only the file can tell: no answer ever has it.
    const isKept = async (name: string) => {
      const sealed = await storedSealed(name);
      return 'connectorData' in sealed;
    };
    const withIdentity = () =>
      made({ identity: { username: 'a', connectorData }, oidcLogin: { idToken: 'hidden-token' } });
    const put = (name: string, spec: object) =>
      bench.ask('PUT', `${keysPath}/${name}`, { body: { metadata: { name }, spec: { user: 'alice', ...spec } } });
    const name = await withIdentity();
    expect(await isKept(name)).toBe(true);
    expect(await put(name, { identity: { username: 'b' } })).toMatchObject({ code: 200 });
    expect(await isKept(name)).toBe(true);
    expect(await put(name, { displayName: 'without' })).toMatchObject({ code: 200 });
    expect([await isKept(name), Object.keys(await storedSealed(name))]).toEqual([true, ['connectorData', 'idToken']]);
    expect(await put(name, { identity: { username: 'c' } })).toMatchObject({ code: 200 });
    expect(await put(name, { displayName: 'null', identity: null })).toMatchObject({ code: 200 });
    expect(Object.keys(await storedSealed(name))).toEqual(['idToken']);
    const patched = await withIdentity();
    expect(await patch(patched, 'merge', { spec: { displayName: 'x' } })).toMatchObject({ code: 200 });
    expect(await isKept(patched)).toBe(true);
    expect(await patch(patched, 'merge', { spec: { identity: null } })).toMatchObject({ code: 200 });
    expect(Object.keys(await storedSealed(patched))).toEqual(['idToken']);
  });

  it('versions and generations move as they should', async () => {
    const name = await made();
    const { body: before } = await bench.ask('GET', `${keysPath}/${name}`);
    const put = (body: object) => bench.ask('PUT', `${keysPath}/${name}`, { body });
    const same = await put(before);
    expect(same.body['metadata']?.['resourceVersion']).toBe(before['metadata']?.['resourceVersion']);
    const changed = await put({ ...before, spec: { ...(before['spec'] as object), description: 'd' } });
    expect(changed).toMatchObject({ code: 200, body: { metadata: { generation: 2 } } });
    expect(await put({ ...before, spec: { user: 'alice' } })).toMatchObject({
      code: 409,
      body: { reason: 'Conflict' },
    });
    const labelled = await patch(name, 'merge', { metadata: { labels: { a: 'b' } } });
    expect(labelled.body['metadata']).toMatchObject({ generation: 2, labels: { a: 'b' } });
    expect(await put({ metadata: { name }, spec: { user: 'alice' } })).toMatchObject({ code: 200 });
  });

  it('names, uids, absent objects and other places', async () => {
    const name = await made();
    const put = (path: string, body: object) => bench.ask('PUT', `${keysPath}${path}`, { body });
    expect(await put(`/${name}`, { metadata: { name: 'other' } })).toMatchObject({ code: 400 });
    expect(await put(`/${name}`, { metadata: { name, uid: 'other' } })).toMatchObject({ code: 409 });
    expect(await put('/absent', { metadata: { name: 'absent' } })).toMatchObject({ code: 404 });
    expect(await put('', { metadata: { name } })).toMatchObject({ code: 405 });
    expect(await put(`/${name}/status`, { metadata: { name } })).toMatchObject({ code: 404 });
  });

  it('user, team, subject, type and value never change; an echo of the value does no harm', async () => {
    const key = await bench.keyFor('immutable', { user: 'alice' });
    for (const [field, value] of Object.entries({ user: 'bob', type: 'Other', key: 'something-else' })) {
      const answer = await patch('immutable', 'merge', { spec: { [field]: value } });
      expect([answer.code, causes(answer)]).toEqual([422, [['FieldValueInvalid', `spec.${field}`]]]);
    }
    expect(await patch('immutable', 'merge', { spec: { key } })).toMatchObject({ code: 200 });
    expect(await patch('immutable', 'merge', { spec: { key: '' } })).toMatchObject({ code: 200 });
  });
});

describe('patches', () => {
  const jsonCases: [string, object | string, number][] = [
    ['adds to a map that is not there', [{ op: 'add', path: '/metadata/labels/a', value: 'b' }], 422],
    ['a test that fails', [{ op: 'test', path: '/spec/user', value: 'bob' }], 422],
    ['removes what is not there', [{ op: 'remove', path: '/spec/none' }], 422],
    ['an unknown operation, which the kit answers as the real server of 1.36', [{ op: 'twist', path: '/a' }], 422],
    ['not an array', { op: 'add' }, 400],
    ['no JSON', '[', 400],
    ['another name', [{ op: 'replace', path: '/metadata/name', value: 'x' }], 400],
    ['a stale version', [{ op: 'replace', path: '/metadata/resourceVersion', value: '1' }], 409],
    ['a wrong type', [{ op: 'add', path: '/spec/ttl', value: 'x' }], 422],
    ['nothing', [], 200],
    ['the hidden part of the record', [{ op: 'add', path: '/hidden', value: { record: {} } }], 200],
  ];
  it.each(jsonCases)('json patch, %s', async (_name, body, code) => {
    expect(await patch(await made(), 'json', body)).toMatchObject({ code });
  });

  it('more than 10,000 operations are too many', async () => {
    const body = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'OwnedAccessKey' }));
    expect(await patch(await made(), 'json', body)).toMatchObject({ code: 413 });
  });

  it('merge patches, strategic ones, and those of no known type', async () => {
    const name = await made({ description: 'd' });
    expect((await patch(name, 'merge', { spec: { description: null } })).body['spec']).not.toHaveProperty(
      'description',
    );
    expect(await patch(name, 'merge', { metadata: { resourceVersion: '1' } })).toMatchObject({ code: 409 });
    expect(await patch(name, 'merge', [])).toMatchObject({ code: 400 });
    expect(await patch(name, 'merge', { spec: { zzz: 1 } }, '?fieldValidation=Strict')).toMatchObject({ code: 422 });
    expect(await patch(name, 'merge', {}, '?force=true')).toMatchObject({ code: 422 });
    expect(await patch(name, 'strategic', { spec: { displayName: 's' } })).toMatchObject({ code: 200 });
    const other = await bench.ask('PATCH', `${keysPath}/${name}`, { type: 'text/plain', body: '{}' });
    expect(other).toMatchObject({ code: 415, body: { reason: 'UnsupportedMediaType' } });
  });
});

describe('server-side apply', () => {
  const apply = (name: string, spec: object, manager: string, more = '') => {
    const body = { apiVersion: 'management.platform/v1', kind: 'OwnedAccessKey', metadata: { name }, spec };
    return patch(name, 'apply', body, `?fieldManager=${manager}${more}`);
  };

  it('creates with the key in the answer, once, and changes nothing the second time', async () => {
    const name = fresh();
    const first = await apply(name, { user: 'alice', displayName: 'a' }, 'm1');
    expect(first).toMatchObject({ code: 201, body: { spec: { key: expect.stringMatching(/^mpk_/) } } });
    expect([first.headers['warning']].flat().join()).toMatch(/shown in this answer alone.*hostward keys rotate NAME/);
    const refused = await apply(fresh(), { user: 'nobody' }, 'm1');
    expect([refused.code, refused.headers['warning']]).toEqual([422, undefined]);
    const again = await apply(name, { user: 'alice', displayName: 'a' }, 'm1');
    expect(again.code).toBe(200);
    expect(again.text).not.toContain('mpk_');
    expect(again.body['metadata']?.['resourceVersion']).toBe(first.body['metadata']?.['resourceVersion']);
  });

  it('wants a manager, refuses conflicts, takes over by force, drops what it no longer says', async () => {
    const name = fresh();
    const body = { apiVersion: 'management.platform/v1', kind: 'OwnedAccessKey', metadata: { name }, spec: {} };
    expect(await patch(name, 'apply', body)).toMatchObject({ code: 422 });
    await apply(name, { user: 'alice', displayName: 'a', description: 'd' }, 'm1');
    expect(await apply(name, { displayName: 'b' }, 'm2')).toMatchObject({
      code: 409,
      body: { details: { causes: [{ reason: 'FieldManagerConflict', field: '.spec.displayName' }] } },
    });
    expect(await apply(name, { displayName: 'b' }, 'm2', '&force=true')).toMatchObject({ code: 200 });
    const dropped = await apply(name, { user: 'alice' }, 'm1');
    expect(dropped.body['spec']).toEqual({ user: 'alice', displayName: 'b', type: 'User' });
  });

  it('bodies that are no configuration', async () => {
    const name = await made();
    const base = { apiVersion: 'management.platform/v1', kind: 'OwnedAccessKey', metadata: { name } };
    const cases: [object | string, number][] = [
      [{ ...base, metadata: { name, managedFields: [{}] } }, 400],
      [{ metadata: { name } }, 400],
      [{ ...base, metadata: { name: 'other' } }, 400],
      [{ ...base, metadata: { name, resourceVersion: '1' } }, 409],
      [{ ...base, spec: { zzz: 1 } }, 400],
      ['a: [', 400],
    ];
    for (const [body, code] of cases)
      expect([body, (await patch(name, 'apply', body, '?fieldManager=m')).code]).toEqual([body, code]);
    const absent = { ...base, metadata: { name: 'absent', resourceVersion: '1' } };
    expect(await patch('absent', 'apply', absent, '?fieldManager=m')).toMatchObject({ code: 409 });
    expect(await apply('dry', { user: 'alice' }, 'm', '&dryRun=All')).toMatchObject({ code: 201 });
    expect(await bench.ask('GET', `${keysPath}/dry`)).toMatchObject({ code: 404 });
  });

  it('a value that an apply supplies is taken, and owned by nobody', async () => {
    const name = fresh();
    const key = 'apply-quartz-1234567890-ABCDEFGHIJ';
    const answer = await apply(name, { user: 'alice', key }, 'm1');
    expect(answer.code).toBe(201);
    expect(JSON.stringify(answer.body['metadata'])).not.toContain('f:key');
    expect(await bench.ask('GET', keysPath, { key })).toMatchObject({ code: 200 });
  });

  it('tells what is wrong with a JSON patch, an unknown field beside a wrong type, and a list of all projects', async () => {
    await bench.keyFor('told', { user: 'alice', ttl: 600 });
    const test = [{ op: 'test', path: '/spec/ttl', value: 601 }];
    const tested = await bench.ask('PATCH', `${keysPath}/told`, { type: types.json, body: test });
    expect(tested).toMatchObject({
      code: 422,
      body: {
        message: 'Cannot apply operation 0 ("test" at "/spec/ttl"): the value differs',
        details: { causes: [{}] },
      },
    });
    const wrong = { metadata: { name: 'wrong' }, spec: { user: 'alice', ttl: 1.5, dispayName: 'x' } };
    const { code, body } = await bench.ask('POST', `${keysPath}?fieldValidation=Strict`, { body: wrong });
    expect([code, body['details']?.['causes']]).toMatchObject([
      422,
      [{ field: 'spec.ttl' }, { field: 'spec.dispayName' }],
    ]);
    const alice = await bench.keyFor('lister', { user: 'alice' });
    const path = '/kubernetes/management/apis/management.platform/v1/virtualclusterinstances';
    const refused = await bench.ask('GET', path, { key: alice });
    expect([refused.code, refused.body['message']]).toEqual([
      403,
      expect.stringMatching(/name one project, like -n p-PROJECT$/),
    ]);
  });
});
