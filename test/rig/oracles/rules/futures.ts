// Nobody watches on from a revision that the server does not have any more: it says nothing until it has reached it again, and what happened
// meanwhile is never told. In: watches as they are opened. A connection that broke gives the reason to ask first.
import type { WorldEars } from '../../play/world.ts';
import { type Passing, scopeOf } from '../../proxy/passing.ts';
import type { RigCluster, RigSide } from '../../stage/rig-cluster.ts';
import type { Board } from '../board.ts';

interface Clusters {
  readonly clusters: Readonly<Record<RigSide, RigCluster>>;
}

export class Futures implements WorldEars {
  readonly #world: Clusters;
  readonly #board: Board;
  /** Watches, with no answer to a list of the same objects since: `hostward-0 host /api/v1/endpoints`. */
  readonly #watched = new Set<string>();

  constructor(world: Clusters, board: Board) {
    this.#world = world;
    this.#board = board;
  }

  answered(passing: Passing, status: number): void {
    if (passing.method === 'GET' && passing.verb === 'list' && status === 200) this.#watched.delete(scopeOf(passing));
  }

  passed(passing: Passing): void {
    if (passing.verb !== 'watch') return;
    const { side, daemon, path, query } = passing;
    const { revision } = this.#world.clusters[side].store;
    const from = Number(query.get('resourceVersion') ?? 0);
    const scope = scopeOf(passing);
    const isResumed = this.#watched.has(scope);
    this.#watched.add(scope);
    // Behind a list that was true when it was answered nobody can know better.
    if (!isResumed || from <= revision) return;
    const at = `${daemon} watches ${path.split('?')[0]}`;
    this.#board.say('S3', 'a future', `${at} from revision ${from}, and the ${side} cluster is at ${revision}`);
  }
}
