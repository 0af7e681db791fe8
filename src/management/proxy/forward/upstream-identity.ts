// Chooses the identity that a proxied request has in the cluster behind. In: the subject and the place that it asks for. Out: a
// user, groups and extra fields that a role can list by name, and their headers. Pure.

import type { ProjectRole } from '../../../config/settings/management-settings.ts';
import type { Directory, Subject } from '../../scope/directory.ts';
import { isMember } from '../../scope/directory.ts';
import type { Destination } from '../../scope/request.ts';

export interface UpstreamIdentity {
  user: string;
  groups: readonly string[];
  /** The values of each extra field, by its name. */
  extra: Readonly<Record<string, readonly string[]>>;
}

export const keyExtra = 'hostward.dev/key';
export const subjectExtra = 'hostward.dev/subject';
/** All subjects share one user, because their names are not in the configuration and so no role could list them. */
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

/** `keyName` is the sender's access key, or the access key of the sender's token. */
export function identityOf(
  directory: Directory,
  subject: Subject,
  at: { target: Destination; keyName: string },
): UpstreamIdentity {
  const { target, keyName } = at;
  const role = target.kind === 'ProjectSpace' || target.kind === 'ProjectVirtualCluster' ? target.project : undefined;
  const held = role === undefined ? undefined : roleIn(directory, subject, role);
  return {
    user: subject.kind === 'subject' ? subjectUser : userName(subject.kind, subject.name),
    groups: [
      ...(role === undefined || held === undefined ? [] : [roleGroup(role, held)]),
      // The role of the proxy lists only the groups of the configuration.
      ...[...subject.groups].filter((group) => directory.knownGroups.has(group)).map(groupName),
      authenticated,
    ],
    extra: {
      [keyExtra]: [keyName],
      ...(subject.kind === 'subject' ? { [subjectExtra]: [subject.name] } : {}),
    },
  };
}

function roleIn(directory: Directory, subject: Subject, project: string): ProjectRole | undefined {
  if (subject.isAdministrator) return 'admin';
  const members = directory.projects.get(project)?.members ?? [];
  const held = members.filter((member) => isMember(member, subject)).map(({ role }) => role);
  return roleOrder.findLast((role) => held.includes(role));
}

/** Header lines. The API server expects the names of extra fields percent-encoded. */
export function impersonationLines({ user, groups, extra }: UpstreamIdentity): string[] {
  const lines = ['Impersonate-User', headerValue(user)];
  for (const group of groups) lines.push('Impersonate-Group', headerValue(group));
  for (const [name, values] of Object.entries(extra))
    for (const value of values) lines.push(`Impersonate-Extra-${encodeURIComponent(name)}`, headerValue(value));
  return lines;
}

/** The API server reads UTF-8, but Node writes one byte for each character. For a control character Node throws. */
function headerValue(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
