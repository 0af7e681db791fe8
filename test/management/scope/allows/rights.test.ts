import { describe, expect, it } from 'vitest';
import { allows } from '../../../../src/management/scope/allows.ts';
import { answer, request, scope, shop, subject } from '../scopes.ts';

const keys = 'ownedaccesskeys.management.platform';

const tokens = 'directclusterendpointtokens.management.platform';

const instances = 'virtualclusterinstances.management.platform';

const kubeconfig = 'virtualclusterinstances/kubeconfig.management.platform';

describe('the key of a kubeconfig', () => {
  it.each([
    [`create ${keys}`, false],
    [`create ${tokens}`, false],
    [`create ${kubeconfig} v in p-a`, false],
    [`list ${keys}`, true],
    ['delete nodes n @ vc/a/v', true],
  ])('of a user of the project: %s is %s', (text, isAllowed) => {
    const credential = { subject: subject('alice'), keyName: 'own', scopes: [undefined] };
    expect(allows(shop, credential, request(text)).allowed).toBe(true);
    expect(allows(shop, { ...credential, issuesNothing: true }, request(text)).allowed).toBe(isAllowed);
  });
});

describe('the rights of a subject, without any scope', () => {
  const cases: [who: string, allowed: boolean, text: string][] = [
    ['bob', true, `list ${keys}`],
    ['bob', true, `create ${keys}`],
    ['bob', true, `delete ${keys} another`],
    ['bob', true, `create ownedaccesskeys/rotate.management.platform own`],
    ['bob', true, `create ${tokens}`],
    ['bob', false, `get ${tokens} t`],
    ['bob', false, `list ${keys} in p-a`],
    ['bob', false, 'get ownedaccesskeys x'],
    ['bob', true, 'create selfsubjectaccessreviews.authorization.k8s.io'],
    ['bob', true, 'create selfsubjectreviews.authentication.k8s.io'],
    ['bob', false, 'create selfsubjectreviews.authorization.k8s.io'],
    ['bob', false, 'create subjectaccessreviews.authorization.k8s.io'],
    ['bob', true, 'get /'],
    ['bob', true, 'get /apis/management.platform/v1'],
    ['bob', true, 'get /openapi/v3/'],
    ['bob', true, 'head /livez/ping'],
    ['bob', false, 'post /apis'],
    ['bob', false, 'get /apisx'],
    ['bob', false, 'get /metrics'],
    ['bob', false, 'get /apis/../metrics'],
    ['bob', false, 'get /healthz//x'],
    ['bob', false, 'get /healthz%2f'],
    ['bob', false, `list ${instances} in p-a`],
    ['vera', true, `list ${instances} in p-a`],
    ['vera', true, `get ${instances} v in p-a`],
    ['vera', true, `watch ${instances} in p-a`],
    ['vera', false, `create ${kubeconfig} v in p-a`],
    ['vera', false, `delete ${instances} v in p-a`],
    ['vera', false, `list ${instances} all`],
    ['vera', false, `list ${instances} in p-b`],
    ['vera', false, 'list pods in x @ vc/a/v'],
    ['alice', true, `create ${kubeconfig} v in p-a`],
    ['alice', true, `create ${kubeconfig} v in p-b`],
    ['alice', false, `create ${instances} v in p-a`],
    ['alice', true, 'delete nodes n @ vc/a/v'],
    ['alice', true, 'get /metrics @ vc/a/v'],
    ['alice', true, 'create pods/exec x in y @ vc/b/v'],
    ['alice', true, 'list pods in a-s @ space/a/s'],
    ['alice', false, 'list pods in other @ space/a/s'],
    ['alice', false, 'list pods all @ space/a/s'],
    ['alice', false, 'list nodes @ space/a/s'],
    ['alice', false, 'get /metrics @ space/a/s'],
    ['alice', true, 'get /version @ space/a/s'],
    ['alice', false, 'list pods in a-s @ space/a/unknown'],
    ['alice', true, 'list nodes @ cluster/c1'],
    ['alice', false, 'list nodes @ cluster/c2'],
    ['bob', false, 'get /version @ cluster/c1'],
    ['root', true, 'list nodes @ cluster/c2'],
    ['root', true, 'delete pods x in a-s @ space/a/s'],
    ['root', true, 'get /version @ space/a/s'],
    ['root', false, 'list pods in other @ space/a/s'],
    ['root', false, 'list pods all @ space/a/s'],
    ['root', false, 'list nodes @ space/a/s'],
    ['root', false, 'get /metrics @ space/a/s'],
    ['root', false, 'list pods in b-s @ space/a/s'],
    ['root', false, 'list pods in a-s @ space/a/unknown'],
    ['root', true, `list ${instances} all`],
    ['root', true, 'get /metrics'],
    ['admin', true, 'get /metrics'],
  ];
  it.each(cases)('%s: %s: %s', (who, allowed, text) => {
    expect(answer(who, text)).toBe(allowed);
  });

  it('a client certificate is for project admins', () => {
    const wanted = { ...request(`create ${kubeconfig} v in p-a`), clientCert: true } as const;
    const ask = (who: string, value?: unknown) =>
      allows(
        shop,
        { subject: subject(who), keyName: 'own', scopes: [value === undefined ? undefined : scope(value)] },
        wanted,
      ).allowed;
    expect(ask('alice')).toBe(true);
    expect(ask('alice', { projects: [{ project: 'a' }] })).toBe(true);
    expect(ask('alice', { projects: [{ project: 'a' }], rules: [{ verbs: ['get'] }] })).toBe(false);
    expect(ask('vera')).toBe(false);
    // A certificate carries no rules, and those of a key that made the key count as its own.
    const makers = [undefined, scope({ projects: [{ project: 'a' }], rules: [{ verbs: ['*'] }] })];
    const made = { subject: subject('alice'), keyName: 'own', scopes: makers };
    expect(allows(shop, made, wanted)).toMatchObject({ allowed: false, reason: expect.stringContaining('rules') });
    const red = shop.resolve({ kind: 'team', name: 'red' });
    const team = red.kind === 'here' ? red.subject : subject('alice');
    expect(allows(shop, { subject: team, keyName: 'own', scopes: [undefined] }, wanted).allowed).toBe(false);
  });
});

