import { describe, expect, it } from 'vitest';
import { keysPath } from '../bench.ts';
import { bench, causes, create, fresh, made, patch, setUp } from './stage.ts';

setUp();

describe('create', () => {
  it('the server sets uid, version, generation, time and managers', async () => {
    const spec = { user: 'alice', displayName: 'CI' };
    const { code, body, headers } = await create({ metadata: { name: fresh() }, spec });
    expect(code).toBe(201);
    expect(String(headers['warning'])).toMatch(/shown in this answer alone.*hostward keys rotate NAME/);
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

  it('YAML without Content-Type and with one, apiVersion and kind given or left out', async () => {
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

  it('unknown and double fields are reported, refused or ignored', async () => {
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

  it('a group that the configuration does not name is granted with a warning, by a create and by a change', async () => {
    const warned = ({ code, headers }: Awaited<ReturnType<typeof create>>) => [code, `${headers['warning'] ?? ''}`];
    const told =
      /spec\.groups\[0\]: the configuration has no group .*devss.*, so it gives no rights and no cluster hears of it/;
    const name = fresh();
    const made = await create({ metadata: { name }, spec: { user: 'alice', groups: ['devss'] } });
    expect(warned(made)).toEqual([201, expect.stringMatching(told)]);
    const changed = await patch(name, 'merge', { spec: { groups: ['devss', 'opps'] } });
    expect(warned(changed)).toEqual([
      200,
      expect.stringMatching(/spec\.groups\[1\]: the configuration has no group .*opps/),
    ]);
    expect(warned(await patch(name, 'merge', { spec: { displayName: 'x' } }))).toEqual([200, '']);
    const known = await create({ metadata: { name: fresh() }, spec: { user: 'alice', groups: ['devs'] } });
    expect(warned(known)).toEqual([201, expect.not.stringMatching(/has no group/)]);
  });

  it('a refusal does not tell whether the configuration has a group', async () => {
    const key = await bench.keyFor(fresh(), { user: 'alice' });
    const asks = async (group: string) => {
      const { code, headers, text } = await create(
        { metadata: { name: 'asks' }, spec: { groups: [group] } },
        { key, query: '?dryRun=All' },
      );
      return [code, headers['warning'], text.replaceAll(group, 'GROUP')];
    };
    const [known, unknown] = [await asks('masters'), await asks('mastersss')];
    expect(known).toEqual([403, undefined, expect.stringContaining('is not held by the user')]);
    expect(unknown).toEqual(known);
  });
});
