// The state of one pass of patches over one object, and what all passes share. Types only.
import type { EvaluationError } from '../../../expression/evaluate/evaluation-error.ts';
import type { Evaluator } from '../../../expression/evaluate/evaluator.ts';
import type { Draft, Translation } from '../../plan/draft.ts';
import type { KeyOwner } from '../../plan/keys/merge-keys.ts';
import type { HostItem, VirtualItem } from '../../plan/kind.ts';
import type { PatchFailure } from '../../plan/step.ts';
import type { ReferenceResolver } from '../../references/reference-names.ts';
import type { PatchWrite } from '../set/blamed-patch.ts';
import type { ChangedParts, MapName } from '../set/changed-parts.ts';
import type { GivenUp } from '../set/failure.ts';
import type { Kept } from '../set/keep-last.ts';
import type { PatchDigests } from '../set/patch-digests.ts';
import type { PatchCounts } from '../set/patch-metrics.ts';
import type { PatchSet } from '../set/patch-set.ts';
import type { PatchView } from '../set/view.ts';
import type { FoundReference } from './reference-patch.ts';

export interface ForwardInput {
  virtual: VirtualItem;
  host: HostItem | undefined;
  /** What expressions read as the host object; default `host`. Null = there was none. */
  seenHost?: HostItem | null | undefined;
  draft: Draft;
  translation: Translation;
  /** The result is only looked at: no trace, no write. */
  isTrial?: boolean;
}

export interface PatcherOptions {
  set: PatchSet;
  digests: PatchDigests;
  evaluator: Evaluator;
  counts: PatchCounts;
  /** Translates the names of other objects. */
  references: ReferenceResolver;
  /** `file:line:column` of an entry's member, for messages. */
  sourceOf: (patch: number, field: 'expression' | 'reverseExpression' | 'path') => string | undefined;
  trace?: Trace;
  /** One call of the sandbox for each patch, so that each can be timed. */
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
  /** What went wrong, and where in the text of the expression, if that is known. */
  failed?: Pick<EvaluationError, 'kind' | 'position'>;
  /** The failure ends the pass, so that no later patch is tried. */
  endsPass?: boolean;
}

export type Trace = (entry: TraceEntry) => void;

export interface Pass extends ForwardInput {
  view: PatchView;
  /** Parts that differ from the draft. */
  changedParts: ChangedParts;
  /** Parts where the host keeps its value because a patch failed. Undefined in most passes. */
  kept: Kept | undefined;
  /** Keys that patches of whole maps changed, and the owner that follows from it. */
  wholeOwners: Record<MapName, Map<string, KeyOwner>> | undefined;
  references: FoundReference[];
  /** In the order of the list: needed to find the patch that made an invalid result. */
  writes: PatchWrite[];
  /** What made the result of an earlier try invalid; its onError lets the object go on. */
  givenUp: GivenUp;
  trace: Trace | undefined;
  /** The first patch that failed and, by its onError, does not fail its object. */
  lapse: PatchFailure | undefined;
}
