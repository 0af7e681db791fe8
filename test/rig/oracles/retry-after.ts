// A server that says when to come again is not asked earlier: by the same reader of the same list, or for the same object. The longest obeyed time
// is a minute.

import type { World, WorldEars } from '../play/world.ts';
import type { Passing } from '../proxy/passing.ts';
import type { Board } from './board.ts';

const longestMs = 60_000;

export class RetryAfter implements WorldEars {
  readonly #world: World;
  readonly #board: Board;
  /** By daemon and request. */
  readonly #notBeforeMs = new Map<string, number>();

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
    this.#notBeforeMs.set(idOf(passing), this.#world.clock.now() + Math.min(longestMs, seconds * 1000));
  }

  passed(passing: Passing): void {
    const id = idOf(passing);
    const leftMs = (this.#notBeforeMs.get(id) ?? 0) - this.#world.clock.now();
    if (leftMs > 0)
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
