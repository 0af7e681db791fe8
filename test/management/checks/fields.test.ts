// Every field of parts 2.1 to 2.3 of the requirements: in the schema with its type and a sentence, kept or hidden as the part says,
// and refused with its path when it has another type. And the checks of creation by their numbers.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bench, type Body, keysPath, openBench } from '../server/bench.ts';

let bench: Bench;
let count = 0;
const fresh = () => `field-${count++}`;

beforeAll(async () => {
  bench = await openBench({
    settings: { keys: { maxTTL: 0, requireExpiry: false, allowSupplied: false, perOwner: 1000 } },
  });
});
afterAll(() => bench.stop());

function create(metadata: unknown, spec: unknown = { user: 'alice' }, query = '') {
  return bench.ask('POST', `${keysPath}${query}`, { body: { metadata, spec } as object });
}

const metadataFields: Record<string, string> = {
  ...{ name: 'string', generateName: 'string', namespace: 'string', uid: 'string', resourceVersion: 'string' },
  ...{ generation: 'integer', creationTimestamp: 'string', deletionTimestamp: 'string' },
  ...{ deletionGracePeriodSeconds: 'integer', labels: 'object', annotations: 'object' },
  ...{ ownerReferences: 'array', finalizers: 'array', managedFields: 'array' },
  ...{
    'ownerReferences[].apiVersion': 'string',
    'ownerReferences[].kind': 'string',
    'ownerReferences[].name': 'string',
  },
  ...{ 'ownerReferences[].uid': 'string', 'ownerReferences[].controller': 'boolean' },
  ...{ 'ownerReferences[].blockOwnerDeletion': 'boolean', 'managedFields[].manager': 'string' },
  ...{
    'managedFields[].operation': 'string',
    'managedFields[].apiVersion': 'string',
    'managedFields[].time': 'string',
  },
  ...{
    'managedFields[].fieldsType': 'string',
    'managedFields[].fieldsV1': 'object',
    'managedFields[].subresource': 'string',
  },
};
const scopeFields: Record<string, string> = {
  ...{ roles: 'array', 'roles[].role': 'string', 'roles[].projects': 'array', 'roles[].virtualClusters': 'array' },
  ...{ projects: 'array', 'projects[].project': 'string', spaces: 'array', 'spaces[].project': 'string' },
  ...{ 'spaces[].space': 'string', virtualClusters: 'array', 'virtualClusters[].project': 'string' },
  ...{ 'virtualClusters[].virtualCluster': 'string', clusters: 'array', 'clusters[].cluster': 'string' },
  ...{ rules: 'array', 'rules[].verbs': 'array', 'rules[].resources': 'array', 'rules[].resources[].group': 'string' },
  ...{ 'rules[].resources[].resources': 'array', 'rules[].resourceNames': 'array', 'rules[].namespaces': 'array' },
  ...{ 'rules[].nonResourceURLs': 'array', 'rules[].requestTargets': 'array', 'rules[].cluster': 'string' },
  ...{ 'rules[].virtualClusters': 'array', 'rules[].virtualClusters[].name': 'string' },
  ...{ 'rules[].virtualClusters[].namespace': 'string', allowPlatformCli: 'boolean' },
};
const specFields: Record<string, string> = {
  ...{ displayName: 'string', description: 'string', user: 'string', team: 'string', subject: 'string' },
  ...{ groups: 'array', key: 'string', disabled: 'boolean', ttl: 'integer', ttlAfterLastActivity: 'boolean' },
  ...{
    scope: 'object',
    type: 'string',
    identity: 'object',
    oidcProvider: 'object',
    parent: 'string',
    oidcLogin: 'object',
  },
  ...{ 'identity.userId': 'string', 'identity.username': 'string', 'identity.preferredUsername': 'string' },
  ...{ 'identity.email': 'string', 'identity.emailVerified': 'boolean', 'identity.extraClaims': 'object' },
  ...{ 'identity.groups': 'array', 'identity.connector': 'string', 'identity.connectorData': 'string' },
  ...{ 'identity.identityRefresh': 'string', 'oidcProvider.clientId': 'string', 'oidcProvider.nonce': 'string' },
  ...{ 'oidcProvider.redirectUri': 'string', 'oidcProvider.scopes': 'string', 'oidcLogin.idToken': 'string' },
  ...{ 'oidcLogin.accessToken': 'string', 'oidcLogin.refreshToken': 'string', 'oidcLogin.lastRefresh': 'string' },
  ...Object.fromEntries(Object.entries(scopeFields).map(([path, type]) => [`scope.${path}`, type])),
};
const fields: [string, string][] = [
  ...['kind', 'apiVersion'].map((name): [string, string] => [name, 'string']),
  ...Object.entries(metadataFields).map(([path, type]): [string, string] => [`metadata.${path}`, type]),
  ...Object.entries(specFields).map(([path, type]): [string, string] => [`spec.${path}`, type]),
  ['status.lastActivity', 'string'],
];

