import { expect, it } from 'vitest';
import { silentLog } from '../../../src/log.ts';
import { MissingRights } from '../../../src/management/proxy/missing-rights.ts';
import { UnusableUpstream, type Upstreams } from '../../../src/management/proxy/upstreams.ts';
import type { Directory } from '../../../src/management/scope/directory.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';

it('what a slow cluster answers to an earlier question takes nothing back of what is known since', async () => {
  const clock = new VirtualClock();
  const waiting: ((reason: string) => void)[] = [];
  const upstreams = {
    upstreamOf: (target: { cluster: string }) =>
      new Promise((_, reject) => {
        waiting.push((reason) => reject(new UnusableUpstream(target.cluster, [reason])));
      }),
  } as unknown as Upstreams;
  const settings = { clusters: [{ name: 'c1', kubeconfig: 'file' }], projects: [] };
  const directory = () => ({ settings }) as unknown as Directory;
  const rights = new MissingRights({ directory, upstreams, clock, log: silentLog });
  const looks = [rights.look(), rights.look()];
  waiting[1]?.('the present reason');
  await settle();
  waiting[0]?.('an older reason');
  await Promise.all(looks);
  expect(rights.health).toEqual([{ name: 'cluster c1', missing: [], trouble: 'the present reason' }]);
  // Asked again a minute later, once.
  await clock.advance(60_000);
  expect(waiting).toHaveLength(3);
  rights.stop();
  expect(clock.pendingTimers).toBe(0);
});
