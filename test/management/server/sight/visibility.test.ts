import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bench, keysPath, openBench, people, until } from '../bench.ts';

let bench: Bench;
let alice: string;
let bob: string;
let scoped: string;
let narrow: string;
beforeAll(async () => {
  bench = await openBench();
  alice = await bench.keyFor('alice-1', { user: 'alice' });
  bob = await bench.keyFor('bob-1', { user: 'bob' });
  await bench.keyFor('red-1', { team: 'red' });
  narrow = await bench.keyFor('alice-none', { user: 'alice', scope: {} });
  scoped = await bench.keyFor('alice-shop', { user: 'alice', scope: { projects: [{ project: 'shop' }] } });
});
afterAll(() => bench.stop());

const instances = (project: string) =>
  `/kubernetes/management/apis/management.platform/v1/namespaces/p-${project}/virtualclusterinstances`;

async function names(key: string, query = ''): Promise<string[]> {
  const { body } = await bench.ask('GET', `${keysPath}${query}`, { key });
  const items = body['items'] as unknown as { metadata: { name: string } }[];
  return items.map(({ metadata }) => metadata.name);
}

function make(key: string, name: string, spec: object) {
  return bench.ask('POST', keysPath, { key, body: { metadata: { name }, spec } });
}

describe('what a caller sees of keys', () => {
  it('a list holds the own keys and those of the own teams, and nothing of others', async () => {
    expect(await names(alice)).toEqual(['alice-1', 'alice-none', 'alice-shop', 'red-1']);
    expect(await names(bob)).toEqual(['bob-1']);
    expect(await names(bench.admin)).toContain('bob-1');
  });

  it('a key of somebody else answers as one that does not exist, in every verb', async () => {
    for (const method of ['GET', 'DELETE', 'PUT', 'PATCH']) {
      const of = async (name: string) => {
        const body = method === 'PUT' ? { metadata: { name }, spec: { user: 'bob' } } : {};
        const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
        const answer = await bench.ask(method, `${keysPath}/${name}`, {
          key: bob,
          ...(method === 'GET' ? {} : { body, type }),
        });
        return { code: answer.code, text: answer.text.replaceAll(name, 'NAME') };
      };
      const [hidden, absent] = [await of('alice-1'), await of('absent-1')];
      expect(hidden).toEqual(absent);
      expect(hidden.code).toBe(404);
    }
    expect(await make(bob, 'alice-1', {})).toMatchObject({ code: 409, body: { reason: 'AlreadyExists' } });
  });

  it('pages are full, and the rest counts no keys of others', async () => {
    const { body } = await bench.ask('GET', `${keysPath}?limit=3`, { key: alice });
    expect(body['items']).toHaveLength(3);
    expect(body['metadata']?.['remainingItemCount'] ?? 1).toBe(1);
    expect(body['metadata']?.['continue']).toBeTruthy();
  });

  it('a watch hears of the own keys alone', async () => {
    const watch = await bench.follow(`${keysPath}?watch=true`, bob);
    await until(() => watch.events.length > 0, 'the first event');
    await make(alice, 'alice-late', {});
    await make(bob, 'bob-late', {});
    await until(() => watch.events.length > 1, 'the second event');
    expect(watch.events.map((event) => event['object']?.['metadata']?.['name'])).toEqual(['bob-1', 'bob-late']);
    watch.stop();
  });

  it('a scope without entries leaves the own key alone', async () => {
    expect(await bench.ask('GET', `${keysPath}/alice-none`, { key: narrow })).toMatchObject({ code: 200 });
    expect(await bench.ask('GET', `${keysPath}/alice-1`, { key: narrow })).toMatchObject({ code: 404 });
    expect(await bench.ask('GET', keysPath, { key: narrow })).toMatchObject({ code: 403 });
    expect(await names(narrow, '?fieldSelector=metadata.name%3Dalice-none')).toEqual(['alice-none']);
  });

  it('a reloaded configuration ends the watches of those who see something else, and counts at once', async () => {
    const watch = await bench.follow(`${keysPath}?watch=true`, alice);
    await until(() => watch.events.length > 0, 'the first event');
    const before = String((await bench.ask('GET', keysPath, { key: alice })).body['metadata']?.['resourceVersion']);
    await bench.api.apply({ ...people, teams: [] });
    await watch.ended;
    expect(watch.events.at(-1)).toMatchObject({ type: 'ERROR', object: { code: 410 } });
    expect(await names(alice)).not.toContain('red-1');
    const old = await bench.ask('GET', `${keysPath}?resourceVersion=${before}&resourceVersionMatch=Exact`, {
      key: alice,
    });
    expect(old).toMatchObject({ code: 410 });
    await bench.api.apply(people);
    expect(await names(alice)).toContain('red-1');
  });

  it('a wider scope sends a key without an open watch back to a list, and no other key, over a restart too', async () => {
    const rules = [
      {
        verbs: ['get', 'list', 'watch'],
        resources: [{ group: 'management.platform', resources: ['ownedaccesskeys'] }],
      },
    ];
    const narrow = rules.map((rule) => ({ ...rule, resourceNames: ['widened'] }));
    const widened = await bench.keyFor('widened', { user: 'alice', scope: { rules: narrow } });
    const selected = `${keysPath}?fieldSelector=metadata.name%3Dwidened`;
    const { body } = await bench.ask('GET', selected, { key: widened });
    const version = body['metadata']?.['resourceVersion'];
    const from = (path: string, key: string) =>
      bench.ask('GET', `${path}&resourceVersion=${version}&resourceVersionMatch=Exact`, { key });
    const label = { type: 'application/merge-patch+json', body: { metadata: { labels: { a: 'b' } } } };
    await bench.ask('PATCH', `${keysPath}/widened`, label);
    expect(await from(selected, widened)).toMatchObject({ code: 200 });
    const wide = { type: 'application/merge-patch+json', body: { spec: { scope: { rules } } } };
    expect(await bench.ask('PATCH', `${keysPath}/widened`, wide)).toMatchObject({ code: 200 });
    expect(await from(selected, widened)).toMatchObject({ code: 410 });
    const watch = await bench.follow(`${keysPath}?watch=true&resourceVersion=${version}`, widened);
    await watch.ended;
    expect(watch.events).toMatchObject([{ type: 'ERROR', object: { code: 410 } }]);
    expect(await from(`${keysPath}?limit=500`, alice)).toMatchObject({ code: 200 });
    await bench.restart();
    expect(await from(selected, widened)).toMatchObject({ code: 410 });
    expect(await from(`${keysPath}?limit=500`, alice)).toMatchObject({ code: 200 });
  });

  it('a user who leaves the configuration is out at once, and back with the keys', async () => {
    await bench.api.apply({ ...people, users: people.users.filter(({ name }) => name !== 'bob') });
    expect(await bench.ask('GET', keysPath, { key: bob })).toMatchObject({ code: 401 });
    await bench.api.apply(people);
    expect(await bench.ask('GET', keysPath, { key: bob })).toMatchObject({ code: 200 });
  });
});

