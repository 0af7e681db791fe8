import { describe, expect, it } from 'vitest';
import { actsAsAdministrator, allows } from '../../../../src/management/scope/allows.ts';
import { answer, request, scope, shop, subject } from '../scopes.ts';

const keys = 'ownedaccesskeys.management.platform';

const instances = 'virtualclusterinstances.management.platform';

const revocations = 'revocations.management.platform';

const reports = 'agentreports.management.platform';

const kubeconfig = 'virtualclusterinstances/kubeconfig.management.platform';

describe('roles', () => {
  const role = (name: string, rest: object = {}) => ({ roles: [{ role: name, ...rest }] });
  const narrowed = { virtualClusters: ['a/v'] };
  it.each([
    [role('vcluster'), `get ${instances} v in p-b`, true],
    [role('vcluster'), `list ${instances} in p-a`, false],
    [role('vcluster', narrowed), `get ${instances} v in p-a`, true],
    [role('vcluster', narrowed), `get ${instances} v in p-b`, false],
    [role('vcluster', narrowed), `create ${kubeconfig} v in p-a`, false],
    [role('platform-cli', narrowed), `list ${instances} v in p-a`, true],
    [role('platform-cli', narrowed), `list ${instances} in p-a`, false],
    [role('platform-cli', { ...narrowed, projects: ['b'] }), `list ${instances} in p-b`, true],
    [role('metrics-reader'), 'get /metrics', true],
    [role('metrics-reader'), 'post /metrics', false],
    [role('metrics-reader', { projects: ['a'] }), 'get /metrics', false],
    [role('metrics-writer'), 'get /metrics', false],
    [role('agent'), `watch ${revocations}`, true],
    [role('agent'), `list ${revocations}`, true],
    [role('agent'), `get ${revocations} x`, false],
    [role('agent'), `list ${revocations} in p-a`, false],
    [role('agent'), `create ${reports}`, true],
    [role('agent'), `list ${reports}`, false],
    [role('agent'), 'create agentreports/status.management.platform x', false],
    [role('agent'), 'create agentreports', false],
    [role('agent', { projects: ['a'] }), `create ${reports}`, true],
    [role('agent', { virtualClusters: ['b/v'] }), `watch ${revocations}`, true],
    [role('agent', { projects: ['nowhere'] }), `watch ${revocations}`, false],
    [role('agent', { projects: ['nowhere'] }), `create ${reports}`, false],
    [{ allowPlatformCli: true }, `watch ${instances} all`, true],
    [{ allowPlatformCli: false }, `watch ${instances} all`, false],
  ])('%j: %s: %s', (value, text, allowed) => {
    expect(answer('root', text, value)).toBe(allowed);
  });

  it.each([
    [{}, 'c1', true],
    [{}, 'c2', true],
    [{ projects: ['a'] }, 'c1', true],
    [{ projects: ['a'] }, 'c2', false],
    [{ virtualClusters: ['b/v'] }, 'c2', true],
    [{ virtualClusters: ['b/v'] }, 'c1', false],
  ])('an agent of %j reports about cluster %s: %s', (rest, cluster, allowed) => {
    const credential = { subject: subject('root'), keyName: 'own', scopes: [scope(role('agent', rest))] };
    const report = { ...request(`create ${reports}`), cluster } as const;
    expect(allows(shop, credential, report).allowed).toBe(allowed);
  });

  it('add nothing to what the subject may do', () => {
    expect(answer('bob', 'get /metrics', role('metrics-reader'))).toBe(false);
    expect(answer('bob', `list ${instances} in p-a`, role('platform-cli'))).toBe(false);
  });
});

