// Sets the gauges of sync from its current state. The daemon calls this every second.
import type { Sync } from '../loop/sync.ts';
import { differenceCount, objectCounts } from './status.ts';

export function setGauges(sync: Sync, { isLeader }: { isLeader: boolean }): void {
  const { metrics, ledger } = sync;
  metrics.leader.set(isLeader ? 1 : 0);
  metrics.contested.set(sync.contest.contested().length);
  metrics.backflowFailed.set(ledger.backflowFailures.size);
  metrics.deletesWithheld.set(sync.massDelete.guard.size);
  metrics.differences.set(differenceCount(sync));
  metrics.objects.set({ state: 'inSync' }, objectCounts(sync)['inSync'] ?? 0);
  for (const [name, count] of ledger.counts()) {
    const [state, reason] = name.split('/');
    if (reason === undefined) metrics.objects.set({ state: state ?? '' }, count);
    else if (state === 'refused') metrics.refused.set({ reason }, count);
  }
  sync.options.references?.setGauges();
}
