// The users, teams, projects and clusters of the configuration by name, built once for each loaded configuration. It finds the
// present subject of a key; the rights of that subject are in allows.ts.
import {
  builtInAdministrator,
  type ManagementCluster,
  type ManagementMember,
  type ManagementProject,
  type ManagementSettings,
  type ManagementUser,
} from '../../config/settings/management-settings.ts';

export type SubjectKind = 'user' | 'team' | 'subject';

export interface SubjectName {
  kind: SubjectKind;
  name: string;
}

export interface Subject extends SubjectName {
  /** All groups that count now. */
  groups: ReadonlySet<string>;
  /** The teams that the subject is in now; for a team the team itself alone. */
  teams: ReadonlySet<string>;
  /** Administrators may do everything. For the keys of other owners they also need a key without a scope. */
  isAdministrator: boolean;
}

/** Groups that a key adds to its subject. */
export interface KeyGroups {
  listed: readonly string[];
  /** Those that an administrator granted. */
  granted: readonly string[];
}

export type Resolved = { kind: 'here'; subject: Subject } | { kind: 'gone' } | { kind: 'disabled' };

const noGroups: KeyGroups = { listed: [], granted: [] };

export class Directory {
  readonly settings: ManagementSettings;
  readonly projects: ReadonlyMap<string, ManagementProject>;
  readonly clusters: ReadonlyMap<string, ManagementCluster>;
  readonly #users: ReadonlyMap<string, ManagementUser>;
  readonly #teams: ReadonlySet<string>;
  readonly #administrators: ReadonlySet<string>;
  #knownGroups: ReadonlySet<string> | undefined;

  constructor(settings: ManagementSettings) {
    this.settings = settings;
    this.#administrators = new Set([builtInAdministrator, ...settings.administrators.users]);
    const users = new Map<string, ManagementUser>();
    for (const name of this.#administrators) users.set(name, { name, groups: [], disabled: false });
    for (const user of settings.users) users.set(user.name, user);
    this.#users = users;
    this.#teams = new Set(settings.teams.map((team) => team.name));
    this.projects = new Map(settings.projects.map((project) => [project.name, project]));
    this.clusters = new Map(settings.clusters.map((cluster) => [cluster.name, cluster]));
  }

  /** Every group that the configuration names, in its order. Computed once: it may name thousands, and each request asks. */
  get knownGroups(): ReadonlySet<string> {
    if (this.#knownGroups !== undefined) return this.#knownGroups;
    const { users, teams, administrators, clusters, projects } = this.settings;
    const members = [...clusters, ...projects].flatMap((one) => one.members.flatMap(({ group }) => group ?? []));
    const named = [...users, ...teams].flatMap(({ groups }) => groups);
    this.#knownGroups = new Set([...named, ...administrators.groups, ...members]);
    return this.#knownGroups;
  }

  get userNames(): string[] {
    return [...this.#users.keys()];
  }

  hasUser(name: string): boolean {
    return this.#users.has(name);
  }

  hasTeam(name: string): boolean {
    return this.#teams.has(name);
  }

  /** The groups that the subject has by itself. Teams and subjects have no groups of their own. */
  ownGroups({ kind, name }: SubjectName): readonly string[] {
    return kind === 'user' ? (this.#users.get(name)?.groups ?? []) : [];
  }

  presenceOf({ kind, name }: SubjectName): Resolved['kind'] {
    if (kind === 'team') return this.#teams.has(name) ? 'here' : 'gone';
    if (kind === 'subject') return 'here';
    const user = this.#users.get(name);
    if (user === undefined) return 'gone';
    return user.disabled ? 'disabled' : 'here';
  }

  resolve(of: SubjectName, groups: KeyGroups = noGroups): Resolved {
    const presence = this.presenceOf(of);
    if (presence !== 'here') return { kind: presence };
    const counted = new Set(this.ownGroups(of));
    // A group that the owner took for a key counts while the owner holds it, and then it is counted already.
    for (const group of groups.listed) if (groups.granted.includes(group)) counted.add(group);
    const isAdministrator =
      (of.kind === 'user' && this.#administrators.has(of.name)) ||
      this.settings.administrators.groups.some((group) => counted.has(group));
    return { kind: 'here', subject: { ...of, groups: counted, teams: this.#teamsOf(of, counted), isAdministrator } };
  }

  #teamsOf(of: SubjectName, groups: ReadonlySet<string>): ReadonlySet<string> {
    // A team has no members that are teams: a group that its key was granted makes it no member of another one.
    if (of.kind === 'team') return new Set([of.name]);
    const teams = new Set<string>();
    for (const team of this.settings.teams) {
      const isNamed = of.kind === 'user' && team.users.includes(of.name);
      if (isNamed || team.groups.some((group) => groups.has(group))) teams.add(team.name);
    }
    return teams;
  }
}

export function isMember(member: ManagementMember, subject: Subject): boolean {
  if (member.user !== undefined) return subject.kind === 'user' && subject.name === member.user;
  if (member.team !== undefined) return subject.teams.has(member.team);
  return member.group !== undefined && subject.groups.has(member.group);
}
