// What one pass of patches over one object works with, and what every pass shares. Types only.
import type { Evaluator } from '../../../expression/evaluate/evaluator.ts';
import type { Draft, Translation } from '../../plan/draft.ts';
import type { HostItem, VirtualItem } from '../../plan/kind.ts';
import type { KeyOwner } from '../../plan/merge-keys.ts';
import type { PatchFailure } from '../../plan/step.ts';
import type { ReferenceResolver } from '../../references/names.ts';
import type { PatchWrite } from '../set/blamed-patch.ts';
import type { ChangedParts, MapName } from '../set/changed-parts.ts';
import type { Kept } from '../set/keep-last.ts';
import type { PatchCounts } from '../set/patch-metrics.ts';
import type { CompiledPatch, PatchSet } from '../set/patch-set.ts';
import type { PatchView } from '../set/view.ts';
import type { FoundReference } from './reference-patch.ts';

export interface ForwardInput {
  virtual: VirtualItem;
  host: HostItem | undefined;
  draft: Draft;
  translation: Translation;
  /** Nobody is to see what was made of it. */
  isTrial?: boolean;
}

export interface PatcherOptions {
  set: PatchSet;
  /** That of the set unless given. */
  digest?: string;
  evaluator: Evaluator;
  counts: PatchCounts;
  /** What other objects are called on the other side. */
  references: ReferenceResolver;
  /** `file:line:column` of an entry's member, for messages. */
  sourceOf: (patch: number, field: 'expression' | 'reverseExpression' | 'path') => string | undefined;
  trace?: Trace;
  /** One call of the sandbox for each patch, so that its time can be told. */
  isOneByOne?: boolean;
}

/** What a patch did at one place, for `render --explain`; `error` instead of `after` where it failed. */
export interface TraceEntry {
  patch: number;
  path: string;
  at: string;
  before: unknown;
  after: unknown;
  error?: string;
}

export type Trace = (entry: TraceEntry) => void;

export interface Pass extends ForwardInput {
  view: PatchView;
  /** What is not as in the draft any more. */
  changedParts: ChangedParts;
  /** What failed patches leave to the host; most passes have none. */
  kept: Kept | undefined;
  /** Keys that patches of whole maps changed, and whose that makes them. */
  wholeOwners: Record<MapName, Map<string, KeyOwner>> | undefined;
  references: FoundReference[];
  /** In the order of the list, for whoever has to be blamed. */
  writes: PatchWrite[];
  /** Patches that made the result of an earlier try invalid, with what was said of it, and whose policy lets it go on. */
  givenUp: ReadonlyMap<CompiledPatch, string>;
  trace: Trace | undefined;
  /** The first patch that failed and, by its policy, does not fail its object. */
  lapse: PatchFailure | undefined;
}