describe('a scope narrows: the truth table of the facts', () => {
  const projectA = { projects: [{ project: 'a' }] };
  const allProjects = { projects: [{ project: '*' }] };
  const instance = { virtualClusters: [{ project: 'a', virtualCluster: 'v' }] };
  const allInstances = { virtualClusters: [{ project: 'a', virtualCluster: '*' }] };
  const rules = (...list: object[]) => ({ rules: list });
  const pods = { resources: [{ group: '', resources: ['pods'] }] };
  const cases: [number: number, value: unknown, text: string, allowed: boolean][] = [
    [1, undefined, `list ${instances} all`, true],
    [2, {}, `list ${keys}`, false],
    [3, {}, 'create selfsubjectreviews.authentication.k8s.io', true],
    [4, projectA, `list ${instances} in p-a`, true],
    [5, projectA, `list ${instances} in p-b`, false],
    [6, projectA, `list ${instances} all`, false],
    [6, allProjects, `list ${instances} all`, false],
    [7, projectA, 'list pods in x @ vc/a/v', true],
    [8, projectA, 'list pods in x @ cluster/c1', false],
    [9, allProjects, `list ${instances} in p-b`, true],
    [9, allProjects, `list ${instances} in p-`, true],
    [9, allProjects, `list ${instances} in p`, false],
    [10, instance, `create ${kubeconfig} v in p-a`, true],
    [11, instance, `create ${kubeconfig} w in p-a`, false],
    [12, instance, `delete ${instances} v in p-a`, true],
    [13, allInstances, 'list pods in x @ vc/a/w', true],
    [14, allInstances, 'list pods in x @ vc/b/w', false],
    [15, { spaces: [{ project: 'a', space: 's' }] }, 'list pods in a-s @ space/a/s', true],
    [15, { spaces: [{ project: 'a', space: 's' }] }, 'list pods in b-s @ space/a/s', false],
    [16, { clusters: [{ cluster: 'c1' }] }, 'list pods in x @ cluster/c1', true],
    [17, { clusters: [{ cluster: 'c1' }] }, 'list pods in x @ cluster/c2', false],
    [18, { roles: [{ role: 'platform-cli' }] }, `list ${instances} all`, true],
    [19, { roles: [{ role: 'platform-cli' }] }, `create ${instances} in p-a`, false],
    [20, { roles: [{ role: 'platform-cli', projects: ['a'] }] }, `list ${instances} in p-b`, false],
    [20, { roles: [{ role: 'platform-cli', projects: ['a'] }] }, `list ${instances} in p-a`, true],
    [21, rules({ verbs: ['get'], ...pods }), 'get pods x in y @ vc/a/v', true],
    [22, rules({ verbs: ['get'], ...pods }), 'get pods/log x in y @ vc/a/v', false],
    [23, rules({ verbs: ['get'], resources: [{ resources: ['pods/*'] }] }), 'create pods/exec x in y @ vc/a/v', false],
    [24, rules({ cluster: 'c1' }), `list ${keys}`, false],
    [25, rules({ requestTargets: ['Management'] }), 'list pods in x @ cluster/c1', false],
    [26, rules({ namespaces: [''] }), 'list pods in x @ vc/a/v', false],
    [28, projectA, `create ${keys}`, false],
    [29, rules({ verbs: ['create'], resources: [{ group: 'management.platform' }] }), `create ${keys}`, true],
    [30, { ...projectA, virtualClusters: [{ project: 'b', virtualCluster: 'v' }] }, 'get pods x in y @ vc/b/v', true],
    [30, { ...projectA, virtualClusters: [{ project: 'b', virtualCluster: 'v' }] }, 'get pods x in y @ vc/a/w', true],
    [30, { ...projectA, virtualClusters: [{ project: 'b', virtualCluster: 'v' }] }, 'get pods x in y @ vc/b/w', false],
  ];
  it.each(cases)('row %s: %j: %s: %s', (_, value, text, allowed) => {
    expect(answer('root', text, value)).toBe(allowed);
  });
});

