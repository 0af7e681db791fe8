// How soon a watch is back after it was cut, ended, refused or expired: the daemon is blind meanwhile. Measured at the proxy, from the end of
// the old watch to the request of the new one.
import type { LiveFault } from '../faults/effects.ts';
import type { Passing } from '../proxy/passing.ts';
import type { World, WorldEars } from '../world.ts';
import type { Board } from './board.ts';

/** The bound for one fault of its kind; more of them in a row back off. */
const backWithinMs = 1_200;
/** These end a watch once, and nothing else is wrong. */
const single: ReadonlySet<string> = new Set([
  '410 in the stream',
  '500 in the stream',
  '504 in the stream',
  'reset in a line',
  'end of a watch',
]);

interface AwaitedWatch {
  fault: LiveFault;
  daemon: string;
  path: string;
  sinceMs: number;
}

export class WatchBack implements WorldEars {
  readonly #world: World;
  readonly #board: Board;
  readonly #faults: readonly LiveFault[];
  readonly #awaited: AwaitedWatch[] = [];
  readonly #noted = new Set<LiveFault>();

  constructor(world: World, board: Board, faults: readonly LiveFault[]) {
    this.#world = world;
    this.#board = board;
    this.#faults = faults;
  }

  passed({ verb, daemon, path }: Passing): void {
    if (verb !== 'watch') return;
    const at = this.#awaited.findIndex((one) => one.daemon === daemon && one.path === bare(path));
    if (at < 0) return;
    const [{ fault, sinceMs }] = this.#awaited.splice(at, 1) as [AwaitedWatch];
    const tookMs = this.#world.clock.now() - sinceMs;
    if (tookMs > backWithinMs)
      this.#board.say(
        'bound',
        `watch back: ${fault.recipe.name}`,
        `${path}: ${tookMs} ms after ${fault.recipe.name}, wanted ${backWithinMs}`,
      );
  }

  /** Called when nothing is left to do without a timer: a watch that came back at once is there by now. */
  still(): void {
    const [fault] = this.#faults;
    if (fault?.hit !== undefined && this.#faults.length === 1 && !this.#noted.has(fault)) {
      this.#noted.add(fault);
      this.#await(fault, fault.hit.passing);
    }
    for (const { fault, daemon, path, sinceMs } of this.#awaited)
      if (this.#world.clock.now() - sinceMs > 10 * backWithinMs && this.#world.daemonOf(daemon)?.isAlive === true)
        this.#board.say(
          'bound',
          `no watch back: ${fault.recipe.name}`,
          `${path}: none ${10 * backWithinMs} ms after ${fault.recipe.name}`,
        );
  }

  #await(fault: LiveFault, { daemon, path, id }: Passing): void {
    if (!single.has(fault.recipe.name) || fault.placed.times !== 1) return;
    const isBack = [...this.#world.proxies[fault.placed.side].watches].some(
      ({ passing }) => passing.id !== id && passing.daemon === daemon && bare(passing.path) === bare(path),
    );
    if (!isBack) this.#awaited.push({ fault, daemon, path: bare(path), sinceMs: this.#world.clock.now() });
  }
}

function bare(path: string): string {
  return path.split('?')[0] ?? '';
}
