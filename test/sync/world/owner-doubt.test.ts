import { expect, it } from 'vitest';
import type { Writer } from '../../../src/cluster/write/writer.ts';
import { OwnerDoubt } from '../../../src/sync/world/doubt/owner-doubt.ts';
import type { World } from '../../../src/sync/world/world.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';

it('a copy that vanishes at the moment of an answer is asked about again, so that no doubt stays for ever', async () => {
  let asked = 0;
  let settled = 0;
  const world = {
    isOwnerInDoubt: false,
    knownOwner: () => ({ kind: 'present', name: 'vc', uid: 'u' }),
    rules: { translation: { placement: { hostNamespace: 'vcluster-vc', virtualCluster: 'vc' } } },
    windows: { owner: undefined },
  } as unknown as World;
  const hostWriter = {
    get: async () => {
      asked++;
      return { kind: 'forbidden', message: 'no', namespaceTerminating: false };
    },
  } as unknown as Writer;
  const doubt: OwnerDoubt = new OwnerDoubt({
    world,
    hostWriter,
    clock: new VirtualClock(),
    settled: () => {
      if (settled++ === 0) doubt.raise();
    },
  });
  doubt.raise();
  expect(world.isOwnerInDoubt).toBe(true);
  await settle(10);
  expect([world.isOwnerInDoubt, asked, settled]).toEqual([false, 2, 2]);
  await doubt.stop();
});
