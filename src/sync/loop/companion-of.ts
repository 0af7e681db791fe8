// Shows one sync to another as the companion of its objects: whether an object of this sync stands on the host. Changes nothing.
import type { Key } from '../../object/meta/object.ts';
import type { Outcome } from '../plan/step.ts';
import { type Companion, type Standing, standingOf } from '../world/companion.ts';
import type { Ledger } from '../world/ledger.ts';
import type { MassDelete } from '../world/mass-delete.ts';
import type { SyncWorld } from './rules.ts';

/** The sync that is shown. */
interface Shown {
  readonly world: SyncWorld;
  readonly ledger: Ledger;
  readonly massDelete: MassDelete;
  readonly isReady: boolean;
  readonly whenReady: Promise<void>;
}

export function companionOf(sync: Shown): Companion {
  const { world, ledger } = sync;
  const lastStandingOf = (key: Key): Standing => {
    const outcome: Outcome | undefined = ledger.outcomeOf(key);
    return outcome === undefined && isMissing(sync, key) ? missing : standingOf(outcome);
  };
  return {
    kind: world.rules.translation.kind.kind,
    standingOf: (key) => (ledger.isDirty(key) ? { kind: 'unknown' } : lastStandingOf(key)),
    lastStandingOf,
    subscribe: (changed) => ledger.subscribe(changed),
    whenReady: sync.whenReady,
  };
}

const missing: Standing = { kind: 'fails', why: 'there is no virtual object of this name' };

/** A list that lacks most objects is no proof. */
function isMissing({ isReady, world, massDelete }: Shown, key: Key): boolean {
  return isReady && !world.windows.virtual.has(key) && !massDelete.guard.isWithheld(key);
}

interface Awakened {
  readonly ledger: Ledger;
  readonly queue: { isDelayed(key: Key): boolean };
  enqueue(key: Key): void;
}

/**
 * Wakes a key for news of the other kind. A key that waits after a failure looks at everything anew when its time comes: two kinds
 * that fail would otherwise wake each other without a pause.
 */
export function wakeAcross(sync: Awakened, key: Key): void {
  if (sync.ledger.outcomeOf(key)?.kind !== 'retry' || !sync.queue.isDelayed(key)) sync.enqueue(key);
}
