import { describe, expect, it } from 'vitest';
import { type Answer, type Body, keysPath, until } from '../bench.ts';
import { bench, get, root, setUp } from './stage.ts';

setUp();

const namesOf = ({ body }: Answer): unknown[] =>
  (body['items'] as unknown as Body[]).map((item) => item['metadata']?.['name']);

const last = <T>(list: readonly T[]): T | undefined => list.at(-1);

describe('lists', () => {
  it('an absent object, a name with watch, a version of the future', async () => {
    expect(await get(`${keysPath}/none`)).toMatchObject({
      code: 404,
      body: { message: 'ownedaccesskeys.management.platform "none" not found' },
    });
    expect(await get(`${keysPath}/a?watch=true`)).toMatchObject({ code: 200, body: { kind: 'OwnedAccessKey' } });
    expect(await get(`${keysPath}/a?resourceVersion=99999999`)).toMatchObject({ code: 504 });
  });

  it('pages go on at the same version', async () => {
    const first = await get(`${keysPath}?limit=2`);
    await bench.keyFor('bb-between', { user: 'alice' });
    const token = encodeURIComponent(String(first.body['metadata']?.['continue']));
    const rest = await get(`${keysPath}?continue=${token}`);
    expect([...namesOf(first), ...namesOf(rest)]).not.toContain('bb-between');
    expect(rest.body['metadata']?.['resourceVersion']).toBe(first.body['metadata']?.['resourceVersion']);
    expect(await get(`${keysPath}?continue=${token}&resourceVersion=5`)).toMatchObject({ code: 400 });
    expect(await get(`${keysPath}?continue=rubbish`)).toMatchObject({ code: 400 });
  });

  it('every item of a list says what it is', async () => {
    const { body } = await get(keysPath);
    const types = (body['items'] as unknown as Body[]).map(({ kind, apiVersion }) => `${apiVersion} ${kind}`);
    expect(new Set(types)).toEqual(new Set(['management.platform/v1 OwnedAccessKey']));
  });

  it('a continue token counts for its caller alone, unchanged', async () => {
    const key = await bench.keyFor('lister', { user: 'bob' });
    await bench.keyFor('lister-2', { user: 'bob' });
    const page = (query: string) => bench.ask('GET', `${keysPath}?${query}`, { key });
    const own = String((await page('limit=1')).body['metadata']?.['continue']);
    expect((await page(`limit=1&continue=${own}`)).code).toBe(200);
    const others = String((await get(`${keysPath}?limit=1`)).body['metadata']?.['continue']);
    const { seal, ...token } = JSON.parse(Buffer.from(own, 'base64url').toString());
    const changed = [{ ...token, start: 'zz\u0000', seal }, { ...token, rv: token.rv - 1, seal }, token];
    for (const text of [others, ...changed.map((one) => Buffer.from(JSON.stringify(one)).toString('base64url'))])
      expect(await page(`limit=1&continue=${text}`)).toMatchObject({
        code: 400,
        body: { message: expect.stringContaining('made for the same caller and the same list') },
      });
  });

  it('wrong questions', async () => {
    for (const [query, code] of [
      ['resourceVersionMatch=Exact', 422],
      ['resourceVersion=0&resourceVersionMatch=Exact', 422],
      ['resourceVersion=x', 400],
      ['labelSelector=%3D%3D', 400],
      ['fieldSelector=spec.key%3Dx', 400],
      ['fieldSelector=metadata.namespace%3Dx', 400],
      ['sendInitialEvents=true', 422],
    ] as const)
      expect([query, (await get(`${keysPath}?${query}`)).code]).toEqual([query, code]);
  });

  it('selectors choose', async () => {
    const ofBob = namesOf(await get(`${keysPath}?fieldSelector=spec.user%3Dbob`));
    expect(ofBob).toContain('of-bob');
    expect(ofBob).not.toContain('a');
    expect(namesOf(await get(`${keysPath}?fieldSelector=metadata.name%3Da`))).toEqual(['a']);
    expect(namesOf(await get(`${keysPath}?labelSelector=x`))).toEqual([]);
  });

  it('a table with the columns that were promised', async () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const { body } = await get(keysPath, { accept });
    const columns = body['columnDefinitions'] as unknown as { name: string; priority: number }[];
    expect(columns.map(({ name, priority }) => `${name} ${priority}`)).toEqual([
      'Name 0',
      'Owner 0',
      'Status 0',
      'Expires 0',
      'Last used 0',
      'Age 0',
      'Display name 1',
      'Type 1',
      'Scope 1',
    ]);
    const rows = body['rows'] as unknown as { cells: unknown[]; object: Body }[];
    expect(rows.find(({ cells }) => cells[0] === 'a')?.cells).toMatchObject([
      'a',
      'alice',
      'Active',
      '<never>',
      '<never>',
      expect.any(String),
      'key a',
      'User',
      '<all>',
    ]);
    expect(rows[0]?.object['kind']).toBe('PartialObjectMetadata');
  });
});

