// That a window is proven is said of lists which were read to their end, and of no others: people go by it when they look for what is wrong. Each time
// that `status` names began with the first page of a list of heads that the daemon has got whole. Looked at while such a list has failed lately: what
// is said then is what may be wrong. In: lists of heads, and what `status` says of the windows.
import type { World, WorldEars } from '../../play/world.ts';
import { type Passing, scopeOf } from '../../proxy/passing.ts';
import type { Board } from '../board.ts';

/** `status` says tenths of a second. */
const toleranceMs = 200;
const everyMs = 5_000;
/** A list that nobody answers is given up after half a minute, and the next one begins within a minute. */
const suspectForMs = 95_000;

interface Lists {
  /** By watched scope: when the list began that is being read. */
  beginsMs: Map<string, number>;
  wholeMs: number[];
  suspectUntilMs: number;
  lookedMs: number;
}

export class ProvenTruth implements WorldEars {
  readonly #world: World;
  readonly #board: Board;
  readonly #lists = new Map<string, Lists>();

  constructor(world: World, board: Board) {
    this.#world = world;
    this.#board = board;
  }

  #of(daemon: string): Lists {
    const lists = this.#lists.get(daemon) ?? { beginsMs: new Map(), wholeMs: [], suspectUntilMs: 0, lookedMs: 0 };
    this.#lists.set(daemon, lists);
    return lists;
  }

  passed(passing: Passing): void {
    if (passing.isProof && !passing.query.has('continue'))
      this.#of(passing.daemon).beginsMs.set(scopeOf(passing), passing.atMs);
  }

  given(passing: Passing, status: number, text: string): void {
    if (!passing.isProof) return;
    const isWhole = status === 200 && (passing.fate === undefined || passing.fate.startsWith('delay'));
    if (!isWhole) this.#suspect(passing);
    // What a fault has changed may be a list all the same.
    if (status !== 200 || hasMore.test(text)) return;
    const { beginsMs, wholeMs } = this.#of(passing.daemon);
    const atMs = beginsMs.get(scopeOf(passing));
    if (atMs !== undefined) wholeMs.push(atMs);
  }

  answered(passing: Passing): void {
    if (passing.isProof && passing.fate !== undefined) this.#suspect(passing);
  }

  madeUp(passing: Passing): void {
    if (passing.isProof) this.#suspect(passing);
  }

  #suspect({ daemon }: Passing): void {
    this.#of(daemon).suspectUntilMs = this.#world.clock.now() + suspectForMs;
  }

  still(): void {
    const nowMs = this.#world.clock.now();
    for (const daemon of this.#world.daemons) {
      const lists = this.#of(daemon.name);
      if (nowMs > lists.suspectUntilMs || nowMs < lists.lookedMs + everyMs) continue;
      if (daemon.state !== 'running' || daemon.isHeld) continue;
      lists.lookedMs = nowMs;
      for (const { window, provenSecondsAgo } of daemon.status.windows ?? []) {
        const saidMs = nowMs - (provenSecondsAgo ?? Number.NaN) * 1000;
        if (Number.isNaN(saidMs) || lists.wholeMs.some((atMs) => Math.abs(atMs - saidMs) <= toleranceMs)) continue;
        this.#board.say(
          'truth',
          'not proven',
          `${daemon.name} says at ${nowMs / 1000} s that "${window}" was proven ${provenSecondsAgo} s ago; no list that began then came to its end`,
        );
      }
    }
  }
}

const hasMore = /"continue":\s*"[^"]/;
