// Slows what flows back to the virtual side: a removed label waits for news from the virtual Services, and an object that both
// sides keep changing is written once a second.
import type { Clock } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import type { Key } from '../../../object/meta/object.ts';
import { isTakenByController } from '../../plan/kind.ts';
import type { Facts } from '../../plan/step.ts';
import { Contest } from '../../world/contest.ts';
import type { EventNote } from './event-recorder.ts';
import type { SyncWorld } from './rules.ts';

/** A removed label flows back after this time even without news from the virtual Services. */
const holdMs = 60_000;

export interface BackFlowBrakeOptions {
  world: SyncWorld;
  clock: Clock;
  log: Log;
  /** The host marks the objects of its own controllers, so that a removed label needs no doubt. */
  isHostRecent: boolean;
  tell: (note: EventNote) => void;
}

export class BackFlowBrake {
  readonly #options: BackFlowBrakeOptions;
  readonly #contest: Contest;
  readonly #heldSince = new Map<Key, { hostVersion: string; sinceMs: number }>();

  constructor(options: BackFlowBrakeOptions) {
    this.#options = options;
    this.#contest = new Contest(options.clock);
  }

  waitMs(key: Key): number {
    return this.#contest.delayBeforeRepair(key);
  }

  mayRemoveLabels(key: Key): boolean {
    const { world, clock, isHostRecent } = this.#options;
    const place = world.placeOf(key);
    const host = place === undefined ? undefined : world.hostOf(place);
    const isCertain = isHostRecent && host !== undefined && !isTakenByController(host, world.rules.translation.kind);
    if (host === undefined || isCertain) {
      this.#heldSince.delete(key);
      return true;
    }
    const now = clock.now();
    const held = this.#heldSince.get(key);
    if (held === undefined || held.hostVersion !== host.resourceVersion) {
      this.#heldSince.set(key, { hostVersion: host.resourceVersion, sinceMs: now });
      return false;
    }
    return world.windows.services.lastHeardMs > held.sinceMs || now - held.sinceMs >= holdMs;
  }

  /** Counts a write to the virtual side: the host may edit without end, or a tenant may overwrite a field that the host owns. */
  noteWrite({ key, virtual }: Facts): void {
    if (!this.#contest.noteRepair(key, undefined) || virtual === undefined) return;
    this.#options.log.warn({ component: 'sync', key }, 'virtual object is contested');
    const message = 'Both sides keep changing its labels and annotations; changes of the host arrive once a second';
    this.#options.tell({ key, uid: virtual.uid, type: 'Warning', reason: 'Contested', message });
  }
}
