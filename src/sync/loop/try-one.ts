// Tries one of the objects that were refused for want of a right, long before its own turn: when it passes, the others are hurried. In: a
// running sync. Out: at most one key for its queue.
import type { Sync } from './sync.ts';

export function tryOneForbidden({ isReady, queue, ledger }: Sync): void {
  if (!isReady) return;
  queue.hurryOne((key) => {
    const outcome = ledger.entry(key)?.outcome;
    return outcome?.kind === 'refused' && outcome.reason === 'Forbidden';
  });
}
