// A watch that loses a change is mended by the next proof of the caches, a minute later and without a trace in both clusters. So the daemon's own count
// of such changes is judged: without a fault that hides changes it stays at nothing.
import type { LiveFault } from '../../faults/live-fault.ts';
import type { World, WorldEars } from '../../play/world.ts';
import type { Board } from '../board.ts';

/**
 * After these a daemon may believe what is not so until a list tells it better. Garbage and lists of another kind are not among them: who looks sees
 * what they are.
 */
export const liars: ReadonlySet<string> = new Set(['F7', 'F8', 'F9', 'F10', 'F12', 'F13', 'F23', 'F36', 'F38']);

export class MissedChanges implements WorldEars {
  readonly #world: World;
  readonly #board: Board;
  readonly #faults: readonly LiveFault[];

  constructor(world: World, board: Board, faults: readonly LiveFault[]) {
    this.#world = world;
    this.#board = board;
    this.#faults = faults;
  }

  async calm(): Promise<void> {
    if (this.#faults.some((fault) => fault.hasStruck && hidesChanges(fault))) return;
    for (const { name, missedChanges } of this.#world.everyDaemon)
      if (missedChanges > 0)
        this.#board.say('truth', 'missed changes', `the watches of ${name} have missed ${missedChanges} changes`);
  }
}

/** A difference counts when it is still there after this time. */
const standsMs = 5_000;
/** What these keep back is late, and never lost. */
const late: ReadonlySet<string> = new Set(['lateLines', 'coalesce']);

/** Also a watch that stays open and silent for longer than a proof takes. */
function hidesChanges({ recipe, placed }: LiveFault): boolean {
  if (late.has(recipe.effect) && placed.ms < standsMs) return false;
  return liars.has(recipe.class) || recipe.effect === 'blackhole' || recipe.effect === 'silentWatch';
}