describe('watches', () => {
  it('every change after a list once, in order, up to the deletion', async () => {
    const listed = await get(keysPath);
    const version = listed.body['metadata']?.['resourceVersion'];
    // Before the watch begins, so that only the version of the list leads to this event.
    await bench.keyFor('seen', { user: 'alice' });
    const watch = await bench.follow(`${keysPath}?watch=true&resourceVersion=${version}`, bench.admin);
    const labels = { metadata: { labels: { x: 'y' } } };
    await bench.ask('PATCH', `${keysPath}/seen`, { type: 'application/merge-patch+json', body: labels });
    await bench.ask('DELETE', `${keysPath}/seen`);
    await until(() => watch.events.length === 3, 'three events');
    expect(watch.events.map((event) => event['type'])).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
    expect(JSON.stringify(watch.events)).not.toMatch(/mpk_|hidden|digest/);
    watch.stop();
  });

  it('a selector lets objects in and out', async () => {
    const watch = await bench.follow(`${keysPath}?watch=true&labelSelector=in%3Dyes`, bench.admin);
    const label = (value: string | null) =>
      bench.ask('PATCH', `${keysPath}/b`, {
        type: 'application/merge-patch+json',
        body: { metadata: { labels: { in: value } } },
      });
    await label('yes');
    await label('no');
    await until(() => watch.events.length === 2, 'two events');
    expect(watch.events.map((event) => event['type'])).toEqual(['ADDED', 'DELETED']);
    watch.stop();
  });

  it('versions, ends, streaming lists and the old path', async () => {
    expect(await get(`${keysPath}?watch=true&resourceVersion=x`)).toMatchObject({ code: 400 });
    expect(await get(`${keysPath}?watch=true&sendInitialEvents=true`)).toMatchObject({ code: 422 });
    const ended = await bench.follow(`${keysPath}?watch=true&timeoutSeconds=1&resourceVersion=1`, bench.admin);
    await ended.ended;
    const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const watch = await bench.follow(`${keysPath}?${query}`, bench.admin);
    await until(() => last(watch.events)?.['type'] === ('BOOKMARK' as unknown), 'the bookmark');
    expect(last(watch.events)).toMatchObject({
      object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } },
    });
    watch.stop();
    const old = await bench.follow(`${root}/apis/management.platform/v1/watch/ownedaccesskeys`, bench.admin);
    await until(() => old.events.length > 0, 'an event');
    old.stop();
  });

  it('the watches of a deleted key end', async () => {
    const key = await bench.keyFor('short', { user: 'alice' });
    const watch = await bench.follow(`${keysPath}?watch=true`, key);
    await bench.ask('DELETE', `${keysPath}/short`);
    await watch.ended;
    expect(last(watch.events)).toMatchObject({ type: 'ERROR' });
  });
});

