import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { type Body, keysPath } from '../bench.ts';
import { bench, get, root, setUp } from './stage.ts';

setUp();

describe('a list of large objects', () => {
  const table = 'application/json;as=Table;g=meta.k8s.io;v=v1';
  const metadata = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

  it('is written in pieces, in every form, so that clients that read none cannot fill the memory', async () => {
    const large = Array.from({ length: 20 }, (_, at) => `large-${at + 10}`);
    for (const [at, name] of large.entries()) {
      const user = at % 2 === 0 ? 'alice' : 'bob';
      const body = { metadata: { name, annotations: { a: 'x'.repeat(30_000) } }, spec: { user } };
      expect((await bench.ask('POST', keysPath, { body })).code).toBe(201);
    }
    for (const query of ['', '?limit=500', '?limit=2']) {
      for (const form of ['application/json', table, metadata]) {
        const json = await get(keysPath + query, { accept: form });
        expect([json.code, json.headers['content-type']]).toEqual([200, 'application/json']);
        const isLong = query !== '?limit=2';
        expect(json.headers['content-length'] === undefined).toBe(isLong);
        const yaml = await get(keysPath + query, { accept: form.replace('json', 'yaml') });
        expect([yaml.code, yaml.headers['content-type']]).toEqual([200, 'application/yaml']);
        // A cell has the age of its key, and each request is a use of it.
        const ageless = (value: unknown) =>
          JSON.parse(
            JSON.stringify(value)
              .replace(/"\d+s"/g, '"age"')
              .replace(/"lastActivity":"[^"]*"/g, '"lastActivity":""'),
          ) as Body;
        const { metadata: ofJson, ...inJson } = ageless(json.body);
        const { metadata: ofYaml, ...inYaml } = ageless(load(yaml.text));
        expect([inYaml, Object.keys(ofYaml ?? {})]).toEqual([inJson, Object.keys(ofJson ?? {})]);
        const items = (json.body['items'] ?? json.body['rows']) as unknown as Body[];
        if (isLong) expect(JSON.stringify(items).match(/"name":"large-\d+"/g)).toHaveLength(20);
        else expect([items.length, String(ofJson?.['continue'])]).toEqual([2, expect.stringMatching(/./)]);
      }
    }
    for (const name of large) await bench.ask('DELETE', `${keysPath}/${name}`);
  });
});

describe('discovery and OpenAPI', () => {
  it('version, groups and resources', async () => {
    // kubectl warns of a server that is far from its own version.
    expect((await get(`${root}/version`)).body).toMatchObject({
      major: '1',
      minor: '36',
      gitVersion: expect.stringMatching(/^v1\.36\.\d+\+hostward-\d+\.\d+\.\d+$/),
    });
    expect((await get(`${root}/apis`)).text).toContain('management.platform/v1');
    for (const path of ['/apis/management.platform', '/apis/management.platform/'])
      expect(await get(root + path)).toMatchObject({ code: 200, body: { kind: 'APIGroup' } });
    const { body } = await get(`${root}/apis/management.platform/v1`);
    expect(body['resources']).toMatchObject([
      {
        name: 'ownedaccesskeys',
        singularName: 'ownedaccesskey',
        namespaced: false,
        kind: 'OwnedAccessKey',
        shortNames: ['oak'],
      },
      { name: 'ownedaccesskeys/rotate', kind: 'OwnedAccessKeyRotation', verbs: ['create'] },
      { name: 'directclusterendpointtokens', namespaced: false, verbs: ['create'] },
      { name: 'revocations', namespaced: false, verbs: ['list', 'watch'] },
      { name: 'agentreports', namespaced: false, verbs: ['create'] },
      { name: 'virtualclusterinstances', namespaced: true, verbs: ['get', 'list', 'watch'], shortNames: ['vci'] },
      { name: 'virtualclusterinstances/kubeconfig', kind: 'VirtualClusterInstanceKubeConfig', verbs: ['create'] },
    ]);
  });

  it('aggregated discovery', async () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const answer = await get(`${root}/apis`, { accept });
    expect(answer.headers['content-type']).toBe(accept);
    expect(answer.text).toContain('"responseKind"');
  });

  it('what is not there is a Status of 404', async () => {
    for (const path of [
      '/apis/none/v1/x',
      '/apis/management.platform/v2/x',
      '/apis/management.platform/v1/x',
      '/apis/management.platform/v1/namespaces/x/ownedaccesskeys',
      '/foo',
    ])
      expect(await get(root + path)).toMatchObject({ code: 404, body: { kind: 'Status', code: 404 } });
  });

  it('OpenAPI explains every field, and offers no strategic merge', async () => {
    const { body } = await get(`${root}/openapi/v3`);
    const place = body['paths']?.['apis/management.platform/v1'];
    expect(place?.['serverRelativeURL']).toMatch(/^\/openapi\/v3\/apis\/management.platform\/v1\?hash=/);
    const document = (await get(`${root}/openapi/v3/apis/management.platform/v1`)).body;
    const schemas = document['components']?.['schemas'] as unknown as Record<string, object>;
    expect(schemas['management.platform.v1.OwnedAccessKey']).toMatchObject({
      'x-kubernetes-group-version-kind': [{ group: 'management.platform', version: 'v1', kind: 'OwnedAccessKey' }],
      properties: { spec: { properties: { key: { writeOnly: true }, ttl: { minimum: 0, maximum: 3153600000 } } } },
    });
    expect(fieldsWithoutWords(schemas['management.platform.v1.OwnedAccessKey'] as object, '')).toEqual([]);
    const patch = JSON.stringify(document['paths']?.['/apis/management.platform/v1/ownedaccesskeys/{name}']?.['patch']);
    expect(patch).toContain('fieldValidation');
    expect(patch).toContain('application/apply-patch+yaml');
    expect(patch).not.toContain('strategic');
  });
});

