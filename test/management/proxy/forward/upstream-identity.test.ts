import { expect, it } from 'vitest';
import { identityOf } from '../../../../src/management/proxy/forward/upstream-identity.ts';
import { Directory, type Subject } from '../../../../src/management/scope/directory.ts';
import { people } from '../../server/bench.ts';

it('identityOf() hands on only the groups that the configuration names, because only those can be in a role', () => {
  const groups = new Set(['devs', 'system:masters', 'granted-by-an-administrator']);
  const subject: Subject = { kind: 'user', name: 'alice', groups, teams: new Set(), isAdministrator: false };
  const at = { target: { kind: 'Cluster', cluster: 'c1' } as const, keyName: 'alice-key' };
  expect(identityOf(new Directory(people), subject, at)).toEqual({
    user: 'hostward:user:alice',
    groups: ['hostward:group:devs', 'system:authenticated'],
    extra: { 'hostward.dev/key': ['alice-key'] },
  });
});
