// A write that an API server has failed is tried again when its back-off says so, not before, and not when something else would have looked at the object anyway: a
// later time never takes the place of an earlier one. In: requests and answers. Judged when the write comes again; that it comes at all is the model's.
import type { LiveFault } from '../../faults/live-fault.ts';
import type { World, WorldEars } from '../../play/world.ts';
import type { OpenWatch } from '../../proxy/fault-proxy.ts';
import { isWrite, type Passing, type WatchedLine } from '../../proxy/passing.ts';
import type { Act } from '../../traffic/acts.ts';
import type { Board } from '../board.ts';

/** Five milliseconds, doubled with each failure up to a minute. */
const shortestMs = (failures: number): number => Math.min(5 * 2 ** (failures - 1), longestMs);
const longestMs = 60_000;
/** By chance up to half as much again. */
const backOffMs = (failures: number): number => shortestMs(failures) * 1.5;
/** A timer may fire a little early. */
const earlyMs = 5;
/** What is left of patches that a start finds taken out has stood since before it: its removal comes again each minute. */
const sweptEveryMs = 60_000;
const kindOf: Readonly<Record<string, string>> = { secrets: 'Secret', configmaps: 'ConfigMap' };
/** Other requests of the same pass, and a turn of the writer. */
const slackMs = 5_000;

interface Failing {
  failures: number;
  firstMs: number;
  /** In a row, while nothing else happened. */
  quietFailures: number;
  /** Each of them was an answer that says nothing about when to come again. */
  isPlain: boolean;
  atMs: number;
  /** How often faults had struck. */
  strikes: number;
}

interface Patched {
  patches?: readonly { reference?: { kind?: string; kindPath?: string } }[];
}

interface Configured {
  sync?: { toHost?: { endpoints?: Patched; endpointSlices?: Patched } };
}

export class TriedAgain implements WorldEars {
  readonly #world: World;
  readonly #board: Board;
  readonly #faults: readonly LiveFault[];
  /** By daemon, method and path. */
  readonly #failing = new Map<string, Failing>();
  /** Whatever has happened since may be a reason to wait. */
  #newsMs = 0;
  /** When a fault last lasted: in such a time a pass may fail without a request, and its failures count on. */
  #unseenMs = Number.NEGATIVE_INFINITY;
  /** When a server last answered anything. */
  #heardMs = 0;

  constructor(world: World, board: Board, faults: readonly LiveFault[]) {
    this.#world = world;
    this.#board = board;
    this.#faults = faults;
  }

  acted({ do: what }: Act): void {
    if (what !== 'wait' && what !== 'calm' && what !== 'lastChance') this.#newsMs = this.#world.clock.now();
  }

  delivered(_watch: OpenWatch, { type }: WatchedLine): void {
    if (type !== 'BOOKMARK') this.#newsMs = this.#world.clock.now();
  }

  passed(passing: Passing): void {
    if (!isWrite(passing)) return;
    const id = idOf(passing);
    const known = this.#failing.get(id);
    if (known?.isPlain !== true) return;
    const nowMs = this.#world.clock.now();
    this.#judgeSoon(passing, known);
    const mayHaveMore = this.#unseenMs >= known.firstMs - longestMs * 1.5;
    const waitsMs = mayHaveMore ? longestMs * 1.5 : backOffMs(known.failures);
    const limitMs = (this.#isSwept(passing) ? sweptEveryMs : waitsMs) + slackMs;
    if (nowMs - known.atMs <= limitMs || this.#newsMs > known.atMs || this.#isOtherwiseHeld(id, known)) return;
    this.#board.say(
      'liveness',
      'tried again late',
      `${passing.daemon} sent ${passing.method} ${passing.path.split('?')[0]} again ${Math.round(nowMs - known.atMs)} ms after failure ${known.failures}, wanted ${limitMs}`,
    );
  }

  still(): void {
    if (this.#faults.some(({ isLasting }) => isLasting)) this.#unseenMs = this.#world.clock.now();
  }

  /** A delete of content of a kind that no patch can name. */
  #isSwept({ verb, resource }: Passing): boolean {
    const kind = kindOf[resource];
    if (verb !== 'delete' || kind === undefined) return false;
    const { toHost = {} } = (this.#world.configuration as Configured).sync ?? {};
    const patches = [toHost.endpoints, toHost.endpointSlices].flatMap((block) => block?.patches ?? []);
    return !patches.some(({ reference }) => reference?.kind === kind || reference?.kindPath !== undefined);
  }

  /** News, and a server that answers others again, are reasons not to wait. */
  #judgeSoon({ daemon, method, path }: Passing, { quietFailures, atMs }: Failing): void {
    const tookMs = this.#world.clock.now() - atMs;
    const wantedMs = shortestMs(quietFailures) - earlyMs;
    if (tookMs >= wantedMs || Math.max(this.#newsMs, this.#heardMs) >= atMs) return;
    this.#board.say(
      'liveness',
      'tried again soon',
      `${daemon} sent ${method} ${path.split('?')[0]} again ${Math.round(tookMs)} ms after failure ${quietFailures} in a row, wanted ${wantedMs} at least`,
    );
  }

  /** Another fault has struck meanwhile, another request has failed, or somebody else may write. */
  #isOtherwiseHeld(id: string, { strikes, atMs }: Failing): boolean {
    if (strikes !== this.#strikes || this.#world.scenario.daemons > 1) return true;
    if (this.#faults.some(({ isLasting }) => isLasting)) return true;
    return [...this.#failing].some(([other, one]) => other !== id && one.atMs >= atMs);
  }

  get #strikes(): number {
    return this.#faults.reduce((sum, { struck }) => sum + struck, 0);
  }

  madeUp(passing: Passing, status: number, headers: Readonly<Record<string, string>>): void {
    if (!isWrite(passing)) {
      this.#newsMs = this.#world.clock.now();
      return;
    }
    const id = idOf(passing);
    const known = this.#failing.get(id);
    const isPlain = (known?.isPlain ?? true) && status >= 500 && !('retry-after' in headers);
    const failures = (known?.failures ?? 0) + 1;
    const isQuiet = known !== undefined && Math.max(this.#newsMs, this.#heardMs) < known.atMs;
    const quietFailures = isQuiet ? known.quietFailures + 1 : 1;
    const atMs = this.#world.clock.now();
    const firstMs = known?.firstMs ?? atMs;
    this.#failing.set(id, { failures, firstMs, quietFailures, isPlain, atMs, strikes: this.#strikes });
  }

  answered(passing: Passing): void {
    this.#heardMs = this.#world.clock.now();
    if (isWrite(passing)) this.#failing.delete(idOf(passing));
  }
}

/** A create names its object in the body. */
function idOf({ daemon, method, path, body }: Passing): string {
  const name = method === 'POST' ? (/"name":"([^"]*)"/.exec(body)?.[1] ?? '') : '';
  return `${daemon} ${method} ${path.split('?')[0]} ${name}`;
}
