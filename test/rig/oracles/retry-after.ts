// A server that says when to come again is not asked earlier: by the same reader of the same list, or for the same object. The longest obeyed time
// is a minute.

import type { World, WorldEars } from '../play/world.ts';
import type { Passing } from '../proxy/passing.ts';
import type { Board } from './board.ts';

const longestMs = 60_000;

export class RetryAfter implements WorldEars {
  readonly #world: World;
  readonly #board: Board;
  /** By daemon and request: when the server said so, and until when. */
  readonly #asked = new Map<string, { atMs: number; untilMs: number }>();

  constructor(world: World, board: Board) {
    this.#world = world;
    this.#board = board;
  }

  madeUp(passing: Passing, status: number, headers: Readonly<Record<string, string>>): void {
    const seconds = Number(headers['retry-after']);
    // F18 speaks of lists, watches and writes. A holder that waited a minute would lose its lease, and a new watch asks for one object whether the
    // server has gone back in time, since a watch that began without that answer would miss changes (F36).
    if (passing.verb === 'lease' || passing.query.get('limit') === '1') return;
    if (status !== 429 || !Number.isFinite(seconds) || seconds <= 0) return;
    const atMs = this.#world.clock.now();
    this.#asked.set(idOf(passing), { atMs, untilMs: atMs + Math.min(longestMs, seconds * 1000) });
  }

  passed(passing: Passing): void {
    const id = idOf(passing);
    const nowMs = this.#world.clock.now();
    const { atMs, untilMs } = this.#asked.get(id) ?? { atMs: nowMs, untilMs: nowMs };
    const leftMs = untilMs - nowMs;
    // Two objects may want one name: a request that left at the same moment has not heard the answer to the other one.
    if (leftMs > 0 && nowMs > atMs)
      this.#board.say('bound', `early after Retry-After: ${passing.verb}`, `${id}: ${leftMs} ms too early`);
  }
}

function idOf({ daemon, side, method, verb, path, query, isProof, body }: Passing): string {
  // Two windows of one resource read it by other selectors.
  const selected = `${query.get('labelSelector') ?? ''} ${query.get('fieldSelector') ?? ''}`;
  // The path of a create does not name its object.
  const made = verb === 'create' ? (/"name":"([^"]*)"/.exec(body)?.[1] ?? '') : '';
  return `${daemon} ${side} ${method} ${verb} ${path.split('?')[0]} ${made} ${isProof ? 'heads' : ''} ${selected}`;
}
