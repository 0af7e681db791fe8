// Objects that the host refuses for several causes, in the report of a whole daemon over fake clusters.
import { describe, expect, it } from 'vitest';
import { statusOf } from '../../../src/daemon/report.ts';
import { attentionIn } from '../../../src/sync/report/attention/attention.ts';
import type { StatusJson } from '../../../src/sync/report/words.ts';
import { edit, putPair } from '../fake-sync.ts';
import { setUp, stage, world } from './report-stage.ts';

setUp();

const refusals = {
  quota: { status: 403, reason: 'QuotaExceeded', say: 'is forbidden: exceeded quota: few, requested: pods=1' },
  policy: {
    status: 422,
    reason: 'Invalid',
    say: "is forbidden: ValidatingAdmissionPolicy 'lan' denied request: no LAN",
  },
  invalid: { status: 422, reason: 'Invalid', say: 'is invalid: subsets[0].addresses[0].ip: Invalid value: "x": no IP' },
};

async function refuse(on: Awaited<ReturnType<typeof stage>>, cause: keyof typeof refusals, names: readonly string[]) {
  const { say, ...rest } = refusals[cause];
  for (const name of names) {
    const message = `POST /api/v1/namespaces/vcluster-vc/endpoints at https://h: ${rest.status} endpoints "${name}-x-default-x-vc" ${say}`;
    on.host.answer = { kind: 'refused', ...rest, message };
    await world.change(() => putPair(world, name));
  }
}

const groupsIn = (status: StatusJson) =>
  attentionIn(status).groups.map(({ reason, count, isLeast, items }) => [reason, count, isLeast, items[0]?.object]);

describe('HostRefused', () => {
  it('is told by cause, with a count and an example each', async () => {
    const on = await stage();
    await refuse(on, 'policy', ['a', 'b', 'c']);
    await refuse(on, 'quota', ['d', 'e']);
    await refuse(on, 'invalid', ['f']);
    const status = statusOf(on.view as never) as StatusJson;
    expect(status['troubleByState']).toEqual({ 'refused/HostRefused': 6 });
    const state = 'refused/HostRefused';
    expect(status['troubleByCause']).toEqual([
      { state, objects: 3, such: 'default/a', cause: "ValidatingAdmissionPolicy 'lan' denied request: no LAN" },
      { state, objects: 2, such: 'default/d', cause: 'exceeded quota: few' },
      { state, objects: 1, such: 'default/f', cause: 'subsets[].addresses[].ip: Invalid value: no IP' },
    ]);
    expect(groupsIn(status)).toEqual([
      ['HostRefused', 3, undefined, 'default/a'],
      ['HostRefused', 2, undefined, 'default/d'],
      ['HostRefused', 1, undefined, 'default/f'],
    ]);
  });

  it('of one cause says nothing of causes', async () => {
    const on = await stage();
    await refuse(on, 'policy', ['a', 'b']);
    const status = statusOf(on.view as never) as StatusJson;
    expect(status['troubleByCause']).toBeUndefined();
    expect(groupsIn(status)).toEqual([['HostRefused', 2, undefined, 'default/a']]);
  });

  it('hides no cause behind six hundred objects of another one, and lists at most twenty', async () => {
    const on = await stage();
    await refuse(
      on,
      'policy',
      Array.from({ length: 600 }, (_, at) => `p${at}`),
    );
    await refuse(on, 'invalid', ['late']);
    const status = statusOf(on.view as never) as StatusJson;
    expect(groupsIn(status)).toEqual([
      ['HostRefused', 600, undefined, 'default/p0'],
      ['HostRefused', 1, undefined, 'default/late'],
    ]);
    for (let at = 0; at < 30; at++) {
      refusals.policy.say = `is forbidden: policy ${at} denied request: no`;
      await refuse(on, 'policy', [`more${at}`]);
    }
    const now = statusOf(on.view as never) as StatusJson;
    expect((now['troubleByCause'] as unknown[]).length).toBe(20);
    expect((now['trouble'] as unknown[]).length).toBeLessThanOrEqual(500);
  });

  it('of objects that the host takes again is forgotten', async () => {
    const on = await stage();
    await refuse(on, 'policy', ['a']);
    await refuse(on, 'invalid', ['b']);
    on.host.answer = undefined;
    for (const name of ['a', 'b'])
      await world.change(() =>
        edit(world.virtual, world.virtual.get('endpoints', 'default', name), ({ metadata }) => {
          metadata.labels = { again: 'yes' };
        }),
      );
    const status = statusOf(on.view as never) as StatusJson;
    expect([status['troubleByState'], status['troubleByCause']]).toEqual([undefined, undefined]);
  });
});
