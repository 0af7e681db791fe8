// An answer that is no list of what was asked for says nothing: whoever got it lists again, and never watches on from it. A daemon that took it for an
// empty list would be saved by its doubts about lists that lack much, so that nothing would be seen in the clusters.

import type { WorldEars } from '../../play/world.ts';
import { type Passing, scopeOf } from '../../proxy/passing.ts';
import { kindOfResource } from '../../stage/rig-cluster.ts';
import type { Board } from '../board.ts';

export class NoList implements WorldEars {
  readonly #board: Board;
  /** By scope: what was wrong with the last answer. */
  readonly #wrong = new Map<string, string>();

  constructor(board: Board) {
    this.#board = board;
  }

  given(passing: Passing, status: number, text: string): void {
    if (passing.verb !== 'list' || passing.isProof || status !== 200) return;
    const wrong = wrongWith(passing.resource, text);
    if (wrong !== undefined) this.#wrong.set(scopeOf(passing), wrong);
    // Later pages say nothing about an earlier one.
    else if (!passing.query.has('continue')) this.#wrong.delete(scopeOf(passing));
  }

  passed(passing: Passing): void {
    const wrong = passing.verb === 'watch' ? this.#wrong.get(scopeOf(passing)) : undefined;
    if (wrong === undefined) return;
    this.#board.say('S3', 'no list', `${passing.daemon} watches ${passing.path} behind an answer ${wrong}`);
  }
}

function wrongWith(resource: string, text: string): string | undefined {
  const { kind, apiVersion } = (kindOfResource as Record<string, { kind: string; apiVersion: string }>)[resource] ?? {};
  if (kind === undefined) return undefined;
  let list: { kind?: unknown; apiVersion?: unknown; items?: unknown; metadata?: { resourceVersion?: unknown } } | null;
  try {
    list = JSON.parse(text) as typeof list;
  } catch {
    return 'that is no JSON';
  }
  if (list?.kind !== `${kind}List` || list.apiVersion !== apiVersion) return `of kind ${String(list?.kind)}`;
  if (!Array.isArray(list.items)) return 'without items';
  return typeof list.metadata?.resourceVersion === 'string' ? undefined : 'without a version';
}