describe('the schema', () => {
  let schemas: Body;

  beforeAll(async () => {
    const { body } = await bench.ask('GET', '/kubernetes/management/openapi/v3/apis/management.platform/v1');
    schemas = body['components']?.['schemas'] as Body;
  });

  /** A reference is followed, on its own or as the only part of allOf. */
  function resolved(schema: Body | undefined): Body {
    const reference = schema?.['$ref'] ?? (schema?.['allOf'] as unknown as Body[] | undefined)?.[0]?.['$ref'];
    const target = reference === undefined ? undefined : schemas[String(reference).split('/').at(-1) ?? ''];
    return { ...resolvedTarget(target), ...schema } as Body;
  }

  function resolvedTarget(target: Body | undefined): Body {
    return target === undefined ? ({} as Body) : resolved(target);
  }

  it.each(fields)('has %s, of type %s, with a sentence about it', (path, type) => {
    let at = resolved(schemas['management.platform.v1.OwnedAccessKey']);
    for (const step of path.split('.')) {
      at = resolved(at['properties']?.[step.replace('[]', '')]);
      if (step.endsWith('[]')) at = resolved(at['items']);
    }
    expect([path, at['type']]).toEqual([path, type]);
    expect(String(at['description'] ?? '').length, path).toBeGreaterThan(5);
  });
});

