// A fault of a schedule as data: which recipe, where it strikes, and how hard.
import type { RigSide } from '../stage/rig-cluster.ts';

export type FaultVerb = 'list' | 'watch' | 'create' | 'update' | 'delete' | 'lease';
export const faultVerbs: readonly FaultVerb[] = ['list', 'watch', 'create', 'update', 'delete', 'lease'];

export interface PlacedFault {
  /** `F16`: the number in the list of fault classes. */
  class: string;
  /** The name of the recipe. */
  recipe: string;
  side: RigSide;
  verb: FaultVerb;
  /** The how-manieth request of that verb on that side it strikes, counted from the start of the daemon. */
  nth: number;
  /** Only requests that name such an object count, until the last chance of faults. */
  about?: string;
  /** How many in a row. */
  times: number;
  /** How long a lasting fault lasts. */
  ms: number;
  /** What the recipe measures by it: events, revisions, bytes. */
  size: number;
}