describe('deletion', () => {
  const remove = (name: string, body?: object, query = '') =>
    bench.ask('DELETE', `${keysPath}/${name}${query}`, { body });

  it('a Status, then 404, another uid, and preconditions', async () => {
    await bench.keyFor('gone', { user: 'alice' });
    const uid = (await get(`${keysPath}/gone`)).body['metadata']?.['uid'];
    expect(await remove('gone', { preconditions: { uid: 'other' } })).toMatchObject({ code: 409 });
    expect(await remove('gone')).toMatchObject({
      code: 200,
      body: { status: 'Success', details: { name: 'gone', kind: 'ownedaccesskeys', uid } },
    });
    expect(await remove('gone')).toMatchObject({ code: 404 });
    await bench.keyFor('gone', { user: 'alice' });
    expect((await get(`${keysPath}/gone`)).body['metadata']?.['uid']).not.toBe(uid);
  });

  it('options', async () => {
    expect(await remove('a', { kind: 'Other' })).toMatchObject({ code: 400 });
    expect(await remove('a', { propagationPolicy: 'Never' })).toMatchObject({ code: 422 });
    expect(await remove('a', { orphanDependents: true, propagationPolicy: 'Orphan' })).toMatchObject({ code: 422 });
    // Who says it in the query and not in the body is refused: the real server would delete.
    expect(await remove('a', {}, '?dryRun=All')).toMatchObject({ code: 400 });
    expect(await remove('a', undefined, '?dryRun=All')).toMatchObject({ code: 200 });
    expect(await remove('a', { dryRun: ['All'] })).toMatchObject({ code: 200 });
    expect(await get(`${keysPath}/a`)).toMatchObject({ code: 200 });
  });

  it('finalizers hold the object, and its key is dead at once', async () => {
    const made = await bench.ask('POST', keysPath, {
      body: { metadata: { name: 'held', finalizers: ['example.com/hold'] }, spec: { user: 'alice' } },
    });
    const key = String(made.body['spec']?.['key']);
    expect(await remove('held')).toMatchObject({
      code: 200,
      body: { metadata: { deletionTimestamp: expect.any(String), generation: 2 } },
    });
    expect(await bench.ask('GET', keysPath, { key })).toMatchObject({ code: 401 });
    const patch = (finalizers: string[]) =>
      bench.ask('PATCH', `${keysPath}/held`, {
        type: 'application/merge-patch+json',
        body: { metadata: { finalizers } },
      });
    expect(await patch(['example.com/hold', 'example.com/more'])).toMatchObject({ code: 422 });
    // Another change neither removes the object nor moves its deletionTimestamp.
    const change = (metadata: object) =>
      bench.ask('PATCH', `${keysPath}/held`, { type: 'application/merge-patch+json', body: { metadata } });
    expect(await change({ annotations: { a: 'b' } })).toMatchObject({ code: 200 });
    const { body: held } = await get(`${keysPath}/held`);
    const moved = { deletionTimestamp: '2099-01-01T00:00:00Z', deletionGracePeriodSeconds: 9_999 };
    for (const metadata of [moved, { deletionTimestamp: null }]) await change(metadata);
    const put = { ...held, metadata: { ...(held['metadata'] as object), ...moved } };
    await bench.ask('PUT', `${keysPath}/held`, { body: put });
    const { deletionTimestamp, deletionGracePeriodSeconds } = held['metadata'] as Body;
    expect((await get(`${keysPath}/held`)).body['metadata']).toMatchObject({
      deletionTimestamp,
      deletionGracePeriodSeconds,
    });
    expect(await patch([])).toMatchObject({ code: 200 });
    expect(await get(`${keysPath}/held`)).toMatchObject({ code: 404 });
  });

  it('a grace period is kept, only shortened, and ends by itself', async () => {
    const key = await bench.keyFor('graceful', { user: 'alice' });
    expect(await remove('graceful', { gracePeriodSeconds: 100 })).toMatchObject({
      body: { metadata: { deletionGracePeriodSeconds: 100 } },
    });
    expect(await bench.ask('GET', keysPath, { key })).toMatchObject({ code: 401 });
    expect(await remove('graceful', { gracePeriodSeconds: 200 })).toMatchObject({
      body: { metadata: { deletionGracePeriodSeconds: 100 } },
    });
    expect(await remove('graceful', { gracePeriodSeconds: 1 })).toMatchObject({
      body: { metadata: { deletionGracePeriodSeconds: 1 } },
    });
    const watch = await bench.follow(`${keysPath}?watch=true&fieldSelector=metadata.name%3Dgraceful`, bench.admin);
    await until(() => last(watch.events)?.['type'] === ('DELETED' as unknown), 'the end of the key');
    watch.stop();
  });

  it('a key goes with its owner', async () => {
    await bench.keyFor('owner', { user: 'alice' });
    const uid = (await get(`${keysPath}/owner`)).body['metadata']?.['uid'];
    const ownerReferences = [{ apiVersion: 'management.platform/v1', kind: 'OwnedAccessKey', name: 'owner', uid }];
    await bench.ask('POST', keysPath, {
      body: { metadata: { name: 'owned', ownerReferences }, spec: { user: 'alice' } },
    });
    const watch = await bench.follow(`${keysPath}?watch=true&fieldSelector=metadata.name%3Downed`, bench.admin);
    await remove('owner');
    await until(() => last(watch.events)?.['type'] === ('DELETED' as unknown), 'the end of the owned key');
    watch.stop();
  });

  it("a collection loses what the selector chooses, and for its caller what is the caller's", async () => {
    const bob = await bench.keyFor('bob-2', { user: 'bob' });
    await bench.keyFor('bob-3', { user: 'bob' });
    const answer = await bench.ask('DELETE', `${keysPath}?fieldSelector=metadata.name!%3Dbob-2`, { key: bob });
    expect(answer.code).toBe(200);
    const left = namesOf(await get(keysPath));
    expect(left).toEqual(expect.arrayContaining(['a', 'b', 'bob-2']));
    expect(left).not.toContain('bob-3');
  });
});