describe('what a caller may make', () => {
  it('a key of somebody else and a group that is not held are 403 with the field', async () => {
    const other = await make(alice, 'wide-1', { user: 'bob' });
    expect(other).toMatchObject({ code: 403, body: { details: { causes: [{ field: 'spec.user' }] } } });
    expect(await make(alice, 'wide-2', { groups: ['masters'] })).toMatchObject({
      code: 403,
      body: { details: { causes: [{ field: 'spec.groups[0]' }] } },
    });
    expect(await make(alice, 'fine-1', { groups: ['devs'] })).toMatchObject({ code: 201 });
  });

  it('a key with a scope makes no key without one, nor a wider one', async () => {
    const maker = await bench.keyFor('maker', {
      user: 'alice',
      scope: {
        projects: [{ project: 'shop' }],
        rules: [{ verbs: ['create'], resources: [{ group: 'management.platform', resources: ['ownedaccesskeys'] }] }],
      },
    });
    expect(await make(scoped, 'child-0', { scope: { projects: [{ project: 'shop' }] } })).toMatchObject({ code: 403 });
    expect(await make(maker, 'child-1', {})).toMatchObject({ code: 403 });
    expect(await make(maker, 'child-2', { scope: { projects: [{ project: 'bank' }] } })).toMatchObject({
      code: 403,
      body: { details: { causes: [{ field: 'spec.scope.projects[0]' }] } },
    });
    const child = await make(maker, 'child-3', { scope: { projects: [{ project: 'shop' }] } });
    expect(child).toMatchObject({ code: 201 });
    const key = String(child.body['spec']?.['key']);
    expect(await bench.ask('GET', instances('shop'), { key })).toMatchObject({ code: 200 });
    await bench.ask('DELETE', `${keysPath}/maker`);
    expect(await bench.ask('GET', instances('shop'), { key })).toMatchObject({ code: 401 });
  });

  it('nobody widens a key: scope, groups and time', async () => {
    await make(alice, 'to-widen', { ttl: 1000, scope: { projects: [{ project: 'shop' }] } });
    const to = (spec: object) =>
      bench.ask('PATCH', `${keysPath}/to-widen`, { key: alice, type: 'application/merge-patch+json', body: { spec } });
    for (const spec of [{ scope: null }, { scope: { projects: [{ project: '*' }] } }, { ttl: 2000 }, { ttl: null }])
      expect(await to(spec)).toMatchObject({ code: 403, body: { reason: 'Forbidden' } });
    expect(await to({ ttl: 500, scope: {} })).toMatchObject({ code: 200 });
  });

  it('a key changes on itself what makes it less, whatever its scope', async () => {
    const own = await bench.keyFor('self', { user: 'alice', scope: {} });
    const to = (spec: object) =>
      bench.ask('PATCH', `${keysPath}/self`, { key: own, type: 'application/merge-patch+json', body: { spec } });
    expect(await to({ scope: null })).toMatchObject({ code: 403 });
    expect(await to({ groups: ['devs'] })).toMatchObject({ code: 403 });
    expect(await to({ displayName: 'mine', ttl: 1000 })).toMatchObject({ code: 200 });
    expect(await to({ disabled: true })).toMatchObject({ code: 200 });
    expect(await to({ disabled: false })).toMatchObject({ code: 401 });
  });

  it('a team and a subject have keys, and a subject only those of an administrator', async () => {
    const team = await make(alice, 'team-key', { team: 'red' });
    const key = String(team.body['spec']?.['key']);
    expect(await bench.ask('GET', `${keysPath}/red-1`, { key })).toMatchObject({ code: 200 });
    expect(await bench.ask('GET', `${keysPath}/alice-1`, { key })).toMatchObject({ code: 404 });
    expect(await make(bob, 'no-team', { team: 'red' })).toMatchObject({ code: 403 });
    expect(await make(alice, 'no-subject', { subject: 'robot' })).toMatchObject({ code: 403 });
    const robot = await bench.keyFor('robot-1', { subject: 'robot', groups: ['masters'] });
    expect(await bench.ask('GET', `${keysPath}/bob-1`, { key: robot })).toMatchObject({ code: 200 });
  });

  it('a scoped key does not get the value of a wider one by rotation', async () => {
    const turner = await bench.keyFor('turner', {
      user: 'alice',
      scope: { rules: [{ resources: [{ group: 'management.platform', resources: ['ownedaccesskeys/rotate'] }] }] },
    });
    const answer = await bench.ask('POST', `${keysPath}/alice-1/rotate`, { key: turner, body: {} });
    expect(answer).toMatchObject({ code: 403, body: { details: { causes: [{ field: 'spec.scope' }] } } });
  });

  it('the quota of an owner holds, also when creates come together', async () => {
    const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => make(bob, `many-${index}`, {})));
    const codes = answers.map(({ code }) => code);
    expect(codes.filter((code) => code === 201).length).toBe(18);
    expect(codes.filter((code) => code === 403).length).toBe(12);
  });
});

