import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { keysPath } from '../bench.ts';
import { bench, causes, fresh, made, patch, setUp, types } from './stage.ts';

setUp();

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

describe('update', () => {
  it('in a PUT an absent identity keeps its hidden part and null clears it; a patch clears what it removes', async () => {
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

  it('a patch that takes the kind away says which kind it is, and a long result is cut', async () => {
    const name = await made({}, { annotations: { long: 'x'.repeat(20_000) } });
    const message = async (type: keyof typeof types, body: object) => {
      const { code, body: status } = await patch(name, type, body);
      return [code, `${status['message']}`] as const;
    };
    for (const [type, body] of [
      ['merge', { kind: null }],
      ['merge', { kind: '' }],
      ['json', [{ op: 'remove', path: '/kind' }]],
      ['strategic', { $patch: 'delete' }],
    ] as const) {
      const [code, text] = await message(type, body);
      expect([code, text]).toEqual([
        422,
        expect.stringMatching(/an object without its kind, which is OwnedAccessKey$/),
      ]);
      expect(text.length).toBeLessThan(3_000);
    }
    expect(await message('merge', { kind: 'Pod' })).toEqual([422, expect.stringMatching(/no kind "Pod" is served/)]);
    expect(await message('merge', { kind: 5 })).toEqual([422, expect.stringMatching(/no kind 5 is served/)]);
  });
});
