import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Behind, openBehind } from './upstream.ts';

const prefix = '/kubernetes/project/shop/virtualcluster/v1';
const accessPath = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const rulesPath = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';

let behind: Behind;
let reader: string;
beforeAll(async () => {
  behind = await openBehind();
  const scope = {
    rules: [
      { verbs: ['get', 'list'], resources: [{ group: '', resources: ['pods', 'pods/exec'] }], namespaces: ['default'] },
    ],
  };
  reader = await behind.bench.keyFor('reader', { user: 'alice', scope });
});
afterAll(() => behind.stop());
beforeEach(() => {
  behind.seen.length = 0;
  behind.answerWith((_request, response) => {
    response.writeHead(201, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ kind: 'SelfSubjectAccessReview', status: { allowed: true } }));
  });
});

function mayI(resourceAttributes: object, more: object = {}) {
  const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview', spec: { resourceAttributes } };
  return behind.bench.ask('POST', prefix + accessPath, { key: reader, body, ...more });
}

describe('reviews through the server', () => {
  it('answers no where the scope denies, and asks the cluster about the rest', async () => {
    expect(await mayI({ verb: 'get', resource: 'pods', namespace: 'default' })).toMatchObject({
      code: 201,
      body: { status: { allowed: true } },
    });
    expect(JSON.parse(behind.seen[0]?.body ?? '')).toMatchObject({ spec: { resourceAttributes: { verb: 'get' } } });
    const denied: object[] = [
      { verb: 'delete', resource: 'pods', namespace: 'default' },
      { verb: 'get', resource: 'secrets', namespace: 'default' },
      { verb: 'get', resource: 'pods', namespace: 'other' },
      { verb: 'list', resource: 'pods' },
      { verb: 'get', resource: 'pods', subresource: 'exec', namespace: 'default' },
    ];
    for (const attributes of denied)
      expect(await mayI(attributes)).toMatchObject({
        code: 201,
        body: { kind: 'SelfSubjectAccessReview', status: { allowed: false, reason: expect.stringMatching(/scope/) } },
      });
    expect(behind.seen).toHaveLength(1);
  });

  it('decides about paths as well', async () => {
    const ask = (path: string) => {
      const spec = { nonResourceAttributes: { verb: 'get', path } };
      return behind.bench.ask('POST', prefix + accessPath, { key: reader, body: { spec } });
    };
    expect(await ask('/version')).toMatchObject({ body: { status: { allowed: true } } });
    expect(await ask('/metrics')).toMatchObject({ body: { status: { allowed: false } } });
  });

  it('answers no about another namespace than that of the space, to an administrator too', async () => {
    const key = await behind.bench.keyFor('root-reviews', { user: 'root' });
    const ask = (resourceAttributes: object) =>
      behind.bench.ask('POST', `/kubernetes/project/shop/space/s1${accessPath}`, {
        key,
        body: { spec: { resourceAttributes } },
      });
    const here = { verb: 'get', resource: 'pods', namespace: 'shop-s1' };
    expect(await ask(here)).toMatchObject({ body: { status: { allowed: true } } });
    for (const elsewhere of [{ namespace: 'default' }, { namespace: '' }, { resource: 'nodes', namespace: '' }])
      expect(await ask({ ...here, ...elsewhere })).toMatchObject({ body: { status: { allowed: false } } });
    expect(behind.seen).toHaveLength(1);
  });

  it('says that a list of rules is incomplete', async () => {
    behind.answerWith((request, response) => {
      const rules = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }];
      const review = { kind: 'SelfSubjectRulesReview', status: { resourceRules: rules, incomplete: false } };
      const isReadable =
        request.headers.accept === 'application/json' && request.headers['accept-encoding'] === undefined;
      response.writeHead(isReadable ? 201 : 500, { 'content-type': 'application/json' });
      response.end(JSON.stringify(review));
    });
    const headers = { accept: 'application/vnd.kubernetes.protobuf,application/json', 'accept-encoding': 'gzip' };
    const answer = await behind.bench.ask('POST', prefix + rulesPath, { key: reader, body: { spec: {} }, headers });
    expect(answer).toMatchObject({ code: 201, body: { status: { incomplete: true, resourceRules: [{}] } } });
    expect(Number(answer.headers['content-length'])).toBe(answer.text.length);
  });

  it('refuses what is no review', async () => {
    const ask = (body: string) => behind.bench.ask('POST', prefix + accessPath, { key: reader, body });
    expect(await ask('[]')).toMatchObject({ code: 400 });
    expect(await ask('{')).toMatchObject({ code: 400 });
    expect(await ask(JSON.stringify({ spec: 'x'.repeat(70_000) }))).toMatchObject({ code: 413 });
    expect(behind.seen).toEqual([]);
  });

  it('leaves discovery open wherever a scope can reach, and nothing else', async () => {
    for (const path of ['/api', '/apis', '/apis/apps/v1', '/version', '/openapi/v3', '/api/v1'])
      expect(await behind.bench.ask('GET', prefix + path, { key: reader })).toMatchObject({ code: 201 });
    expect(await behind.bench.ask('GET', `${prefix}/logs`, { key: reader })).toMatchObject({ code: 403 });
    for (const place of ['/kubernetes/project/shop/space/s1', '/kubernetes/cluster/c1'])
      expect(await behind.bench.ask('GET', `${place}/api`, { key: reader })).toMatchObject({ code: 201 });
  });
});