interface Described {
  description?: string;
  properties?: object;
  items?: object;
}

/** Paths of fields that nothing describes. */
function fieldsWithoutWords(schema: Described, path: string): string[] {
  const items = schema.items === undefined ? [] : fieldsWithoutWords(schema.items, path);
  const fields = Object.entries((schema.properties ?? {}) as Record<string, Described>);
  return [
    ...items,
    ...fields.flatMap(([name, field]) => [
      ...(field.description ? [] : [`${path}.${name}`]),
      ...fieldsWithoutWords(field, `${path}.${name}`),
    ]),
  ];
}

describe('content', () => {
  it.each([
    ['another type of body', 'POST', { type: 'text/plain', body: 'x' }, 415],
    ['protobuf, which only reviews may be', 'POST', { type: 'application/vnd.kubernetes.protobuf', body: 'x' }, 415],
    ['an Accept that nothing fits', 'GET', { headers: { accept: 'text/html' } }, 406],
    ['an unknown form', 'GET', { headers: { accept: 'application/json;as=Foo' } }, 406],
    ['another method', 'OPTIONS', {}, 405],
    ['a create at a name', 'POST /a', { body: {} }, 405],
    ['an empty body', 'POST', { body: '' }, 400],
    ['an array', 'POST', { body: [] }, 400],
    ['a body beyond 64 KiB', 'POST', { body: `{"a":"${'x'.repeat(64 * 1024)}"}` }, 413],
  ] as const)('%s', async (_name, method, how, code) => {
    const [verb = '', path = ''] = method.split(' ');
    expect(await bench.ask(verb, keysPath + path, how)).toMatchObject({ code });
  });

  it('YAML out, and weights count', async () => {
    const { text, headers } = await get(`${keysPath}/a`, { accept: 'application/json;q=0.1, application/yaml' });
    expect(headers['content-type']).toBe('application/yaml');
    expect(text).toContain('displayName: key a');
  });

  it('HEAD has no body; nothing is cached', async () => {
    const head = await bench.ask('HEAD', `${keysPath}/a`);
    expect([head.code, head.text, head.headers['cache-control']]).toEqual([200, '', 'no-cache, private']);
  });

  it('headers beyond 16 KiB are 431', async () => {
    expect(await get(keysPath, { 'x-long': 'x'.repeat(17_000) })).toMatchObject({ code: 431 });
  });

  it.each([
    '/kubernetes/management//api',
    '/kubernetes/management/./api',
    '/kubernetes/management/%2e%2e/api',
    '/kubernetes/management/api;x',
    '/kubernetes/management/api?a=1;b=2',
  ])('the path %s is read in one way or not at all', async (path) => {
    expect([400, 404]).toContain((await get(path)).code);
  });
});
