// As whom a proxied request acts in the cluster behind it. In: the subject and the place that it asks for. Out: a user, groups and
// extra fields that a role can list by name, and the headers for them. Pure.

import type { ManagementSettings, ProjectRole } from '../../config/settings/management-settings.ts';
import type { Directory, Subject } from '../scope/directory.ts';
import { isMember } from '../scope/directory.ts';
import type { Destination } from '../scope/request.ts';

export interface UpstreamIdentity {
  user: string;
  groups: readonly string[];
  /** By its name: the values. */
  extra: Readonly<Record<string, readonly string[]>>;
}

export const keyExtra = 'hostward.dev/key';
export const subjectExtra = 'hostward.dev/subject';
/** One user for all subjects: their names are in no configuration, so that no role can list them. */
export const subjectUser = 'hostward:subject';
const authenticated = 'system:authenticated';
const roleOrder: readonly ProjectRole[] = ['viewer', 'user', 'admin'];

export function userName(kind: 'user' | 'team', name: string): string {
  return `hostward:${kind}:${name}`;
}

export function groupName(group: string): string {
  return `hostward:group:${group}`;
}

export function roleGroup(project: string, role: ProjectRole): string {
  return `hostward:project:${project}:${role}`;
}

/** `keyName` is the key that was proved, or the one that a token was made with. */
export function identityOf(
  directory: Directory,
  subject: Subject,
  at: { target: Destination; keyName: string },
): UpstreamIdentity {
  const { target, keyName } = at;
  const known = new Set(groupsOf(directory.settings));
  const role = target.kind === 'ProjectSpace' || target.kind === 'ProjectVirtualCluster' ? target.project : undefined;
  const held = role === undefined ? undefined : roleIn(directory, subject, role);
  return {
    user: subject.kind === 'subject' ? subjectUser : userName(subject.kind, subject.name),
    groups: [
      ...(role === undefined || held === undefined ? [] : [roleGroup(role, held)]),
      // The proxy may act only for groups of the configuration, and others are bound to nothing there.
      ...[...subject.groups].filter((group) => known.has(group)).map(groupName),
      authenticated,
    ],
    extra: {
      [keyExtra]: [keyName],
      ...(subject.kind === 'subject' ? { [subjectExtra]: [subject.name] } : {}),
    },
  };
}

/** Every group that the configuration names, in its order. */
export function groupsOf({ users, teams, administrators, clusters, projects }: ManagementSettings): string[] {
  const members = [...clusters, ...projects].flatMap((one) => one.members.flatMap(({ group }) => group ?? []));
  const named = [...users, ...teams].flatMap(({ groups }) => groups);
  return [...new Set([...named, ...administrators.groups, ...members])];
}

function roleIn(directory: Directory, subject: Subject, project: string): ProjectRole | undefined {
  if (subject.isAdministrator) return 'admin';
  const members = directory.projects.get(project)?.members ?? [];
  const held = members.filter((member) => isMember(member, subject)).map(({ role }) => role);
  return roleOrder.findLast((role) => held.includes(role));
}

/** Header lines; the names of extra fields are percent-encoded, as the API server wants them. */
export function impersonationLines({ user, groups, extra }: UpstreamIdentity): string[] {
  const lines = ['Impersonate-User', headerValue(user)];
  for (const group of groups) lines.push('Impersonate-Group', headerValue(group));
  for (const [name, values] of Object.entries(extra))
    for (const value of values) lines.push(`Impersonate-Extra-${encodeURIComponent(name)}`, headerValue(value));
  return lines;
}

/** Node writes one byte a character, and the API server reads UTF-8. A control character cannot be sent: Node throws. */
function headerValue(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
