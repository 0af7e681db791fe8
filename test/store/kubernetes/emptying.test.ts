import { describe, expect, it } from 'vitest';
import { Emptying } from '../../../src/store/kubernetes/emptying.ts';
import type { HostRecords } from '../../../src/store/kubernetes/records/host-records.ts';
import { replicaName } from '../../../src/store/kubernetes/records/record-format.ts';
import { VirtualClock } from '../../virtual-clock.ts';

/** `answers`: what the host says of the replica's own record, one look after the other. */
function deleted(answers: readonly ('there' | 'gone' | 'no answer')[]) {
  const clock = new VirtualClock();
  const said: string[] = [];
  const left = [...answers];
  const host = {
    get: async (name: string) => {
      const answer = left.shift();
      said.push(`${clock.now()}: looks for ${name}`);
      if (answer === 'no answer') throw new Error('the host is silent');
      return answer === 'there' ? { name, version: 1, data: {} } : undefined;
    },
  } as unknown as HostRecords;
  const emptying = new Emptying({
    ...{ host, clock, replica: 'r' },
    goOn: async () => void said.push('goes on'),
    emptied: (message) => said.push(message),
  });
  emptying.storeDeleted();
  return { clock, emptying, said };
}

const look = (atMs: number) => `${atMs}: looks for ${replicaName('r')}`;

describe('a store whose record was deleted', () => {
  it('goes on when only that record is gone, and counts no change until a whole list has come', async () => {
    const { clock, emptying, said } = deleted(['there']);
    expect(emptying.isHalted).toBe(true);
    await clock.advance(60_000);
    expect([said, emptying.isHalted]).toEqual([[look(2_000), 'goes on'], true]);
    emptying.settled();
    expect(emptying.isHalted).toBe(false);
  });

  it('says so when the other records go too', async () => {
    const { clock, said } = deleted(['gone']);
    await clock.advance(60_000);
    expect(said).toEqual([look(2_000), 'its records were deleted: bring them back from a backup']);
  });

  it('looks again every two seconds while the host does not answer', async () => {
    const { clock, said } = deleted(['no answer', 'no answer', 'there']);
    await clock.advance(60_000);
    expect(said).toEqual([look(2_000), look(4_000), look(6_000), 'goes on']);
  });
});
