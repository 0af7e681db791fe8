import { describe, expect, it } from 'vitest';
import type { ManagementMember, ManagementSettings } from '../../../src/config/settings/management-settings.ts';
import { Directory, isMember, type SubjectName } from '../../../src/management/scope/directory.ts';

// A user, a team, a group and a subject may have the same name.
const settings = {
  administrators: { users: ['root'], groups: ['rulers'] },
  users: [
    { name: 'same', groups: ['of-same'], disabled: false },
    { name: 'asleep', groups: [], disabled: true },
  ],
  teams: [
    { name: 'same', users: [], groups: [] },
    { name: 'red', users: ['same'], groups: ['reds'] },
  ],
  projects: [],
  clusters: [],
} as unknown as ManagementSettings;
const directory = new Directory(settings);
const subjectOf = (of: SubjectName, groups: string[] = [], granted = groups) => {
  const resolved = directory.resolve(of, { listed: groups, granted });
  if (resolved.kind !== 'here') throw new Error(`${of.name} is ${resolved.kind}`);
  return resolved.subject;
};
const kinds = ['user', 'team', 'subject'] as const;

describe('isMember()', () => {
  it.each<[ManagementMember, Record<string, boolean>]>([
    [{ user: 'same' }, { user: true, team: false, subject: false }],
    [{ team: 'same' }, { user: false, team: true, subject: false }],
    [{ team: 'red' }, { user: true, team: false, subject: false }],
    [{ group: 'of-same' }, { user: true, team: false, subject: false }],
    [{ group: 'same' }, { user: false, team: false, subject: false }],
    [{ user: 'other' }, { user: false, team: false, subject: false }],
  ])('%j is by kind and name, not by the name alone', (member, expected) => {
    const found = kinds.map((kind) => [kind, isMember(member, subjectOf({ kind, name: 'same' }))]);
    expect(Object.fromEntries(found)).toEqual(expected);
  });

  it('counts a group of a key only where it was granted', () => {
    const member: ManagementMember = { group: 'reds' };
    const robot = { kind: 'subject', name: 'robot' } as const;
    expect(isMember(member, subjectOf(robot, ['reds']))).toBe(true);
    expect(isMember(member, subjectOf(robot, ['reds'], []))).toBe(false);
    expect(isMember({ team: 'red' }, subjectOf(robot, ['reds']))).toBe(true);
    expect(isMember({ team: 'red' }, subjectOf({ kind: 'team', name: 'same' }, ['reds']))).toBe(false);
  });
});

describe('an administrator', () => {
  it.each(kinds)('named as a user is no %s of that name but the user', (kind) => {
    const resolved = directory.resolve({ kind, name: 'root' });
    expect(resolved.kind === 'here' && resolved.subject.isAdministrator).toBe(kind === 'user');
  });

  it('may be one by a group that was granted', () => {
    expect(subjectOf({ kind: 'subject', name: 'robot' }, ['rulers']).isAdministrator).toBe(true);
    expect(subjectOf({ kind: 'subject', name: 'robot' }, ['rulers'], []).isAdministrator).toBe(false);
  });
});

it('knows who is gone and who is disabled', () => {
  const presence = (kind: SubjectName['kind'], name: string) => directory.presenceOf({ kind, name });
  expect([presence('user', 'asleep'), presence('user', 'nobody'), presence('team', 'blue')]).toEqual([
    'disabled',
    'gone',
    'gone',
  ]);
  expect(presence('subject', 'anything')).toBe('here');
});
