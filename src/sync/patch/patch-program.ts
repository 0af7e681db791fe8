// The patches that a pass runs, grouped by the calls of the sandbox that they share, and the parts of the two objects that
// their expressions see. Pure.
import { useOf } from '../../expression/context-use.ts';
import type { EvaluationRequest } from '../../expression/request.ts';
import type { ForwardInput, PatcherOptions } from './pass.ts';
import type { CompiledPatch } from './patch-set.ts';
import { runsOf } from './runs.ts';
import { hostObjectOf, virtualObjectOf } from './view.ts';

export interface PatchProgram {
  /** The patches of one run share a call of the sandbox. */
  runs: readonly (readonly CompiledPatch[])[];
  /** Null for an object that no expression names. */
  seenOf(input: ForwardInput): Pick<EvaluationRequest, 'hostObject' | 'virtualObject'>;
}

export function patchProgramOf(
  patches: readonly CompiledPatch[],
  options: Pick<PatcherOptions, 'isOneByOne'>,
): PatchProgram {
  const seesHost = patches.some((patch) => sees(patch, 'hostObject'));
  const seesVirtual = patches.some((patch) => sees(patch, 'virtualObject'));
  return {
    runs: runsOf(patches, options),
    seenOf: ({ host, virtual, translation: { kind } }) => ({
      hostObject: seesHost ? hostObjectOf(host, kind) : null,
      virtualObject: seesVirtual ? virtualObjectOf(virtual, kind) : null,
    }),
  };
}

function sees({ forward }: CompiledPatch, object: 'hostObject' | 'virtualObject'): boolean {
  return forward !== undefined && useOf(forward.context, object) !== undefined;
}