describe('the fields', () => {
  const full = {
    ...{ displayName: 'CI', description: 'for CI', user: 'alice', groups: ['devs'], disabled: true, ttl: 3600 },
    ...{ ttlAfterLastActivity: true, type: 'User', parent: 'old' },
    scope: {
      roles: [{ role: 'platform-cli', projects: ['shop'], virtualClusters: ['shop/v1'] }],
      projects: [{ project: '*' }],
      spaces: [{ project: 'shop', space: '*' }],
      virtualClusters: [{ project: 'shop', virtualCluster: '*' }],
      clusters: [{ cluster: '*' }],
      rules: [
        {
          verbs: ['get'],
          resources: [{ group: 'apps', resources: ['deployments'] }],
          resourceNames: ['a'],
          namespaces: [''],
          requestTargets: ['ProjectSpace'],
        },
        { nonResourceURLs: ['/metrics'], cluster: 'c1' },
        { virtualClusters: [{ name: 'v1', namespace: 'p-shop' }] },
      ],
      allowPlatformCli: true,
    },
    identity: {
      ...{ userId: '1', username: 'a', preferredUsername: 'A', email: 'a@example.com', emailVerified: true },
      ...{ extraClaims: { a: { b: 1 } }, groups: ['g'], connector: 'c', identityRefresh: '2026-01-01T00:00:00Z' },
    },
    oidcProvider: { clientId: 'c', nonce: 'n', redirectUri: 'https://a.example', scopes: 'openid' },
    oidcLogin: { lastRefresh: '2026-01-01T00:00:00Z' },
  };

  it('are stored and returned as they were given, the hidden ones excepted', async () => {
    const name = fresh();
    const hidden = {
      ...full,
      identity: { ...full.identity, connectorData: 'x' },
      oidcLogin: { ...full.oidcLogin, idToken: 'x', accessToken: 'x', refreshToken: 'x' },
    };
    const made = await create({ name, labels: { a: 'b' }, annotations: { note: 'kept' } }, hidden);
    expect([made.code, made.text.slice(0, 300)]).toEqual([201, expect.any(String)]);
    const { body } = await bench.ask('GET', `${keysPath}/${name}`);
    expect(body['spec']).toEqual(full);
    expect(body['metadata']).toMatchObject({ name, labels: { a: 'b' }, annotations: { note: 'kept' } });
    expect(body).toMatchObject({ apiVersion: 'management.platform/v1', kind: 'OwnedAccessKey', status: {} });
  });

  it.each(Object.entries(specFields).filter(([path]) => !path.includes('extraClaims')))(
    'spec.%s of another type than %s is 422 with the path',
    async (path, type) => {
      const wrong = type === 'string' ? 7 : type === 'boolean' || type === 'integer' ? 'x' : 7;
      const spec: Record<string, unknown> = { user: 'alice' };
      let at: Record<string, unknown> = spec;
      const steps = path.split('.');
      for (const [index, step] of steps.entries()) {
        const name = step.replace('[]', '');
        const isLast = index === steps.length - 1;
        if (isLast) at[name] = wrong;
        else {
          const next = {};
          at[name] = step.endsWith('[]') ? [next] : next;
          at = next;
        }
      }
      const { code, body } = await create({ name: fresh() }, spec);
      const causes = (body['details']?.['causes'] ?? []) as unknown as { field: string }[];
      expect([code, causes.map(({ field }) => field.replaceAll(/\[\d+\]/g, '[]'))]).toEqual([
        422,
        expect.arrayContaining([`spec.${path}`]),
      ]);
    },
  );

  it('what the server alone sets is ignored in a create; a resourceVersion is 400', async () => {
    const name = fresh();
    const given = {
      uid: 'mine',
      generation: 9,
      creationTimestamp: '2001-01-01T00:00:00Z',
      deletionTimestamp: '2001-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 5,
    };
    const { code, body } = await create({ name, ...given });
    expect(code).toBe(201);
    const { metadata } = body;
    expect(metadata).toMatchObject({
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      generation: 1,
      creationTimestamp: expect.stringMatching(/^20(?!01)/),
    });
    for (const field of ['deletionTimestamp', 'deletionGracePeriodSeconds']) expect(metadata).not.toHaveProperty(field);
    expect(await create({ name: fresh(), resourceVersion: '5' })).toMatchObject({
      code: 400,
      body: { message: expect.stringContaining('resourceVersion should not be set') },
    });
  });

  it('another apiVersion and another kind are 400, absent ones are inferred', async () => {
    const send = (head: object) =>
      bench.ask('POST', `${keysPath}?dryRun=All`, {
        body: { ...head, metadata: { name: 'x' }, spec: { user: 'alice' } },
      });
    expect(await send({ apiVersion: 'management.platform/v2', kind: 'OwnedAccessKey' })).toMatchObject({
      code: 400,
      body: {
        message:
          'the API version in the data (management.platform/v2) does not match the expected API version (management.platform/v1)',
      },
    });
    expect(await send({ apiVersion: 'management.platform/v1', kind: 'Other' })).toMatchObject({
      code: 400,
      body: { message: 'the kind in the data (Other) does not match the expected kind (OwnedAccessKey)' },
    });
    expect(await send({})).toMatchObject({ code: 201 });
  });

  it('a name is needed, and is a DNS subdomain', async () => {
    expect(await create({})).toMatchObject({
      code: 422,
      body: { details: { causes: [{ reason: 'FieldValueRequired', field: 'metadata.name' }] } },
    });
    for (const name of ['Upper', 'a_b', '-a', 'a'.repeat(254)])
      expect(await create({ name })).toMatchObject({
        code: 422,
        body: { details: { causes: [{ reason: 'FieldValueInvalid', field: 'metadata.name' }] } },
      });
    expect((await create({ generateName: 'Bad_' })).code).toBe(422);
  });

  it('a long prefix is cut, and a taken generated name is tried again with another suffix', async () => {
    const { body } = await create({ generateName: 'a'.repeat(80) });
    expect(String(body['metadata']?.['name'])).toMatch(/^a{58}[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });

  it('an unknown type and a ttl that is no whole number in its range', async () => {
    expect(
      (await create({ name: fresh() }, { user: 'alice', type: 'Robot' })).body['details']?.['causes'],
    ).toMatchObject([{ reason: 'FieldValueNotSupported', message: expect.stringContaining('"User"') }]);
    for (const ttl of [-1, 1.5, 1e300, '60', 3_153_600_001])
      expect([ttl, (await create({ name: fresh() }, { user: 'alice', ttl })).code]).toEqual([ttl, 422]);
    for (const ttl of [0, 1, 3_153_600_000])
      expect((await create({ name: fresh() }, { user: 'alice', ttl })).code).toBe(201);
  });

  it('null is absent, in spec and in metadata', async () => {
    const { body, code } = await create(
      { name: fresh(), labels: null, annotations: {} },
      { user: 'alice', displayName: null },
    );
    expect([code, body['spec']?.['displayName'], body['metadata']?.['labels']]).toEqual([201, undefined, undefined]);
    expect((await create(null)).code).toBe(422);
  });

  it('wrong types in metadata, and bodies that are no object, are 400', async () => {
    for (const metadata of [{ labels: { a: 1 } }, { annotations: 'x' }, { creationTimestamp: 'yesterday' }])
      expect([metadata, (await create({ name: fresh(), ...metadata })).code]).toEqual([metadata, 400]);
    for (const body of ['', '[]', '"text"', '{', '7'])
      expect([body, (await bench.ask('POST', keysPath, { body })).code]).toEqual([body, 400]);
  });

  it('status is ignored, and an object is not created at its own path', async () => {
    const { body } = await bench.ask('POST', keysPath, {
      body: { metadata: { name: fresh() }, spec: { user: 'alice' }, status: { lastActivity: '2001-01-01T00:00:00Z' } },
    });
    expect(JSON.stringify(body)).not.toContain('2001-');
    expect((await bench.ask('POST', `${keysPath}/some`, { body: {} })).code).toBe(405);
  });

  it('labels, annotations and finalizers', async () => {
    const causes = async (metadata: object) =>
      (await create({ name: fresh(), ...metadata })).body['details']?.['causes'];
    expect(await causes({ labels: { 'a b': 'x', c: '-'.repeat(64) } })).toMatchObject(
      Array.from({ length: 3 }, () => ({ field: 'metadata.labels' })),
    );
    expect((await create({ name: fresh(), annotations: { a: 'x'.repeat(33_000) } })).code).toBe(413);
    expect((await create({ name: fresh(), finalizers: ['orphan', 'foregroundDeletion'] })).code).toBe(422);
  });

  it('owner references need their four fields, the path says which one lacks them, and at most one manages', async () => {
    const causes = (await create({ name: fresh(), ownerReferences: [{}] })).body['details']?.['causes'];
    expect((causes as unknown as { field: string }[]).map(({ field }) => field)).toEqual(
      expect.arrayContaining(
        ['apiVersion', 'kind', 'name', 'uid'].map((field) => `metadata.ownerReferences[0].${field}`),
      ),
    );
    const owner = (uid: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid, controller: true });
    expect((await create({ name: fresh(), ownerReferences: [owner('a'), owner('b')] })).code).toBe(422);
  });

  it('explains every definition and every field of every group that is served', async () => {
    const { paths } = (await bench.ask('GET', '/kubernetes/management/openapi/v3')).body;
    const places = Object.values(paths as unknown as Record<string, { serverRelativeURL: string }>);
    const unexplained: string[] = [];
    let count = 0;
    const look = (schema: Body, path: string) => {
      count++;
      if (!/\w{3}/.test(String(schema['description'] ?? ''))) unexplained.push(path);
      lookBelow(schema, path);
    };
    const lookBelow = (schema: Body, path: string) => {
      for (const [name, field] of Object.entries(schema['properties'] ?? {})) look(field, `${path}.${name}`);
      for (const inner of ['items', 'additionalProperties'])
        if (typeof schema[inner] === 'object') lookBelow(schema[inner], `${path}[]`);
    };
    for (const { serverRelativeURL } of places) {
      const { components } = (await bench.ask('GET', `/kubernetes/management${serverRelativeURL}`)).body;
      for (const [name, schema] of Object.entries(components?.['schemas'] ?? {})) look(schema, name);
    }
    expect(count).toBeGreaterThan(300);
    expect([...new Set(unexplained)]).toEqual([]);
  });
});
