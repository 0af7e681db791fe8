// Who a key stands for at this moment: its groups, its teams, whether it is an administrator, and its roles.
import type { MatrixConfiguration, MatrixKey, MatrixMember, MatrixRole } from '../matrix-case.ts';

/** N MatrixConfiguration: "The user `admin` is built in and is an administrator". */
const builtInAdministrator = 'admin';

/**
 * N grantedGroups: "Those of `groups` that an administrator granted: they stay. Any other counts only while the user has it
 * in the configuration; teams and subjects hold no groups of their own."
 */
export function groupsOf(key: MatrixKey, configuration: MatrixConfiguration): Set<string> {
  const held = new Set<string>();
  if (key.user !== undefined)
    for (const user of configuration.users)
      if (user.name === key.user) for (const group of user.groups ?? []) held.add(group);
  const counting = new Set(held);
  for (const group of key.groups ?? [])
    if (held.has(group) || (key.grantedGroups ?? []).includes(group)) counting.add(group);
  return counting;
}

/**
 * N teams: "A user is in a team by name or by a group. A group that a key lists and that counts makes its bearer a member of
 * the teams that list the group, unless it is a key of a team." A key of a team stands for the team itself, and for no other.
 */
export function teamsOf(key: MatrixKey, configuration: MatrixConfiguration): Set<string> {
  const groups = groupsOf(key, configuration);
  if (key.team !== undefined)
    return new Set(configuration.teams.some((team) => team.name === key.team) ? [key.team] : []);
  const teams = new Set<string>();
  for (const team of configuration.teams) {
    if (key.user !== undefined && (team.users ?? []).includes(key.user)) teams.add(team.name);
    if ((team.groups ?? []).some((group) => groups.has(group))) teams.add(team.name);
  }
  return teams;
}

/** D 0 and D 2.1: "administrators: {users, groups}". */
export function isAdministrator(key: MatrixKey, configuration: MatrixConfiguration): boolean {
  if (key.user === builtInAdministrator) return true;
  if (key.user !== undefined && configuration.administrators.users.includes(key.user)) return true;
  const groups = groupsOf(key, configuration);
  return configuration.administrators.groups.some((group) => groups.has(group));
}

/** N MatrixConfiguration: "a user whom administrators.users names exists without an entry in users". */
export function subjectExists(key: MatrixKey, configuration: MatrixConfiguration): boolean {
  if (key.user !== undefined)
    return (
      key.user === builtInAdministrator ||
      configuration.administrators.users.includes(key.user) ||
      configuration.users.some((user) => user.name === key.user)
    );
  if (key.team !== undefined) return configuration.teams.some((team) => team.name === key.team);
  // A generic subject is in no configuration, so it cannot be missing from one.
  return true;
}

export function subjectIsDisabled(key: MatrixKey, configuration: MatrixConfiguration): boolean {
  return configuration.users.some((user) => user.name === key.user && user.disabled === true);
}

/** N MatrixMember: "Exactly one of user, team and group." */
function isMember(member: MatrixMember, key: MatrixKey, configuration: MatrixConfiguration): boolean {
  if (member.user !== undefined) return member.user === key.user;
  if (member.team !== undefined) return teamsOf(key, configuration).has(member.team);
  return member.group !== undefined && groupsOf(key, configuration).has(member.group);
}

/** D 2.1: "projects: [{name, members: [{user|team|group, role: viewer|user|admin}] …". */
export function rolesIn(project: string, key: MatrixKey, configuration: MatrixConfiguration): Set<MatrixRole> {
  const roles = new Set<MatrixRole>();
  for (const candidate of configuration.projects)
    if (candidate.name === project)
      for (const member of candidate.members ?? [])
        if (member.role !== undefined && isMember(member, key, configuration)) roles.add(member.role);
  return roles;
}

export function isClusterMember(cluster: string, key: MatrixKey, configuration: MatrixConfiguration): boolean {
  return configuration.clusters.some(
    (candidate) =>
      candidate.name === cluster && (candidate.members ?? []).some((member) => isMember(member, key, configuration)),
  );
}
