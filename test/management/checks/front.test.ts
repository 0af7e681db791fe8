// Checks of discovery, health, denials, reviews and content types by their numbers, over TLS.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, type Ask, type Bench, keysPath, openBench } from '../server/bench.ts';

const root = '/kubernetes/management';
const instances = `${root}/apis/management.platform/v1/namespaces/p-shop/virtualclusterinstances`;
let bench: Bench;
let alice: string;
let narrow: string;

beforeAll(async () => {
  bench = await openBench();
  alice = await bench.keyFor('alices', { user: 'alice' });
  narrow = await bench.keyFor('narrow', {
    user: 'alice',
    scope: { virtualClusters: [{ project: 'shop', virtualCluster: 'v1' }] },
  });
});
afterAll(() => bench.stop());

function get(path: string, how: Ask = {}): Promise<Answer> {
  return bench.ask('GET', path.startsWith('/kubernetes') ? path : root + path, how);
}

function accept(type: string): Ask {
  return { headers: { accept: type } };
}

const discovery = (version: string) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;

describe('discovery', () => {
  it('/api has the core group, in which the namespaces of the projects are', async () => {
    expect(await get('/api')).toMatchObject({ code: 200, body: { kind: 'APIVersions', versions: ['v1'] } });
  });

  it('an unchanged aggregated discovery is 304 without a body', async () => {
    const first = await get('/apis', accept(discovery('v2')));
    const headers = { accept: discovery('v2'), 'if-none-match': String(first.headers['etag']) };
    expect(await get('/apis', { headers })).toMatchObject({ code: 304, text: '' });
    expect((await get('/apis', { headers: { ...headers, 'if-none-match': '"other"' } })).code).toBe(200);
  });

  it('of several choices the first that can be served is served', async () => {
    const types = `${discovery('v2')},${discovery('v2beta1')},application/json`;
    expect((await get('/apis', accept(types))).headers['content-type']).toBe(discovery('v2'));
    expect((await get('/apis', accept('application/json'))).body['kind']).toBe('APIGroupList');
  });

  it('a document is immutable under its hash, and a wrong hash leads to the right one below the prefix', async () => {
    const { paths } = (await get('/openapi/v3')).body;
    const serverRelativeURL = String(paths?.['apis/management.platform/v1']?.['serverRelativeURL']);
    const [path, hash] = serverRelativeURL.split('?hash=') as [string, string];
    const right = await get(serverRelativeURL);
    expect(right.headers).toMatchObject({
      etag: `"${hash}"`,
      'cache-control': 'public, immutable',
      expires: expect.any(String),
    });
    expect(Date.parse(String(right.headers['expires']))).toBeGreaterThan(Date.now() + 300 * 86_400_000);
    const wrong = await get(`${path}?hash=OLD`);
    expect(wrong.code).toBe(301);
    expect(wrong.headers['location']).toBe(`${root}${serverRelativeURL}`);
    expect(await get(path)).toMatchObject({ code: 200, headers: { 'cache-control': 'no-cache, private' } });
  });

  it('OpenAPI v2 is JSON or protobuf, as it is asked for', async () => {
    const protobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
    const answer = await get('/openapi/v2', accept(protobuf));
    expect([answer.code, answer.headers['content-type']]).toEqual([200, expect.stringContaining('proto')]);
    expect(await get('/openapi/v2', accept('application/json'))).toMatchObject({ code: 200, body: { swagger: '2.0' } });
  });

  it('a kind that is only created lists only create', async () => {
    const { resources } = (await get('/apis/authorization.k8s.io/v1')).body as unknown as {
      resources: { verbs: string[] }[];
    };
    expect(resources.map(({ verbs }) => verbs)).toEqual([['create'], ['create']]);
  });

  it('tokens, kubeconfigs and proxied paths are in no discovery document and 404 until they are served, or work', async () => {
    const { resources } = (await get('/apis/management.platform/v1')).body as unknown as {
      resources: { name: string }[];
    };
    const names = resources.map(({ name }) => name);
    for (const [name, path] of [
      ['directclusterendpointtokens', `${root}/apis/management.platform/v1/directclusterendpointtokens`],
      ['virtualclusterinstances/kubeconfig', `${instances}/v1/kubeconfig`],
    ] as const) {
      const { code } = await bench.ask('POST', path, { body: {} });
      expect([name, names.includes(name), code === 404]).toEqual([name, code !== 404, !names.includes(name)]);
    }
  });

  it('health in words, one by one, and the list of paths', async () => {
    for (const path of ['/healthz', '/livez', '/readyz']) {
      expect(await get(path, { key: undefined })).toMatchObject({ code: 200, text: 'ok' });
      const verbose = await get(`${path}?verbose`, { key: undefined });
      expect([verbose.code, verbose.text]).toEqual([
        200,
        expect.stringMatching(/^\[\+\]\S+ ok\n[\s\S]*check passed\n$/),
      ]);
      const [, name = ''] = /\[\+\](\S+) ok/.exec(verbose.text) ?? [];
      expect(await get(`${path}/${name}`, { key: undefined })).toMatchObject({ code: 200, text: 'ok' });
      for (const unknown of ['nonsense', `${name}/more`]) expect((await get(`${path}/${unknown}`)).code).toBe(404);
    }
    expect((await get('/')).body['paths']).toEqual(expect.arrayContaining(['/apis', '/openapi/v3', '/version']));
  });

  it('everything is below the prefix, and nothing beside it', async () => {
    for (const path of ['/api', '/apis', '/openapi/v3', '/kubernetes', '/kubernetes/managementfoo/apis'])
      expect([path, (await bench.ask('GET', path)).code]).toEqual([path, 404]);
  });
});

