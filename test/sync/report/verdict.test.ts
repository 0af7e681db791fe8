import { describe, expect, it } from 'vitest';
import { type Outage, type VerdictFacts, verdictOf } from '../../../src/sync/report/verdict.ts';

const fine: VerdictFacts = {
  isSwitchedOff: false,
  waitsFor: undefined,
  outages: [],
  standbyBehind: undefined,
  leaderless: undefined,
  isDryRun: false,
  differences: 0,
  objects: 120,
  ownerMissing: undefined,
  blocked: new Map(),
  gaps: new Map(),
  waiting: 0,
  oldestSeconds: 0,
};
const outage: Outage = {
  cluster: 'host',
  kind: 'unreachable',
  since: '2026-01-01T00:00:00Z',
  seconds: 42,
  message: 'connection refused',
};
const unwritable: Outage = { ...outage, kind: 'unwritable', message: 'forbidden' };
const blocked = new Map([
  ['HostNameTaken', 2],
  ['PatchFailed', 1],
]);

const right = { name: 'right', text: 'a right is missing' };
const refusal = 'leases "l" is forbidden: User "u" cannot get resource "leases" in API group "" in the namespace "h"';

const cases: [string, Partial<VerdictFacts>, string, boolean, string][] = [
  ['nothing to do', {}, 'inStep', true, 'in step: 120 objects'],
  ['young changes', { waiting: 3, oldestSeconds: 1 }, 'inStep', true, 'in step: 120 objects, 3 on the way'],
  [
    'old changes',
    { waiting: 1, oldestSeconds: 5 },
    'behind',
    false,
    'behind: 1 object waits, the oldest change is 5 s old',
  ],
  [
    'refused objects',
    { blocked, waiting: 9, oldestSeconds: 4 },
    'blocked',
    false,
    'blocked: 3 of 120 objects cannot reach the host (2 HostNameTaken, 1 PatchFailed)',
  ],
  [
    'deletes that wait, of objects that the tenant has no more',
    { blocked: new Map([['DeleteWithheld', 170]]) },
    'blocked',
    false,
    'blocked: 170 deletes wait for a second list (DeleteWithheld)',
  ],
  [
    'a delete that is refused, beside one that waits and an object that is refused',
    {
      blocked: new Map([
        ['DeleteWithheld', 1],
        ['DeleteRefused', 1],
        ['NotOwned', 1],
      ]),
    },
    'blocked',
    false,
    'blocked: 1 of 120 objects cannot reach the host (1 NotOwned); 1 delete waits for a second list (DeleteWithheld); 1 copy cannot be removed from the host (DeleteRefused)',
  ],
  [
    'old changes beside refused objects, as when the host has just frozen',
    { blocked, gaps: new Map([['ReferenceUnresolved', 1]]), waiting: 1, oldestSeconds: 20 },
    'behind',
    false,
    'behind: 1 object waits, the oldest change is 20 s old; 3 of 120 objects cannot reach the host (2 HostNameTaken, 1 PatchFailed); 1 reference has nothing behind it (ReferenceUnresolved)',
  ],
  [
    'old changes during an outage',
    { outages: [unwritable], blocked, waiting: 2, oldestSeconds: 20 },
    'unwritable',
    false,
    'cannot write to the host cluster since 2026-01-01T00:00:00Z: forbidden; 2 objects wait, the oldest change is 20 s old; 3 of 120 objects cannot reach the host (2 HostNameTaken, 1 PatchFailed)',
  ],
  [
    'no owner, which is worse than what waits for something else',
    { ownerMissing: 'it is gone', waiting: 1, oldestSeconds: 20, blocked: new Map([['OwnerMissing', 4]]) },
    'blocked',
    false,
    'blocked: OwnerMissing: it is gone; 1 object waits, the oldest change is 20 s old; 4 of 120 objects cannot reach the host (4 OwnerMissing)',
  ],
  [
    'an object of which a webhook keeps changing the writes',
    { objects: 8, blocked: new Map([['Altered', 1]]) },
    'blocked',
    false,
    'blocked: 1 of 8 objects keeps being changed on the host by admission, on our own writes (Contested)',
  ],
  [
    'an object that another client keeps changing',
    { objects: 8, blocked: new Map([['Contested', 1]]) },
    'blocked',
    false,
    'blocked: 1 of 8 objects keeps being changed on the host by another client (Contested)',
  ],
  [
    'such objects beside refused ones',
    { blocked: new Map([...blocked, ['Contested', 2]]) },
    'blocked',
    false,
    'blocked: 3 of 120 objects cannot reach the host (2 HostNameTaken, 1 PatchFailed); 2 of 120 objects keep being changed on the host by another client (Contested)',
  ],
  [
    'a back-flow that fails',
    { gaps: new Map([['BackflowFailed', 2]]), waiting: 1 },
    'incomplete',
    false,
    'incomplete: host edits of 2 objects cannot reach the tenant (BackflowFailed)',
  ],
  [
    'references with nothing behind them, and more',
    {
      gaps: new Map([
        ['ReferenceUnresolved', 1],
        ['PatchFailed', 1],
        ['NotOwned', 3],
      ]),
    },
    'incomplete',
    false,
    'incomplete: 1 reference has nothing behind it (ReferenceUnresolved); 1 object went on without a patch that failed (PatchFailed); the content of 3 references does not cross (NotOwned)',
  ],
  [
    'gaps beside refused objects',
    { gaps: new Map([['ReferenceUnresolved', 2]]), blocked: new Map([['NotOwned', 1]]) },
    'blocked',
    false,
    'blocked: 1 of 120 objects cannot reach the host (1 NotOwned); 2 references have nothing behind them (ReferenceUnresolved)',
  ],
  [
    'gaps in a dry run',
    { isDryRun: true, gaps: new Map([['ReferenceUnresolved', 2]]) },
    'dryRun',
    false,
    'dry run: 2 references have nothing behind them (ReferenceUnresolved); nothing would be written',
  ],
  ['no owner', { ownerMissing: 'it is gone' }, 'blocked', false, 'blocked: OwnerMissing: it is gone'],
  [
    'an outage',
    { outages: [outage], blocked },
    'unreachable',
    false,
    'cannot reach the host cluster since 2026-01-01T00:00:00Z: connection refused; ' +
      '3 of 120 objects cannot reach the host (2 HostNameTaken, 1 PatchFailed)',
  ],
  [
    'no permission to write',
    { outages: [unwritable] },
    'unwritable',
    false,
    'cannot write to the host cluster since 2026-01-01T00:00:00Z: forbidden',
  ],
  [
    'no permission to write, which each object feels too: they are counted, as in every other count',
    {
      outages: [unwritable],
      objects: 6,
      blocked: new Map([
        ['Forbidden', 1],
        ['NotOwned', 2],
      ]),
    },
    'unwritable',
    false,
    'cannot write to the host cluster since 2026-01-01T00:00:00Z: forbidden; 3 of 6 objects cannot reach the host (1 Forbidden, 2 NotOwned)',
  ],
  [
    'outages of both clusters',
    { outages: [{ ...unwritable, cluster: 'virtual' }, outage] },
    'unreachable',
    false,
    'cannot reach the host cluster since 2026-01-01T00:00:00Z: connection refused; ' +
      'cannot write to the virtual cluster since 2026-01-01T00:00:00Z: forbidden',
  ],
  [
    'a missing right before everything about objects, also before what lacks another right',
    {
      toMendFirst: [right],
      blocked: new Map([
        ['PatchFailed', 2],
        ['Forbidden', 1],
      ]),
      gaps: new Map([
        ['ReferenceUnresolved', 1],
        ['Forbidden', 2],
      ]),
      waiting: 1,
      oldestSeconds: 20,
    },
    'behind',
    false,
    'a right is missing; the content of 2 references does not cross (Forbidden); behind: 1 object waits, the oldest change is 20 s old; 3 of 120 objects cannot reach the host (1 Forbidden, 2 PatchFailed); 1 reference has nothing behind it (ReferenceUnresolved)',
  ],
  [
    'a missing right without which objects are not seen',
    { toMendFirst: [right], unread: 'objects' },
    'unreadable',
    false,
    'a right is missing; as far as they can be read, in step: 120 objects',
  ],
  [
    'a missing right for something else',
    { toMendFirst: [right], unread: 'else' },
    'incomplete',
    false,
    'a right is missing; in step: 120 objects',
  ],
  [
    'a configuration that was not taken over',
    { toMendFirst: [{ name: 'late', text: 'it was not taken over' }] },
    'inStep',
    false,
    'it was not taken over; in step: 120 objects',
  ],
  [
    'a missing right behind an outage, and before what waits',
    { outages: [unwritable], toMendFirst: [right], waiting: 2, oldestSeconds: 20 },
    'unwritable',
    false,
    'cannot write to the host cluster since 2026-01-01T00:00:00Z: forbidden; a right is missing; 2 objects wait, the oldest change is 20 s old',
  ],
  [
    'a missing right for which the start waits',
    { toMendFirst: [right], waitsFor: 'the first lists' },
    'starting',
    false,
    'a right is missing; starting: waiting for the first lists',
  ],
  [
    'a standby that lacks a right',
    { toMendFirst: [right], standbyBehind: 'pod-1' },
    'standby',
    false,
    'a right is missing; standby: pod-1 does the writing, and its page knows what needs a person',
  ],
  [
    'a dry run that lacks a right',
    { isDryRun: true, toMendFirst: [right], blocked },
    'dryRun',
    false,
    'dry run: a right is missing; 3 of 120 objects cannot reach the host (2 HostNameTaken, 1 PatchFailed); nothing would be written',
  ],
  [
    'a lease that may not be read, in few words',
    { leaderless: `the lease cannot be read: ${refusal}`, toMendFirst: [right] },
    'leaderless',
    false,
    'nothing is written: the lease cannot be read: not allowed to get leases in namespace "h"; a right is missing',
  ],
  [
    'references to what cannot be read',
    { gaps: new Map([['ReferenceUnread', 2]]) },
    'incomplete',
    false,
    'incomplete: nobody knows what is behind 2 references (ReferenceUnread)',
  ],
  ['a start', { waitsFor: 'the first lists' }, 'starting', false, 'starting: waiting for the first lists'],
  [
    'a standby',
    { standbyBehind: 'pod-1', waiting: 9, oldestSeconds: 9 },
    'standby',
    true,
    'standby: pod-1 does the writing, and its page knows what needs a person',
  ],
  [
    'a standby in a pod',
    { standbyBehind: 'pod-1', leaderCommand: 'kubectl port-forward pod/pod-1 9440' },
    'standby',
    true,
    'standby: pod-1 does the writing, and its page knows what needs a person, by way of kubectl port-forward pod/pod-1 9440',
  ],
  [
    'a lease out of reach',
    { leaderless: 'the lease cannot be read or renewed: Unauthorized', waiting: 9 },
    'leaderless',
    false,
    'nothing is written: the lease cannot be read or renewed: Unauthorized',
  ],
  [
    'a lease out of reach, beside what is known of objects',
    { leaderless: 'this process waits for the lease', blocked },
    'leaderless',
    false,
    'nothing is written: this process waits for the lease; 3 of 120 objects cannot reach the host (2 HostNameTaken, 1 PatchFailed)',
  ],
  ['a dry run', { isDryRun: true, differences: 2 }, 'dryRun', true, 'dry run: 2 objects would be written'],
  ['a dry run of nothing', { isDryRun: true }, 'dryRun', true, 'dry run: nothing would be written'],
  [
    'a dry run with refused objects',
    { isDryRun: true, differences: 1, blocked },
    'dryRun',
    false,
    'dry run: 3 of 120 objects cannot reach the host (2 HostNameTaken, 1 PatchFailed); 1 object would be written',
  ],
  [
    'a dry run without the owner',
    { isDryRun: true, ownerMissing: 'it is gone' },
    'dryRun',
    false,
    'dry run: OwnerMissing: it is gone; nothing would be written',
  ],
  ['the switch', { isSwitchedOff: true, outages: [outage] }, 'switchedOff', true, 'switched off: nothing is touched'],
];

describe('verdictOf()', () => {
  it.each(cases)('of %s', (_, facts, state, isWell, sentence) => {
    expect(verdictOf({ ...fine, ...facts })).toMatchObject({ state, isWell, sentence });
  });
});
