// The spec of an OwnedAccessKey as the rules read it. Values of a wrong type are left out: the schema has reported them.

import type { KubeObject } from '../../../object/meta/object.ts';
import { isRecord, textsIn } from '../../../object/text/json.ts';
import type { SubjectName } from '../../scope/directory.ts';

export interface KeySpec {
  displayName: string;
  description: string;
  user: string;
  team: string;
  subject: string;
  groups: readonly string[];
  key: string;
  disabled: boolean;
  ttl: number;
  ttlAfterLastActivity: boolean;
  type: string;
  /** The scope as in the object; undefined = no scope. */
  scope: unknown;
}

export function keySpec(object: KubeObject): KeySpec {
  const spec = isRecord(object['spec']) ? object['spec'] : {};
  const text = (field: string) => (typeof spec[field] === 'string' ? (spec[field] as string) : '');
  const { groups, ttl, scope } = spec;
  return {
    displayName: text('displayName'),
    description: text('description'),
    user: text('user'),
    team: text('team'),
    subject: text('subject'),
    groups: textsIn(groups),
    key: text('key'),
    disabled: spec['disabled'] === true,
    ttl: typeof ttl === 'number' ? ttl : 0,
    ttlAfterLastActivity: spec['ttlAfterLastActivity'] === true,
    type: text('type'),
    scope: scope === null ? undefined : scope,
  };
}

/** Undefined unless exactly one of the three fields is set. */
export function subjectOf({ user, team, subject }: KeySpec): SubjectName | undefined {
  const given: SubjectName[] = [];
  if (user !== '') given.push({ kind: 'user', name: user });
  if (team !== '') given.push({ kind: 'team', name: team });
  if (subject !== '') given.push({ kind: 'subject', name: subject });
  return given.length === 1 ? given[0] : undefined;
}

/** Types that everybody gives, and those that administrators give. */
export const commonTypes: readonly string[] = ['User', 'Other'];
export const administratorTypes: readonly string[] = ['Login', 'Reset', 'OIDCRefreshToken', 'NetworkPeer', 'Workspace'];

/** Parts of the spec that a login flow fills; only administrators write them. */
export const loginFields = ['identity', 'oidcProvider', 'oidcLogin'] as const;

export function withKey(object: KubeObject, key: string): KubeObject {
  return { ...object, spec: { ...(isRecord(object['spec']) ? object['spec'] : {}), key } };
}
