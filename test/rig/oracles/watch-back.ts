// How soon a watch is back after it was cut, ended, refused, expired or fell silent: the daemon is blind meanwhile. Measured at the proxy, from the
// end of the old watch to the request of the new one, and only while no other fault has struck.
import type { LiveFault } from '../faults/live-fault.ts';
import type { World, WorldEars } from '../play/world.ts';
import type { OpenWatch } from '../proxy/fault-proxy.ts';
import type { Passing, WatchedLine } from '../proxy/passing.ts';
import type { Act } from '../traffic/acts.ts';
import type { Board } from './board.ts';

/** The bound for one fault of its kind; more of them in a row back off. */
const backWithinMs = 1_200;
/** A bookmark a minute, and fifteen seconds. A watch that has had none yet may be silent twice as long. */
const silentWithinMs = 75_000 + backWithinMs;
const neverHeardWithinMs = 150_000 + backWithinMs;
/** Faults that end a watch with a line of its stream, or in the middle of one. */
const byLine: ReadonlySet<string> = new Set([
  '410 in the stream',
  '500 in the stream',
  '504 in the stream',
  'reset in a line',
  'end of a watch',
]);
/** These refuse one watch. */
const byAnswer: ReadonlySet<string> = new Set(['410 at connect', '500 once', 'reset before the head']);

interface AwaitedWatch {
  fault: LiveFault;
  daemon: string;
  path: string;
  sinceMs: number;
  withinMs: number;
}

export class WatchBack implements WorldEars {
  readonly #world: World;
  readonly #board: Board;
  readonly #faults: readonly LiveFault[];
  #awaited: AwaitedWatch[] = [];
  readonly #noted = new Set<LiveFault>();
  readonly #bookmarked = new WeakSet<OpenWatch>();
  /** How long each watch took that was away while no other fault had struck. */
  readonly tookMs: number[] = [];

  constructor(world: World, board: Board, faults: readonly LiveFault[]) {
    this.#world = world;
    this.#board = board;
    this.#faults = faults;
  }

  /** Other rules may need other watches, and another process begins anew. */
  acted(act: Act): void {
    if (['reload', 'restart', 'kill', 'down'].includes(act.do)) this.#awaited = [];
  }

  event(watch: OpenWatch, { type }: WatchedLine): void {
    if (type === 'BOOKMARK') this.#bookmarked.add(watch);
  }

  passed({ verb, daemon, path }: Passing): void {
    if (verb !== 'watch') return;
    const at = this.#awaited.findIndex((one) => one.daemon === daemon && one.path === bare(path));
    if (at < 0) return;
    const [{ fault, sinceMs, withinMs }] = this.#awaited.splice(at, 1) as [AwaitedWatch];
    if (fault !== this.#alone) return;
    const tookMs = this.#world.clock.now() - sinceMs;
    this.tookMs.push(tookMs);
    if (tookMs > withinMs)
      this.#board.say(
        'bound',
        `watch back: ${fault.recipe.name}`,
        `${path}: ${tookMs} ms after ${fault.recipe.name}, wanted ${withinMs}`,
      );
  }

  madeUp(passing: Passing): void {
    const fault = this.#alone;
    if (fault?.struck !== 1 || fault.placed.times !== 1 || this.#noted.has(fault)) return;
    if (passing.verb !== 'watch' || !fault.matches(passing) || !byAnswer.has(fault.recipe.name)) return;
    this.#noted.add(fault);
    this.#await(fault, passing, { sinceMs: this.#world.clock.now(), withinMs: backWithinMs });
  }

  /** Called when nothing is left to do without a timer: a watch that came back at once is there by now. */
  still(): void {
    const fault = this.#alone;
    if (fault?.hasStruck === true && !this.#noted.has(fault)) this.#note(fault);
    this.#awaited = this.#awaited.filter(
      (one) => one.fault === fault && this.#world.daemonOf(one.daemon)?.isAlive === true,
    );
    for (const { fault: of, path, sinceMs, withinMs } of this.#awaited)
      if (this.#world.clock.now() - sinceMs > 10 * withinMs)
        this.#board.say(
          'bound',
          `no watch back: ${of.recipe.name}`,
          `${path}: none ${10 * withinMs} ms after ${of.recipe.name}`,
        );
  }

  /** The one fault that has struck so far: two together may take longer. */
  get #alone(): LiveFault | undefined {
    const struck = this.#faults.filter(({ hasStruck }) => hasStruck);
    return struck.length === 1 ? struck[0] : undefined;
  }

  #note(fault: LiveFault): void {
    const { hit, recipe, placed, firstMs = 0, endMs, watchesAtStrike } = fault;
    const nowMs = this.#world.clock.now();
    if (byLine.has(recipe.name) && hit !== undefined && placed.times === 1) {
      this.#noted.add(fault);
      this.#await(fault, hit.passing, { sinceMs: nowMs, withinMs: backWithinMs });
    } else if (recipe.name === 'connection refused' && placed.ms <= backWithinMs && nowMs >= endMs) {
      this.#noted.add(fault);
      for (const { passing } of watchesAtStrike)
        this.#await(fault, passing, { sinceMs: endMs, withinMs: backWithinMs });
    } else if (recipe.name === 'silent watch' && hit !== undefined) {
      this.#noted.add(fault);
      this.#await(fault, hit.passing, { sinceMs: firstMs, withinMs: silentWithinMs });
    } else if (recipe.name === 'DNS change') {
      this.#noted.add(fault);
      for (const watch of watchesAtStrike) {
        const withinMs = this.#bookmarked.has(watch) ? silentWithinMs : neverHeardWithinMs;
        this.#await(fault, watch.passing, { sinceMs: firstMs, withinMs });
      }
    }
  }

  #await(
    fault: LiveFault,
    { daemon, path, id }: Passing,
    { sinceMs, withinMs }: { sinceMs: number; withinMs: number },
  ): void {
    const isBack = [...this.#world.proxies[fault.placed.side].watches].some(
      ({ passing }) => passing.id > id && passing.daemon === daemon && bare(passing.path) === bare(path),
    );
    if (!isBack) this.#awaited.push({ fault, daemon, path: bare(path), sinceMs, withinMs });
  }
}

function bare(path: string): string {
  return path.split('?')[0] ?? '';
}
