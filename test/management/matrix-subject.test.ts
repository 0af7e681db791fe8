import { describe, expect, it } from 'vitest';
import type { MatrixAnswer, MatrixCase, MatrixConfiguration, MatrixKey, MatrixRequest } from './matrix-case.ts';
import { matrixAnswer } from './matrix-subject.ts';

const configuration: MatrixConfiguration = {
  administrators: { users: ['root'], groups: ['ops'] },
  users: [{ name: 'alice', groups: ['devs'] }, { name: 'bob' }, { name: 'carol', disabled: true }],
  teams: [
    { name: 'red', users: ['alice'] },
    { name: 'blue', groups: ['qa'] },
  ],
  clusters: [{ name: 'c1', members: [{ user: 'alice' }] }],
  projects: [{ name: 'a', members: [{ team: 'blue', role: 'user' }], virtualClusters: [{ name: 'v' }] }],
};
const key = (rest: Partial<MatrixKey>): MatrixKey => ({
  name: 'k',
  creationTimestamp: '2026-01-01T00:00:00Z',
  ...rest,
});
const get: MatrixRequest = { target: { kind: 'Management' }, isResource: false, verb: 'get', path: '/version' };
const nodes: MatrixRequest = {
  target: { kind: 'Cluster', cluster: 'c1' },
  isResource: true,
  verb: 'list',
  group: '',
  resource: 'nodes',
  subresource: '',
  namespace: '',
  name: '',
};
const inProject: MatrixRequest = {
  ...nodes,
  target: { kind: 'ProjectVirtualCluster', project: 'a', virtualCluster: 'v' },
};

function answer(keys: MatrixKey[], request = get, rest: Partial<MatrixCase> = {}): MatrixAnswer {
  return matrixAnswer({ configuration, keys, caller: 'k', now: '2026-01-01T01:00:00Z', request, ...rest });
}

describe('a key', () => {
  it.each<[says: string, rest: Partial<MatrixKey>, allowed: boolean]>([
    ['is live', { user: 'alice' }, true],
    ['is disabled', { user: 'alice', disabled: true }, false],
    ['is being deleted', { user: 'alice', deletionTimestamp: '2026-01-01T00:30:00Z' }, false],
    ['has a second left', { user: 'alice', ttl: 3601 }, true],
    ['has just expired', { user: 'alice', ttl: 3600 }, false],
    [
      'was used in time',
      { user: 'alice', ttl: 60, ttlAfterLastActivity: true, lastActivity: '2026-01-01T00:59:01Z' },
      true,
    ],
    ['was not used', { user: 'alice', ttl: 60, ttlAfterLastActivity: true }, false],
    ['counts its use in vain', { user: 'alice', ttl: 60, lastActivity: '2026-01-01T00:59:30Z' }, false],
    ['is of nobody', { user: 'dora' }, false],
    ['is of somebody disabled', { user: 'carol' }, false],
    ['is of a team', { team: 'red' }, true],
    ['is of no team', { team: 'green' }, false],
    ['is of the built-in administrator', { user: 'admin' }, true],
    ['is of a subject', { subject: 'robot' }, true],
  ])('%s: %s %s', (_, rest, allowed) => {
    expect(answer([key(rest)]).allowed).toBe(allowed);
  });

  it('has the groups that count', () => {
    expect(answer([key({ subject: 'robot', groups: ['qa'], grantedGroups: ['qa'] })], inProject).allowed).toBe(true);
    expect(answer([key({ subject: 'robot', groups: ['qa'] })], inProject).allowed).toBe(false);
    expect(answer([key({ user: 'bob', groups: ['ops'], grantedGroups: ['ops'] })], nodes).allowed).toBe(true);
    expect(answer([key({ user: 'bob', groups: ['ops'] })], nodes).allowed).toBe(false);
  });

  it('lives and reaches no further than the keys that made it', () => {
    const child = key({ user: 'alice', madeBy: 'm', scope: { clusters: [{ cluster: 'c1' }] } });
    const maker = (rest: Partial<MatrixKey>) => key({ name: 'm', user: 'alice', scope: { rules: [{}] }, ...rest });
    expect(answer([child, maker({})], nodes).allowed).toBe(true);
    expect(answer([child, maker({ scope: {} })], nodes).allowed).toBe(false);
    expect(answer([child, maker({ disabled: true })]).allowed).toBe(false);
    expect(answer([child, maker({ ttl: 60 })]).allowed).toBe(false);
    expect(answer([child, maker({ user: 'carol' })]).allowed).toBe(false);
    expect(answer([child]).allowed).toBe(false);
    expect(answer([{ ...child, madeBy: 'k' }]).allowed).toBe(false);
  });

  it('sees the keys of its subject and of the teams it is in now', () => {
    const others = [
      key({ name: 'own', user: 'alice' }),
      key({ name: 'bobs', user: 'bob' }),
      key({ name: 'reds', team: 'red' }),
      key({ name: 'blues', team: 'blue' }),
      key({ name: 'robots', subject: 'alice' }),
    ];
    const resources = [{ group: 'management.platform', resources: ['ownedaccesskeys'] }];
    const sees = (rest: Partial<MatrixKey>) => answer([...others, key(rest)]).sees;
    expect(sees({ user: 'alice' })).toEqual(['k', 'own', 'reds']);
    expect(sees({ team: 'red' })).toEqual(['k', 'reds']);
    expect(sees({ subject: 'alice' })).toEqual(['k', 'robots']);
    expect(sees({ user: 'root' })).toEqual(['blues', 'bobs', 'k', 'own', 'reds', 'robots']);
    expect(sees({ user: 'root', scope: { rules: [{}] } })).toEqual(['k']);
    expect(sees({ user: 'alice', disabled: true })).toEqual([]);
    expect(sees({ user: 'alice', scope: {} })).toEqual(['k']);
    expect(sees({ user: 'alice', scope: { rules: [{}] } })).toEqual(['k', 'own', 'reds']);
    expect(
      sees({ user: 'alice', scope: { rules: [{ verbs: ['delete'], resources, resourceNames: ['own', 'bobs'] }] } }),
    ).toEqual(['k', 'own']);
  });
});
