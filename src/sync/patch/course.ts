// The patches that a pass runs, ready to be run: the short way through all of them, the calls of the sandbox that they share on
// the long one, and what they see of the two objects. Pure.
import { useOf } from '../../expression/context-use.ts';
import type { EvaluationRequest } from '../../expression/request.ts';
import type { ForwardInput, PatcherOptions } from './pass.ts';
import type { CompiledPatch } from './patch-set.ts';
import { runsOf } from './runs.ts';
import { type ShortWay, shortWayOf } from './short-way.ts';
import { hostObjectOf, virtualObjectOf } from './view.ts';

export interface Course {
  /** By the call of the sandbox that they share. */
  runs: readonly (readonly CompiledPatch[])[];
  /** Undefined where one of them needs more, or somebody watches, who wants to see each place. */
  shortWay: ShortWay | undefined;
  seenOf(input: ForwardInput): Pick<EvaluationRequest, 'hostObject' | 'virtualObject'>;
}

export function courseOf(
  patches: readonly CompiledPatch[],
  options: Pick<PatcherOptions, 'evaluator' | 'counts' | 'trace' | 'isOneByOne'>,
): Course {
  const { evaluator, counts, trace, isOneByOne } = options;
  const seesHost = patches.some((patch) => sees(patch, 'hostObject'));
  const seesVirtual = patches.some((patch) => sees(patch, 'virtualObject'));
  const seenOf: Course['seenOf'] = ({ host, virtual, translation: { kind } }) => ({
    hostObject: seesHost ? hostObjectOf(host, kind) : null,
    virtualObject: seesVirtual ? virtualObjectOf(virtual, kind) : null,
  });
  const shortcuts = trace === undefined && !isOneByOne ? evaluator.shortcuts : undefined;
  return { runs: runsOf(patches, options), shortWay: shortWayOf(patches, { shortcuts, counts, seenOf }), seenOf };
}

function sees({ forward }: CompiledPatch, object: 'hostObject' | 'virtualObject'): boolean {
  return forward !== undefined && useOf(forward.context, object) !== undefined;
}