describe('rules', () => {
  const rule = (...list: object[]) => ({ rules: list });
  const of = (...resources: string[]) => ({ resources: [{ group: '', resources }] });
  it.each([
    [rule({}), 'delete nodes n @ cluster/c1', true],
    [rule({}), 'get /metrics', true],
    [rule({}), 'get /a/../metrics', false],
    [rule({ verbs: ['*'] }), 'delete nodes n @ cluster/c1', true],
    [rule({ nonResourceURLs: ['/metrics'] }), 'get /metrics', true],
    [rule({ nonResourceURLs: ['/metrics'] }), 'get /metrics/x', false],
    [rule({ nonResourceURLs: ['/metrics/*'] }), 'get /metrics/x/y', true],
    [rule({ nonResourceURLs: ['/metrics/*'] }), 'get /metrics', false],
    [rule({ nonResourceURLs: ['*'] }), 'get /metrics', true],
    [rule({ nonResourceURLs: ['*'] }), `list ${keys}`, false],
    [rule({ verbs: ['post'], nonResourceURLs: ['*'] }), 'get /metrics', false],
    [rule({ resources: [{}] }), 'get /metrics', false],
    [rule({ resources: [{}] }), 'get pods/log x in y @ vc/a/v', true],
    [rule({ resources: [{}] }), 'get deployments.apps x in y @ vc/a/v', false],
    [rule({ namespaces: ['y'] }), 'get /metrics', false],
    [rule({ namespaces: ['y'] }), 'get pods x in y @ vc/a/v', true],
    [rule({ namespaces: ['y'] }), 'get pods x in z @ vc/a/v', false],
    [rule({ namespaces: [''] }), 'list nodes @ vc/a/v', true],
    [rule({ namespaces: [''] }), 'list pods all @ vc/a/v', false],
    [rule({ ...of('pods'), resourceNames: ['x'] }), 'get pods x in y @ vc/a/v', true],
    [rule({ ...of('pods'), resourceNames: ['x'] }), 'get pods z in y @ vc/a/v', false],
    [rule({ ...of('pods'), resourceNames: ['x'] }), 'list pods in y @ vc/a/v', false],
    [rule({ ...of('pods'), resourceNames: ['x'] }), 'list pods x in y @ vc/a/v', true],
    [rule({ ...of('pods'), resourceNames: ['x'] }), 'create pods in y @ vc/a/v', false],
    [rule({ ...of('pods/exec'), resourceNames: ['x'] }), 'create pods/exec x in y @ vc/a/v', false],
    [rule(of('*')), 'get pods/log x in y @ vc/a/v', true],
    [rule(of('*/log')), 'get pods/log x in y @ vc/a/v', true],
    [rule(of('*/log')), 'get pods x in y @ vc/a/v', false],
    [rule(of('pods/*')), 'get pods x in y @ vc/a/v', false],
    [rule(of('*')), 'get services/proxy x in y @ vc/a/v', false],
    [rule(of('services/*')), 'get services/proxy x in y @ vc/a/v', false],
    [rule({}), 'get services/proxy x in y @ vc/a/v', false],
    [rule(of('services/proxy')), 'get services/proxy x in y @ vc/a/v', true],
    [rule(of('*/proxy')), 'get services/proxy x in y @ vc/a/v', true],
    [{ projects: [{ project: 'a' }] }, 'get services/proxy x in y @ vc/a/v', false],
    [undefined, 'get services/proxy x in y @ vc/a/v', true],
    [rule({ cluster: 'c1' }), 'list nodes @ cluster/c1', true],
    [rule({ cluster: 'c1', requestTargets: ['Management'] }), 'list nodes @ cluster/c1', false],
    [rule({ virtualClusters: [{ name: 'v' }] }), 'list nodes @ vc/b/v', true],
    [rule({ virtualClusters: [{ namespace: 'p-b' }] }), 'list nodes @ vc/a/v', false],
    [rule({ verbs: ['get'] }, { verbs: ['list'] }), 'list nodes @ vc/a/v', true],
  ])('%j: %s: %s', (value, text, allowed) => {
    expect(answer('root', text, value)).toBe(allowed);
  });
});