describe('denials', () => {
  const what = 'resource "ownedaccesskeys" in API group "management.platform"';

  it('at the cluster scope', async () => {
    expect(await get(keysPath, { key: narrow })).toMatchObject({
      code: 403,
      body: {
        message: expect.stringContaining(
          `ownedaccesskeys.management.platform is forbidden: User "alice" cannot list ${what} at the cluster scope`,
        ),
        reason: 'Forbidden',
        details: { group: 'management.platform', kind: 'ownedaccesskeys' },
      },
    });
  });

  it('with a name', async () => {
    const path = instances.replace('p-shop', 'p-bank');
    expect(await get(`${path}/v9`, { key: alice })).toMatchObject({
      code: 403,
      body: {
        message: expect.stringContaining('virtualclusterinstances.management.platform "v9" is forbidden'),
        details: { name: 'v9' },
      },
    });
  });

  it('in a namespace, and of a subresource', async () => {
    expect((await get(instances, { key: narrow })).body['message']).toContain('in the namespace "p-shop"');
    const denied = await bench.ask('POST', `${instances}/v2/kubeconfig`, { key: narrow, body: {} });
    expect(denied).toMatchObject({
      code: 403,
      body: {
        message: expect.stringContaining('resource "virtualclusterinstances/kubeconfig"'),
        details: { kind: 'virtualclusterinstances' },
      },
    });
  });

  it('of a path', async () => {
    const { body } = await get('/metrics', { key: narrow });
    expect(body).toMatchObject({
      message: expect.stringContaining('forbidden: User "alice" cannot get path "/metrics"'),
      details: {},
    });
  });

  it('comes before it is known whether there is such an object; a key out of sight is 404', async () => {
    expect((await get(`${instances}/v2`, { key: narrow })).code).toBe(
      (await get(`${instances}/gone`, { key: narrow })).code,
    );
    expect((await get(`${instances}/gone`, { key: narrow })).code).toBe(403);
    expect((await get(`${keysPath}/gone`, { key: narrow })).code).toBe(404);
  });

  it('a good key is 200, and the credential is in no answer', async () => {
    for (const path of [keysPath, '/apis', `${root}/nowhere`]) {
      const { text, headers } = await get(path.startsWith('/kubernetes') ? path : root + path, { key: alice });
      expect(text + JSON.stringify(headers)).not.toContain(alice);
    }
  });
});

describe('reviews', () => {
  const review = (kind: string, spec: object, key = bench.admin) =>
    bench.ask(
      'POST',
      `${root}/apis/${kind.startsWith('selfsubjectreview') ? 'authentication' : 'authorization'}.k8s.io/v1/${kind}`,
      { key, body: { spec } },
    );

  it('in JSON', async () => {
    const resourceAttributes = { verb: 'create', group: 'management.platform', resource: 'ownedaccesskeys' };
    expect(await review('selfsubjectaccessreviews', { resourceAttributes }, alice)).toMatchObject({
      code: 201,
      body: { status: { allowed: true } },
    });
    expect(await review('selfsubjectrulesreviews', { namespace: 'default' }, alice)).toMatchObject({
      code: 201,
      body: { status: { incomplete: false, resourceRules: expect.any(Array), nonResourceRules: expect.any(Array) } },
    });
    expect(await review('selfsubjectreviews', {}, alice)).toMatchObject({
      code: 201,
      body: { status: { userInfo: { username: 'alice' } } },
    });
  });

  it('reflect the scope', async () => {
    const ask = async (name: string) =>
      (
        await review(
          'selfsubjectaccessreviews',
          {
            resourceAttributes: {
              verb: 'get',
              group: 'management.platform',
              resource: 'virtualclusterinstances',
              namespace: 'p-shop',
              name,
            },
          },
          narrow,
        )
      ).body['status']?.['allowed'];
    expect([await ask('v1'), await ask('v2')]).toEqual([true, false]);
  });

  it('protobuf anywhere else is 415, and 406 when nothing else is accepted', async () => {
    const type = 'application/vnd.kubernetes.protobuf';
    expect(await bench.ask('POST', keysPath, { body: 'k8s\u0000', type })).toMatchObject({ code: 415 });
    expect(await get(keysPath, accept(type))).toMatchObject({ code: 406, body: { reason: 'NotAcceptable' } });
  });
});

