import { describe, expect, it } from 'vitest';
import { Claims, chooseWinner } from '../../../src/sync/plan/claims.ts';

const place = { namespace: 'vcluster-vc', name: 'api-x-default-x-default-x-vc' };
const first = { key: 'default/z', creationTimestamp: '2026-01-01T00:00:00Z' };
const second = { key: 'default/a', creationTimestamp: '2026-01-02T00:00:00Z' };
const alsoFirst = { key: 'default/b', creationTimestamp: first.creationTimestamp };

describe('the winner of a contested host name', () => {
  it.each<[name: string, eligible: (typeof first)[], incumbent: string | undefined, winner: string | undefined]>([
    ['is the incumbent, even against an older claimant', [first, second], second.key, second.key],
    ['is not an incumbent that is no longer eligible', [first, alsoFirst], second.key, alsoFirst.key],
    ['is the oldest without an incumbent', [second, first], undefined, first.key],
    ['is the smallest key among equally old ones', [first, alsoFirst], undefined, alsoFirst.key],
    ['does not exist without claimants', [], second.key, undefined],
  ])('%s', (_, eligible, incumbent, winner) => {
    expect(chooseWinner(eligible, incumbent)).toBe(winner);
    expect(chooseWinner(eligible.toReversed(), incumbent)).toBe(winner);
  });
});

describe('claims to host names', () => {
  type Act = ['add' | 'remove', key: string];
  it.each<[name: string, acts: Act[], claimants: string[], haveClashes: boolean]>([
    ['no claimant', [], [], false],
    ['one claimant', [['add', 'a']], ['a'], false],
    [
      'a claimant that is added twice',
      [
        ['add', 'a'],
        ['add', 'a'],
      ],
      ['a'],
      false,
    ],
    [
      'two claimants',
      [
        ['add', 'a'],
        ['add', 'b'],
      ],
      ['a', 'b'],
      true,
    ],
    [
      'three claimants',
      [
        ['add', 'a'],
        ['add', 'b'],
        ['add', 'c'],
      ],
      ['a', 'b', 'c'],
      true,
    ],
    [
      'one of three claimants that leaves',
      [
        ['add', 'a'],
        ['add', 'b'],
        ['add', 'c'],
        ['remove', 'b'],
      ],
      ['a', 'c'],
      true,
    ],
    [
      'the last of two claimants',
      [
        ['add', 'a'],
        ['add', 'b'],
        ['remove', 'a'],
      ],
      ['b'],
      false,
    ],
    [
      'a rival that comes back',
      [
        ['add', 'a'],
        ['add', 'b'],
        ['remove', 'b'],
        ['add', 'b'],
      ],
      ['a', 'b'],
      true,
    ],
    [
      'a stranger that leaves',
      [
        ['add', 'a'],
        ['remove', 'b'],
      ],
      ['a'],
      false,
    ],
    [
      'two claimants that both leave',
      [
        ['add', 'a'],
        ['add', 'b'],
        ['remove', 'a'],
        ['remove', 'b'],
      ],
      [],
      false,
    ],
  ])('%s', (_, acts, claimants, haveClashes) => {
    const claims = new Claims();
    for (const [act, key] of acts) claims[act](key, place);
    expect([...claims.claimants(place)].sort()).toEqual(claimants);
    expect(claims.haveClashes).toBe(haveClashes);
    expect(claims.size).toBe(claimants.length === 0 ? 0 : 1);
    expect(claims.claimants({ ...place, namespace: 'elsewhere' })).toEqual([]);
  });
});
