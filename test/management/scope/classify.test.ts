import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTrue, queryFault, readQuery, selectedName, writeQuery } from '../../../src/apiserver/request/query.ts';
import { classify } from '../../../src/management/scope/classify.ts';
import { request } from './scopes.ts';

const keys = '/kubernetes/management/apis/management.platform/v1/ownedaccesskeys';
const instances = 'apis/management.platform/v1/namespaces/p-a/virtualclusterinstances';

function asked(text: string, isUpgrade = false) {
  const [method = '', url = ''] = text.split(' ');
  return classify({ method, url, isUpgrade });
}

describe('classify()', () => {
  it.each([
    [`GET ${keys}`, 'list ownedaccesskeys.management.platform'],
    [`GET ${keys}/k`, 'get ownedaccesskeys.management.platform k'],
    [`GET ${keys}?watch=true`, 'watch ownedaccesskeys.management.platform'],
    [`GET ${keys}?fieldSelector=metadata.name%3Dk`, 'list ownedaccesskeys.management.platform k'],
    [`GET ${keys}?fieldSelector=metadata.name!%3Dk`, 'list ownedaccesskeys.management.platform'],
    // The first of several counts, as for kube-apiserver.
    [`GET ${keys}?fieldSelector=metadata.name%3Dk&fieldSelector=x`, 'list ownedaccesskeys.management.platform k'],
    [`GET ${keys}?fieldSelector=x%3Dy&fieldSelector=metadata.name%3Dk`, 'list ownedaccesskeys.management.platform'],
    [`GET ${keys}?fieldSelector=metadata.name%3D%2Fk`, 'list ownedaccesskeys.management.platform'],
    [`GET ${keys}?watch=False`, 'list ownedaccesskeys.management.platform'],
    [`GET ${keys}?watch=fal%C5%BFe`, 'list ownedaccesskeys.management.platform'],
    [`GET ${keys}?watch=0&watch=true`, 'list ownedaccesskeys.management.platform'],
    [`GET ${keys}?%77atch`, 'watch ownedaccesskeys.management.platform'],
    [`GET ${keys}?watch=f`, 'watch ownedaccesskeys.management.platform'],
    [`GET ${keys}??watch=true`, 'list ownedaccesskeys.management.platform'],
    [`GET ${keys}?Watch=true`, 'list ownedaccesskeys.management.platform'],
    [`POST ${keys}`, 'create ownedaccesskeys.management.platform'],
    [`POST ${keys}/k/rotate`, 'create ownedaccesskeys/rotate.management.platform k'],
    [`PATCH ${keys}/k`, 'patch ownedaccesskeys.management.platform k'],
    [`DELETE ${keys}`, 'deletecollection ownedaccesskeys.management.platform'],
    [`GET /kubernetes/management/${instances}`, 'list virtualclusterinstances.management.platform in p-a'],
    [
      'GET /kubernetes/management/apis/management.platform/v1/virtualclusterinstances',
      'list virtualclusterinstances.management.platform all',
    ],
    [
      `POST /kubernetes/management/${instances}/v/kubeconfig`,
      'create virtualclusterinstances/kubeconfig.management.platform v in p-a',
    ],
    ['GET /kubernetes/management', 'get /'],
    ['GET /kubernetes/management/', 'get /'],
    ['GET /kubernetes/management/openapi/v3/', 'get /openapi/v3/'],
    ['HEAD /kubernetes/management/version', 'head /version'],
    ['GET /kubernetes/cluster/c1/api/v1/nodes', 'list nodes @ cluster/c1'],
    ['GET /kubernetes/cluster/c1/api/v1/pods', 'list pods all @ cluster/c1'],
    ['GET /kubernetes/cluster/c1/apis/example.com/v1/nodes', 'list nodes.example.com all @ cluster/c1'],
    ['GET /kubernetes/cluster/c1', 'get / @ cluster/c1'],
    ['GET /kubernetes/project/a/virtualcluster/v/version', 'get /version @ vc/a/v'],
    ['GET /kubernetes/project/a/virtualcluster/v/api/v1/namespaces/x/pods/p/log', 'get pods/log p in x @ vc/a/v'],
    [
      'GET /kubernetes/project/a/space/s/apis/apps/v1/namespaces/a-s/deployments',
      'list deployments.apps in a-s @ space/a/s',
    ],
    [
      'GET /kubernetes/cluster/c1/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode',
      'get clusterroles.rbac.authorization.k8s.io system:node @ cluster/c1',
    ],
    // A path below a subresource is for its server to read, and needs the right to the subresource.
    ['GET /kubernetes/cluster/c1/api/v1/nodes/n/proxy/metrics', 'get nodes/proxy n @ cluster/c1'],
    [
      'GET /kubernetes/project/a/space/s/api/v1/namespaces/a-s/pods/p/proxy/a/b/c/d/e',
      'get pods/proxy p in a-s @ space/a/s',
    ],
    [
      'GET /kubernetes/project/a/space/s/api/v1/namespaces/other/services/https:w:1/proxy/a',
      'get services/proxy https:w:1 in other @ space/a/s',
    ],
    ['GET /kubernetes/project/a/space/s/apis/x.y/v1/namespaces/other/a/b/c/d', 'get a/c.x.y b in other @ space/a/s'],
    [
      'GET /kubernetes/project/a/space/s/api/v1/watch/namespaces/other/pods/p/proxy/a',
      'watch pods p in other @ space/a/s',
    ],
    [`POST ${keys}/k/rotate/x`, 'create ownedaccesskeys/rotate.management.platform k'],
  ])('%s is %s', (text, wanted) => {
    const classified = asked(text);
    expect(classified).toMatchObject({ kind: 'request', request: request(wanted) });
    const isAll = classified.kind === 'request' && classified.request.isResource && classified.request.allNamespaces;
    expect(isAll === true).toBe(wanted.includes(' all'));
  });

  it('counts every upgrade as create', () => {
    const exec = '/kubernetes/project/a/virtualcluster/v/api/v1/namespaces/x/pods/p/exec?command=sh';
    expect(asked(`GET ${exec}`, true)).toMatchObject({
      kind: 'request',
      request: { verb: 'create', subresource: 'exec', name: 'p' },
      rest: '/api/v1/namespaces/x/pods/p/exec?command=sh',
    });
    expect(asked(`GET ${exec}`)).toMatchObject({ request: { verb: 'get' } });
    for (const path of ['', '/', '/version', '/api/v1', '/apis/metrics.k8s.io/v1beta1'])
      expect(asked(`GET /kubernetes/cluster/c1${path}`, true).kind).toBe('bad');
    for (const query of ['', '?watch=1'])
      expect(asked(`GET /kubernetes/cluster/c1/api/v1/pods${query}`, true).kind).toBe('bad');
  });

  it.each([
    ['', ''],
    ['?', ''],
    ['?&&', ''],
    ['?watch=FALSE&limit=5', '?watch=false&limit=5'],
    ['?watch&watch=false', '?watch=true'],
    ['?%77atch=1&watch=0', '?watch=true'],
    ['?fieldSelector=metadata.name%3Da&fieldSelector=metadata.name%3Db', '?fieldSelector=metadata.name%3Da'],
    ['?labelSelector=a+b', '?labelSelector=a%20b'],
    ['?dryRun=All&dryRun=', '?dryRun=All&dryRun='],
    ['??watch=true', '?%3Fwatch=true'],
    ['?own=a&own=b&=c', '?own=a&own=b&=c'],
  ])('writes the query %s as %s', (query, written) => {
    const prefix = '/kubernetes/cluster/c1';
    expect(asked(`GET ${prefix}/api/v1/pods${query}`)).toMatchObject({ prefix, rest: `/api/v1/pods${written}` });
  });

  it('writes a query again that is read as the first, and written alike', () => {
    const part = fc.oneof(
      fc.constantFrom(
        'watch',
        'follow',
        'dryRun',
        'fieldSelector',
        'command',
        'false',
        'FALSE',
        '0',
        '',
        '%00',
        '+',
        '%3D',
      ),
      fc.string({ unit: 'grapheme' }).map(encodeURIComponent),
    );
    const pair = fc.tuple(part, fc.constantFrom('', '='), part).map((texts) => texts.join(''));
    fc.assert(
      fc.property(fc.array(pair), (pairs) => {
        const text = pairs.join('&');
        const written = writeQuery(readQuery(text)).replace(/^\?/, '');
        const [read, again] = [readQuery(text), readQuery(written)];
        for (const name of read.keys()) {
          expect(isTrue(again.get(name))).toBe(isTrue(read.get(name)));
          if (!['watch', 'follow'].includes(name)) expect(again.get(name)).toBe(read.get(name));
        }
        expect(again.getAll('command')).toEqual(read.getAll('command'));
        expect(again.getAll('dryRun')).toEqual(read.getAll('dryRun'));
        expect(selectedName(again)).toBe(selectedName(read));
        expect(writeQuery(again).replace(/^\?/, '')).toBe(written);
        expect(queryFault(written)).toBeUndefined();
      }),
    );
  });

  it('leaves the query of a program behind the subresource proxy as it is', () => {
    const query = '?wsdl&watch=False&a=1+2';
    for (const path of ['/api/v1/namespaces/x/pods/p/proxy/a', '/api/v1/namespaces/x/services/s/proxy'])
      expect(asked(`GET /kubernetes/cluster/c1${path}${query}`)).toMatchObject({ rest: path + query });
  });

  it.each([
    '/',
    '/kubernetes',
    '/kubernetes/managementfoo',
    '/kubernetes/cluster',
    '/kubernetes/cluster/',
    '/kubernetes/project/a',
    '/kubernetes/project/a/virtualcluster',
    '/kubernetes/project/a/virtualcluster/',
    '/kubernetes/project/a/other/v/api',
    '/Kubernetes/management',
  ])('knows no server at %s', (path) => {
    expect(asked(`GET ${path}`)).toEqual({ kind: 'notFound' });
  });

  it.each([
    `${keys}/../x`,
    `${keys}/./x`,
    `${keys}//x`,
    `${keys}/%2e%2e/x`,
    `${keys}/%2E/x`,
    `${keys}/a%2fb`,
    `${keys}/a%2Fb`,
    `${keys}/a%5cb`,
    `${keys}/a\\b`,
    `${keys}/a%00`,
    `${keys}/a%252fb`,
    `${keys}/%`,
    `${keys}/%ff`,
    `${keys}/a#b`,
    `${keys}//`,
    'http://host/kubernetes/management',
    '*',
    '',
    '/kubernetes/project/a/virtualcluster/v/api/../../w/api',
    '/kubernetes/project/a%2fvirtualcluster/v/x',
    `${keys}?fieldSelector=metadata.name%3Dk;x`,
    // Go drops a parameter that it cannot decode: the list would be one of everything.
    `${keys}?fieldSelector=metadata.name%3Dk,a!%3D%zz`,
    `${keys}?fieldSelector=metadata.name%3Dk%`,
    // Go reads no parameter at all of so many: the list would be one of everything.
    `${keys}?fieldSelector=metadata.name%3Dk${'&'.repeat(10_000)}`,
    `${keys}?fieldSelector=metadata.name%3D%ff`,
    `${keys}?fieldSelector=metadata.name%3D\u00e9`,
  ])('refuses %s', (url) => {
    expect(classify({ method: 'GET', url, isUpgrade: false }).kind).toBe('bad');
  });

  it.each(['a%5Cb', 'a%5cb', 'a\\b'])('says that a name with a backslash is not reached: %s', (name) => {
    const url = `/kubernetes/cluster/c1/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`;
    const message = expect.stringContaining('a name that holds one is not reached through this server');
    expect(classify({ method: 'GET', url, isUpgrade: false })).toMatchObject({ kind: 'bad', message });
  });
});
