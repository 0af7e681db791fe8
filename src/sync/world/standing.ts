// What is known of an object that objects of another kind were made from. They may be on the host only together with it.
import type { Outcome } from '../plan/step.ts';

/** Whether an object is on the host as the configuration wants it. */
export type Standing = { kind: 'fine' } | { kind: 'unknown' } | { kind: 'fails'; why: string };

/** Without a sync of its kind, no standing is known. */
export function standingOf(outcome: Outcome | undefined, { isMissing }: { isMissing: boolean }): Standing {
  switch (outcome?.kind) {
    case 'inSync':
      return { kind: 'fine' };
    case 'ineligible':
    case 'refused':
      return { kind: 'fails', why: outcome.message };
    case undefined:
      if (isMissing) return { kind: 'fails', why: 'there is no virtual object of this name' };
      return { kind: 'unknown' };
    case 'waiting':
    case 'left':
    case 'retry':
      return { kind: 'unknown' };
    default:
      return outcome satisfies never;
  }
}
