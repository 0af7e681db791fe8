// Keys: for whom they act, and in which state they are.
import type { MatrixKey } from '../../matrix-case.ts';
import type { Dice } from '../dice.ts';
import { missing, names } from './configuration-cases.ts';

export type SubjectForm = (dice: Dice) => Pick<MatrixKey, 'user' | 'team' | 'subject' | 'groups' | 'grantedGroups'>;

export const subjectForms: Readonly<Record<string, SubjectForm>> = {
  user: () => ({ user: 'alice' }),
  'another user': (dice) => ({ user: dice.pick(names.users) }),
  'user with an own group': (dice) => ({ user: dice.pick(names.users), groups: [dice.pick(names.groups)] }),
  'user with a granted group': (dice) => withGrant({ user: dice.pick(names.users) }, dice),
  'disabled user': () => ({ user: 'carol' }),
  'missing user': () => ({ user: missing.user }),
  'built-in administrator': () => ({ user: 'admin' }),
  administrator: () => ({ user: 'root' }),
  'administrator by group': () => ({ user: 'eve' }),
  team: (dice) => ({ team: dice.pick([...names.teams, ...names.teams, 'alice', 'root']) }),
  'team with a group': (dice) =>
    dice.chance(50) ? withGrant({ team: dice.pick(names.teams) }, dice) : { team: 'red', groups: ['devs', 'chiefs'] },
  'missing team': () => ({ team: missing.team }),
  subject: (dice) => ({ subject: dice.pick(['ci', 'alice', 'root', 'admin', 'red']) }),
  'subject with an own group': (dice) => ({ subject: 'ci', groups: [dice.pick(names.groups)] }),
  'subject with a granted group': (dice) => withGrant({ subject: 'ci' }, dice),
};

/** The first listed group is granted, the second is not. */
function withGrant(subject: ReturnType<SubjectForm>, dice: Dice): ReturnType<SubjectForm> {
  const granted = dice.pick(names.groups);
  const other = dice.chance(30) ? names.groups.filter((group) => group !== granted).slice(0, 1) : [];
  return { ...subject, groups: [granted, ...other], grantedGroups: [granted] };
}

export type KeyState = (dice: Dice) => Partial<MatrixKey>;

export const now = '2026-03-01T12:00:00Z';
const dayBefore = '2026-02-28T12:00:00Z';
const twoDaysBefore = '2026-02-27T12:00:00Z';
const hourBefore = '2026-03-01T11:00:00Z';
const day = 86_400;
const hour = 3_600;

export const keyStates: Readonly<Record<string, KeyState>> = {
  live: () => ({}),
  'ttl of zero': () => ({ ttl: 0, ttlAfterLastActivity: true }),
  'ttl one second longer than its age': () => ({ ttl: day + 1 }),
  'ttl of exactly its age': () => ({ ttl: day }),
  'ttl over': (dice) => ({ ttl: 1 + dice.below(day - 1) }),
  'ttl over in spite of activity': () => ({ ttl: hour, lastActivity: hourBefore }),
  'activity recent': () => ({ ttl: hour + 1, ttlAfterLastActivity: true, lastActivity: hourBefore }),
  'activity exactly ttl ago': () => ({ ttl: hour, ttlAfterLastActivity: true, lastActivity: hourBefore }),
  'activity too long ago': (dice) => ({
    ttl: 1 + dice.below(hour - 1),
    ttlAfterLastActivity: true,
    lastActivity: hourBefore,
  }),
  'no activity, ttl over': () => ({ ttl: hour, ttlAfterLastActivity: true }),
  'no activity, ttl not over': () => ({ ttl: day + 1, ttlAfterLastActivity: true }),
  // After a clock was set back.
  'activity before creation': () => ({ ttl: day + hour, ttlAfterLastActivity: true, lastActivity: twoDaysBefore }),
  disabled: () => ({ disabled: true }),
  'not disabled': () => ({ disabled: false }),
  deleting: () => ({ deletionTimestamp: hourBefore }),
  'disabled and deleting': () => ({ disabled: true, deletionTimestamp: hourBefore }),
};

/** Most states refuse; a case that asks about rights and scopes wants a key that lives. */
export const liveStates: readonly string[] = [
  'live',
  'ttl of zero',
  'ttl one second longer than its age',
  'activity recent',
  'no activity, ttl not over',
  'not disabled',
];

export function keyOf(name: string, parts: Partial<MatrixKey>): MatrixKey {
  return { name, creationTimestamp: dayBefore, ...parts };
}

/** Keys that may or may not be visible to the caller. */
export function bystanders(dice: Dice): MatrixKey[] {
  return [
    keyOf('k-other', dice.pick([{ user: 'alice' }, { user: 'bob' }, { subject: 'ci' }, { team: 'blue' }])),
    keyOf('k-team', { team: dice.pick(names.teams), ...(dice.chance(30) ? { disabled: true } : {}) }),
    keyOf(
      'k-far',
      dice.pick([
        { subject: 'alice' },
        { user: 'red' },
        { team: 'alice' },
        { team: missing.team },
        { user: missing.user },
      ]),
    ),
  ];
}
