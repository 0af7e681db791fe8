import { expect, it } from 'vitest';
import { handOverRefusals } from '../../../../src/management/keys/rules/hand-over.ts';

const object = { metadata: { name: 'a' }, spec: { user: 'alice', groups: ['own', 'granted'] } };
type Record = Parameters<typeof handOverRefusals>[1];
type Caller = Parameters<typeof handOverRefusals>[2];
const record = { grantedGroups: ['granted'] } as unknown as Record;
const caller = (groups: string[], isAdministrator = false) =>
  ({ isAdministrator, networks: undefined, credential: { subject: { groups: new Set(groups) } } }) as unknown as Caller;

it.each([
  [[], false, ['spec.groups[1]']],
  [['granted'], false, []],
  [[], true, []],
])(
  'a caller with the groups %j (administrator: %s) gets the value of a key with a granted group: refused are %j',
  (groups, isAdministrator, fields) => {
    expect(
      handOverRefusals(object as never, record, caller(groups, isAdministrator)).map(({ field }) => field),
    ).toEqual(fields);
  },
);
