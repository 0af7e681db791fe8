// The oracle of the lease speaks where somebody makes a lost lease anew while its holder may rely on it, and where a standby looks seldom.
import { expect, it } from 'vitest';
import type { World } from '../../play/world.ts';
import { type Passing, passingOf } from '../../proxy/passing.ts';
import { Board } from '../board.ts';
import { FailOver } from '../fail-over.ts';

const path = '/apis/coordination.k8s.io/v1/namespaces/vcluster-vc/leases';
const name = 'hostward-vc';
const key = `/registry/leases/vcluster-vc/${name}`;
const leaseOf = (holder: string) => ({ spec: { holderIdentity: `${holder}_1`, leaseDurationSeconds: 15 } });

function stage() {
  const clock = { ms: 0 };
  const written: object[] = [];
  const board = new Board(() => clock.ms);
  const world = {
    clock: { now: () => clock.ms },
    scenario: { daemons: 2 },
    clusters: { host: { store: { written } } },
  };
  const oracle = new FailOver(world as unknown as World, board, []);
  const sent = (method: string, daemon: string): Passing => {
    const raw = { id: 1, side: 'host', headers: {}, body: '', atMs: clock.ms } as const;
    const passing = passingOf({ ...raw, daemon, method, path: method === 'POST' ? path : `${path}/${name}` });
    oracle.passed(passing);
    return passing;
  };
  const looks = (daemon: string, status = 200): void => oracle.given(sent('GET', daemon), status);
  const put = (by: string | undefined, before: object | undefined, after: object | undefined): void =>
    void written.push({ key, atMs: clock.ms, by: by && { daemon: by, request: 1 }, before, after });
  const makes = (daemon: string): void => {
    put(daemon, undefined, leaseOf(daemon));
    oracle.answered(sent('POST', daemon), 201);
  };
  return { clock, looks, put, makes, kinds: () => board.violations.map(({ kind }) => kind) };
}

it.each([
  ['while its holder relies on it', 'hostward-1', 9_000, true, ['made anew']],
  ['when its time is over', 'hostward-1', 10_500, true, []],
  ['by its holder', 'hostward-0', 2_000, true, []],
  ['by somebody who has never seen it', 'hostward-1', 2_000, false, []],
])('a lease that people deleted is made anew %s', (_, daemon, afterMs, hasSeen, kinds) => {
  const { clock, looks, put, makes, kinds: found } = stage();
  put('hostward-0', undefined, leaseOf('hostward-0'));
  if (hasSeen) looks(daemon);
  put(undefined, leaseOf('hostward-0'), undefined);
  clock.ms = afterMs;
  makes(daemon);
  expect(found()).toEqual(kinds);
});

it('a standby looks at the lease twice a second', () => {
  const { clock, looks, kinds } = stage();
  looks('hostward-1');
  clock.ms = 480;
  looks('hostward-1', 500);
  // Behind an answer that it could not use it may wait.
  clock.ms = 3_000;
  looks('hostward-1');
  expect(kinds()).toEqual([]);
  clock.ms = 4_000;
  looks('hostward-1');
  expect(kinds()).toEqual(['looks seldom']);
});