describe('instances and reviews', () => {
  it('instances are read by members of their project, and by a scope that holds them', async () => {
    const { body } = await bench.ask('GET', instances('shop'), { key: alice });
    expect(body['items']).toMatchObject([
      { metadata: { name: 'v1', namespace: 'p-shop' }, spec: { project: 'shop' } },
      {},
    ]);
    expect(await bench.ask('GET', instances('bank'), { key: alice })).toMatchObject({ code: 403 });
    expect(await bench.ask('GET', instances('shop'), { key: scoped })).toMatchObject({ code: 200 });
    expect(await bench.ask('GET', instances('shop'), { key: narrow })).toMatchObject({ code: 403 });
    expect(await bench.ask('POST', instances('shop'), { body: {} })).toMatchObject({ code: 405 });
  });

  it('paths that lead nowhere answer 404', async () => {
    for (const path of [
      '/kubernetes/cluster/absent/api',
      '/kubernetes/project/shop/virtualcluster/absent/api',
      '/kubernetes/managementfoo/api',
    ])
      expect(await bench.ask('POST', path, { body: {} })).toMatchObject({ code: 404, body: { kind: 'Status' } });
  });

  it.each([
    ['alice', () => alice],
    ['scoped', () => scoped],
    ['without entries', () => narrow],
    ['bob', () => bob],
  ])('the reviews of the key %s agree with what happens', async (_name, key) => {
    const group = 'management.platform';
    const cases: [object, string][] = [
      [{ group, resource: 'ownedaccesskeys', verb: 'list' }, keysPath],
      [{ group, resource: 'ownedaccesskeys', verb: 'get', name: 'alice-shop' }, `${keysPath}/alice-shop`],
      [{ group, resource: 'virtualclusterinstances', verb: 'list', namespace: 'p-shop' }, instances('shop')],
      [
        { group, resource: 'virtualclusterinstances', verb: 'get', namespace: 'p-bank', name: 'x' },
        `${instances('bank')}/x`,
      ],
      [{ group: '', resource: 'namespaces', verb: 'list' }, '/kubernetes/management/api/v1/namespaces'],
    ];
    for (const [resourceAttributes, path] of cases) {
      const review = await bench.ask(
        'POST',
        '/kubernetes/management/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
        { key: key(), body: { spec: { resourceAttributes } } },
      );
      const real = await bench.ask('GET', path, { key: key() });
      expect(review.code).toBe(201);
      // A no on a key that a scope hides is 404; a yes can be 404 as well, because it looks at no objects.
      const fitting = review.body['status']?.['allowed'] ? [200, 404] : [403, 404];
      expect([path, fitting]).toEqual([path, expect.arrayContaining([real.code])]);
    }
  });

  it('a self-review names the user and the key', async () => {
    const path = '/kubernetes/management/apis/authentication.k8s.io/v1/selfsubjectreviews';
    expect(await bench.ask('POST', path, { key: alice, body: {} })).toMatchObject({
      code: 201,
      body: {
        status: {
          userInfo: { username: 'alice', uid: expect.any(String), extra: { 'hostward.dev/key': ['alice-1'] } },
        },
      },
    });
  });
});
