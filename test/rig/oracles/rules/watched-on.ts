// A watch is opened again where the one before it has ended, and not earlier: from what it has forgotten a daemon hears everything twice, and a
// server that has compacted its past gives it a whole list instead. In: lines as they are delivered, and watches as they are opened.
import type { LiveFault } from '../../faults/live-fault.ts';
import type { World, WorldEars } from '../../play/world.ts';
import type { OpenWatch } from '../../proxy/fault-proxy.ts';
import { type Passing, scopeOf, type WatchedLine } from '../../proxy/passing.ts';
import type { Board } from '../board.ts';

/** What was sent so long ago has been read, if the connection and the process were well. */
const readByThenMs = 5_000;
/** Bytes that come late, and processes that do not read. */
const slow: ReadonlySet<string> = new Set(['F28', 'F29', 'F30', 'F36', 'F39']);

export class WatchedOn implements WorldEars {
  readonly #world: World;
  readonly #board: Board;
  readonly #faults: readonly LiveFault[];
  /** By watched scope: the lines since the last list, newest last. */
  readonly #lines = new Map<string, { revision: number; atMs: number }[]>();

  constructor(world: World, board: Board, faults: readonly LiveFault[]) {
    this.#world = world;
    this.#board = board;
    this.#faults = faults;
  }

  delivered({ passing }: OpenWatch, { revision }: WatchedLine): void {
    const scope = scopeOf(passing);
    const lines = this.#lines.get(scope) ?? [];
    this.#lines.set(scope, lines);
    lines.push({ revision: Number(revision), atMs: this.#world.clock.now() });
  }

  answered(passing: Passing): void {
    if (passing.verb === 'list' && !passing.isProof) this.#lines.delete(scopeOf(passing));
  }

  passed(passing: Passing): void {
    if (passing.verb !== 'watch' || this.#faults.some(({ hasStruck, recipe }) => hasStruck && slow.has(recipe.class)))
      return;
    const readBy = this.#world.clock.now() - readByThenMs;
    const read = this.#lines.get(scopeOf(passing))?.findLast(({ atMs }) => atMs <= readBy);
    const from = Number(passing.query.get('resourceVersion') ?? 0);
    if (read === undefined || from >= read.revision) return;
    const at = `${passing.daemon} watches ${passing.path.split('?')[0]} of the ${passing.side} cluster`;
    this.#board.say('liveness', 'watched again', `${at} from revision ${from}, and had been told of ${read.revision}`);
  }
}