describe('the base grant', () => {
  it.each([
    [true, `get ${keys} own`],
    [true, `delete ${keys} own`],
    [true, `list ${keys} own`],
    [true, `watch ${keys} own`],
    [true, `patch ${keys} own`],
    [true, `create ${tokens}`],
    [true, 'get /version'],
    [false, `get ${keys} another`],
    [false, `list ${keys}`],
    [false, `deletecollection ${keys} own`],
    [false, `create ${keys}`],
    [false, `create ownedaccesskeys/rotate.management.platform own`],
    [false, 'get /metrics'],
    [false, 'get /version @ vc/a/v'],
    [false, `get ${keys} own @ vc/a/v`],
  ] as const)('with the scope {}: %s: %s', (allowed, text) => {
    expect(answer('root', text, {})).toBe(allowed);
  });

  it.each([
    [{ projects: [{ project: 'a' }] }, 'vc/a/v', true],
    [{ projects: [{ project: 'a' }] }, 'space/a/s', true],
    [{ projects: [{ project: 'a' }] }, 'vc/b/v', false],
    [{ spaces: [{ project: 'a', space: '*' }] }, 'space/a/s', true],
    [{ spaces: [{ project: 'a', space: 's' }] }, 'vc/a/v', false],
    [{ virtualClusters: [{ project: 'a', virtualCluster: 'v' }] }, 'vc/a/v', true],
    [{ virtualClusters: [{ project: 'a', virtualCluster: 'v' }] }, 'vc/a/w', false],
    [{ clusters: [{ cluster: '*' }] }, 'cluster/c2', true],
    [{ clusters: [{ cluster: 'c1' }] }, 'cluster/c2', false],
    [{ rules: [{ verbs: ['get'], resources: [{ resources: ['pods'] }] }] }, 'cluster/c2', true],
    [{ rules: [{ cluster: 'c1' }] }, 'cluster/c2', false],
    [{ rules: [{ virtualClusters: [{ name: 'v', namespace: 'p-a' }] }] }, 'vc/a/v', true],
    [{ rules: [{ virtualClusters: [{ name: 'v', namespace: 'p-a' }] }] }, 'vc/b/v', false],
    [{ roles: [{ role: 'platform-cli' }] }, 'vc/a/v', false],
  ])('discovery goes where an entry leads: %j at %s: %s', (value, place, allowed) => {
    expect(answer('root', `get /version @ ${place}`, value)).toBe(allowed);
    expect(answer('root', `create selfsubjectrulesreviews.authorization.k8s.io @ ${place}`, value)).toBe(allowed);
  });
});

describe('discovery', () => {
  const space = { spaces: [{ project: 'a', space: 's' }] };
  it.each([
    ['/', true],
    ['/api', true],
    ['/api/v1', true],
    ['/api/v1/', true],
    ['/apis/apps', true],
    ['/apis/apps/v1', true],
    ['/openapi/v3/apis/apps/v1', true],
    ['/livez/ping', true],
    ['/api/v1/nodes', false],
    ['/api/v1/nodes/n/proxy/metrics', false],
    ['/apis/apps/v1/deployments', false],
    ['/apis/x.y/v1/a/b/c/d', false],
  ])('says what there is, and nothing of it: get %s: %s', (path, allowed) => {
    expect(answer('alice', `get ${path} @ space/a/s`, space)).toBe(allowed);
    expect(answer('alice', `head ${path} @ space/a/s`)).toBe(allowed);
  });
});
