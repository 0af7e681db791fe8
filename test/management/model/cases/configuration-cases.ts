// Configurations of a small world. It has few names, so that members, scopes and requests meet often, and names that begin
// with each other, so that a comparison of beginnings shows.
import type { MatrixConfiguration, MatrixMember, MatrixRole } from '../../matrix-case.ts';
import type { Dice } from '../dice.ts';

export const names = {
  projects: ['shop', 'shop-eu', 'blog'],
  virtualClusters: ['v1', 'v2'],
  spaces: ['s1', 's2'],
  clusters: ['c1', 'c2'],
  users: ['alice', 'bob', 'dave'],
  teams: ['red', 'blue'],
  groups: ['devs', 'ops', 'chiefs'],
} as const;

/** A key whose subject does not exist names one of these. */
export const missing = { user: 'zoe', team: 'grey', project: 'gone', virtualCluster: 'v9', space: 's9', cluster: 'c9' };

/** Users and admins are listed twice: most scopes need their rights. */
const roles: readonly MatrixRole[] = ['viewer', 'user', 'user', 'admin', 'admin'];

/** A configuration refuses a member that is listed twice. */
function membersOf(dice: Dice, most: number): MatrixMember[] {
  const all: MatrixMember[] = [
    ...names.users.map((user) => ({ user })),
    ...names.teams.map((team) => ({ team })),
    ...['devs', 'ops'].map((group) => ({ group })),
  ];
  return dice.some(all, most);
}

export function configurationOf(dice: Dice): MatrixConfiguration {
  return {
    administrators: {
      users: ['root', ...dice.some(['dave', 'carol'], 1)],
      groups: dice.chance(80) ? ['chiefs'] : [],
    },
    users: [
      { name: 'alice', groups: dice.some(['devs', 'ops'], 2) },
      { name: 'bob', groups: dice.chance(50) ? ['devs'] : [] },
      { name: 'dave' },
      { name: 'carol', groups: ['devs'], disabled: true },
      { name: 'eve', groups: ['chiefs'] },
    ],
    teams: [
      { name: 'red', users: dice.some(['alice', 'bob', 'root'], 3), groups: dice.chance(50) ? ['ops'] : [] },
      { name: 'blue', users: dice.some(['bob', 'dave'], 2), groups: dice.chance(30) ? ['devs'] : [] },
      // Names of users: a team and a subject of that name are somebody else.
      { name: 'alice', users: dice.some(['bob'], 1) },
      { name: 'root' },
    ],
    clusters: names.clusters.map((name) => ({ name, members: membersOf(dice, 12) })),
    projects: names.projects.map((name) => ({
      name,
      members: membersOf(dice, 12).map((member) => ({ ...member, role: dice.pick(roles) })),
      virtualClusters: names.virtualClusters.map((virtualCluster) => ({ name: virtualCluster })),
      spaces: names.spaces.map((space) => ({
        name: space,
        cluster: dice.pick(names.clusters),
        namespace: `${name}-${space}`,
      })),
    })),
  };
}
