import { expect, it } from 'vitest';
import { handOverRefusals } from '../../../../src/management/keys/rules/hand-over.ts';

const key = { groups: ['own', 'granted'], networksText: undefined, record: { grantedGroups: ['granted'] } };
type Caller = Parameters<typeof handOverRefusals>[1];
const caller = (groups: string[], isAdministrator = false) =>
  ({ isAdministrator, networks: undefined, credential: { subject: { groups: new Set(groups) } } }) as unknown as Caller;

it.each([
  [[], false, ['spec.groups[1]']],
  [['granted'], false, []],
  [[], true, []],
])(
  'a caller with the groups %j (administrator: %s) gets the value of a key with a granted group: refused are %j',
  (groups, isAdministrator, fields) => {
    expect(handOverRefusals(key, caller(groups, isAdministrator)).map(({ field }) => field)).toEqual(fields);
  },
);
