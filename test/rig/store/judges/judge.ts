// All judges over one history.
import type { History, Operation, Violation } from '../history.ts';
import { KnownLog } from './known-log.ts';
import { linearize } from './linearizable.ts';
import { judgeReads } from './reads.ts';
import { judgeWatches } from './watches.ts';

export function judge(history: History): Violation[] {
  const log = new KnownLog(history);
  const found: Violation[] = history.troubles.map((what) => ({ judge: 'rest', what }));
  found.push(...log.violations, ...judgeWatches(history, log), ...judgeReads(history, log));
  const linearized = linearize(history, log);
  if (linearized.kind === 'gaveUp')
    found.push({ judge: 'linearizable', what: 'the search for an order took too long: no verdict' });
  if (linearized.kind === 'none') {
    const { reached, stuck, state } = linearized;
    const held = [...state.keys].map(([key, one]) => `${key} = ${one.value} at ${one.revision}`).join(', ');
    found.push({
      judge: 'linearizable',
      what: [
        `no order explains all answers; ${reached.length} operations have one, up to revision ${state.revision} (${held})`,
        ...reached.slice(-3).map((one) => `    fits: ${told(one)}`),
        ...stuck.map((one) => `    does not fit next: ${told(one)}`),
      ].join('\n'),
    });
  }
  return found;
}

export function told({ client, asked, answered, calledAt, returnedAt }: Operation): string {
  return `client ${client} at ${calledAt}–${returnedAt}: ${JSON.stringify(asked)} → ${JSON.stringify(answered)}`;
}
