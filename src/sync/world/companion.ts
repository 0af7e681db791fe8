// What a sync asks of the sync of another kind, for objects that may stand on the host only beside the object that they were
// made from. Types and one sentence.
import type { Key } from '../../object/meta/object.ts';
import type { Outcome } from '../plan/step.ts';

/** Whether an object of the other kind stands on the host as the configuration wants it. */
export type Standing = { kind: 'fine' } | { kind: 'unknown' } | { kind: 'fails'; why: string };

export interface Companion {
  /** The other kind, such as Endpoints. */
  kind: string;
  /** Unknown while a change of the object waits, because its patches may fail on it. */
  standingOf(key: Key): Standing;
  /** As its last pass found it. */
  lastStandingOf(key: Key): Standing;
  /** `changed` is called with the key of each object whose standing may have changed; returns the end of the subscription. */
  subscribe(changed: (key: Key) => void): () => void;
  /** When the first lists of the other kind are in: from then on, a missing object is known to be missing. */
  whenReady: Promise<void>;
}

/** Without a sync of the other kind, no standing is known. */
export function standingOf(outcome: Outcome | undefined): Standing {
  switch (outcome?.kind) {
    case 'inSync':
      return { kind: 'fine' };
    case 'ineligible':
    case 'refused':
      return { kind: 'fails', why: outcome.message };
    case undefined:
    case 'waiting':
    case 'left':
    case 'retry':
      return { kind: 'unknown' };
    default:
      return outcome satisfies never;
  }
}