describe('content types', () => {
  const create = (type: string | undefined, name: string) => {
    const body = JSON.stringify({ metadata: { name }, spec: { user: 'alice' } });
    return bench.ask('POST', `${keysPath}?dryRun=All`, { body, type: type ?? '' });
  };

  it('JSON with a charset, an empty type, and YAML', async () => {
    for (const type of ['application/json', 'application/json; charset=utf-8', '', 'application/yaml'])
      expect([type, (await create(type, 'typed')).code]).toEqual([type, 201]);
    expect((await create('application/yaml', 'typed')).headers['content-type']).toBe('application/json');
  });

  it('other types are 415, and the message lists the accepted types', async () => {
    for (const type of ['application/x-yaml', 'text/plain', 'application/xml', 'application/cbor'])
      expect(await create(type, 'typed')).toMatchObject({
        code: 415,
        body: { reason: 'UnsupportedMediaType', message: expect.stringContaining('application/yaml') },
      });
  });

  it('no wish, any wish and a wish with JSON in it are JSON', async () => {
    for (const type of ['*/*', 'application/*', 'application/vnd.kubernetes.protobuf,application/json'])
      expect([type, (await get(keysPath, accept(type))).headers['content-type']]).toEqual([type, 'application/json']);
    expect((await get(keysPath)).headers['content-type']).toBe('application/json');
  });

  it('what cannot be served is 406', async () => {
    for (const type of ['text/html', 'application/cbor', 'application/json;as=Foo;g=meta.k8s.io;v=v1'])
      expect([type, (await get(keysPath, accept(type))).code]).toEqual([type, 406]);
    expect((await get(`${keysPath}?watch=true`, accept('application/yaml'))).code).toBe(406);
  });

  it('tables of v1 and v1beta1, and metadata alone', async () => {
    for (const version of ['v1', 'v1beta1'])
      expect(await get(keysPath, accept(`application/json;as=Table;g=meta.k8s.io;v=${version}`))).toMatchObject({
        headers: { 'content-type': 'application/json' },
        body: { kind: 'Table', apiVersion: `meta.k8s.io/${version}` },
      });
    const list = await get(keysPath, accept('application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'));
    expect(list.body).toMatchObject({ kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' });
    expect(list.text).not.toContain('"spec"');
    const one = await get(`${keysPath}/alices`, accept('application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'));
    expect(one.body).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { name: 'alices' } });
  });

  it('?pretty=true and a browser get lines, programs do not', async () => {
    expect((await get(`${keysPath}/alices`)).text).not.toContain('\n  ');
    expect((await get(`${keysPath}/alices?pretty=true`)).text).toMatch(/^\{\n {2}"/);
    for (const agent of ['curl/8.5.0', 'Mozilla/5.0 (X11)']) {
      expect((await get(`${keysPath}/alices`, { headers: { 'user-agent': agent } })).text).toMatch(/^\{\n {2}"/);
      expect((await get(`${keysPath}/alices?pretty=false`, { headers: { 'user-agent': agent } })).text).not.toContain(
        '\n  ',
      );
    }
  });

  it('OPTIONS and TRACE are 405', async () => {
    for (const method of ['OPTIONS', 'TRACE'])
      expect([method, (await bench.ask(method, keysPath)).code]).toEqual([method, 405]);
  });

  it('the truth words of YAML 1.1 are texts (YAML 1.2: only true and false are booleans)', async () => {
    const body = 'metadata: {name: words, labels: {a: y, b: no, c: "true"}}\nspec: {user: alice, displayName: on}';
    expect(await bench.ask('POST', `${keysPath}?dryRun=All`, { body, type: 'application/yaml' })).toMatchObject({
      code: 201,
      body: { metadata: { labels: { a: 'y', b: 'no', c: 'true' } }, spec: { displayName: 'on' } },
    });
    // Where a boolean is wanted, such a word is refused rather than read in one of two ways.
    const disabled = 'metadata: {name: words}\nspec: {user: alice, disabled: yes}';
    expect(
      await bench.ask('POST', `${keysPath}?dryRun=All`, { body: disabled, type: 'application/yaml' }),
    ).toMatchObject({
      code: 422,
      body: { details: { causes: [{ field: 'spec.disabled', message: expect.stringContaining('boolean') }] } },
    });
  });
});