describe('a credential', () => {
  it('needs each of its scopes to allow', () => {
    const a = { projects: [{ project: 'a' }] };
    expect(answer('root', 'list pods in x @ vc/a/v', a, undefined)).toBe(true);
    expect(answer('root', 'list pods in x @ vc/a/v', undefined, a)).toBe(true);
    expect(answer('root', 'list pods in x @ vc/a/v', a, {})).toBe(false);
    expect(answer('root', 'list pods in x @ vc/a/v', a, { projects: [{ project: '*' }] })).toBe(true);
  });

  it('acts as administrator only where nothing narrows it', () => {
    const of = (who: string, ...scopes: (object | undefined)[]) =>
      actsAsAdministrator({ subject: subject(who), keyName: 'k', scopes: scopes.map((s) => s && scope(s)) });
    expect(of('root', undefined)).toBe(true);
    expect(of('root', undefined, {})).toBe(false);
    expect(of('root', { rules: [{}] })).toBe(false);
    expect(of('alice', undefined)).toBe(false);
  });

  it('learns which entry grants or what denies', () => {
    const explain = (who: string, text: string, value?: unknown) => {
      const { reason, entry } = allows(
        shop,
        { subject: subject(who), keyName: 'own', scopes: [value === undefined ? undefined : scope(value)] },
        request(text),
      );
      return [reason, entry];
    };
    const two = { projects: [{ project: 'b' }, { project: 'a' }] };
    expect(explain('alice', `list ${instances} in p-a`, two)).toEqual([
      'admin of project a, by spec.scope.projects[1]',
      'spec.scope.projects[1]',
    ]);
    expect(explain('alice', 'get /version', {})).toEqual(['everybody, by the base grant', undefined]);
    expect(explain('bob', `list ${instances} in p-a`)).toEqual([
      'the user has no right to list virtualclusterinstances.management.platform in p-a',
      undefined,
    ]);
    expect(explain('alice', 'list pods in default @ space/a/s')[0]).toBe(
      'the user has no right to list pods in default; the space s is the namespace a-s alone',
    );
    expect(explain('root', 'list nodes @ space/a/s', { rules: [{}] })[0]).toBe(
      'the user has no right to list nodes; the space s is the namespace a-s alone',
    );
    expect(explain('bob', 'list pods in a-s @ space/a/s')[0]).toBe('the user has no right to list pods in a-s');
    expect(explain('bob', 'list pods in other @ space/a/s')[0]).toBe('the user has no right to list pods in other');
    expect(explain('alice', 'get pods x in y @ vc/a/v', {})).toEqual([
      'no entry of its scope allows get pods x in y',
      undefined,
    ]);
  });
});

describe('a subject', () => {
  it('is resolved from the configuration as it is now', () => {
    expect(shop.resolve({ kind: 'user', name: 'nobody' }).kind).toBe('gone');
    expect(shop.resolve({ kind: 'user', name: 'carol' }).kind).toBe('disabled');
    expect(shop.resolve({ kind: 'team', name: 'green' }).kind).toBe('gone');
    expect([...subject('alice').teams].sort()).toEqual(['blue', 'red']);
    expect([...subject('bob').teams]).toEqual([]);
  });

  it('has the groups that it holds and those that an administrator granted', () => {
    const groups = { listed: ['devs', 'qa', 'ops'], granted: ['qa'] };
    expect([...subject('alice', groups).groups].sort()).toEqual(['devs', 'qa']);
    expect([...subject('bob', groups).groups]).toEqual(['qa']);
    const robot = subject('robot', { listed: ['ops', 'qa'], granted: ['ops'] }, 'subject');
    expect([...robot.groups]).toEqual(['ops']);
    expect(robot.isAdministrator).toBe(true);
    expect(subject('robot', groups, 'subject').isAdministrator).toBe(false);
  });

  it('is in a team by a group that counts, unless it is a team', () => {
    const granted = { listed: ['devs'], granted: ['devs'] };
    expect([...subject('robot', granted, 'subject').teams]).toEqual(['blue']);
    expect([...subject('bob', granted).teams]).toEqual(['blue']);
    expect([...subject('red', granted, 'team').teams]).toEqual(['red']);
  });
});
