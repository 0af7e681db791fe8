// The patches that a pass runs, grouped by the calls of the sandbox that they share, and the parts of the two objects that
// their expressions see. Pure.

import type { EvaluationRequest } from '../../../expression/evaluate/request.ts';
import { useOf } from '../../../expression/language/context-use.ts';
import type { ForwardInput, PatcherOptions } from '../entry/pass.ts';
import { runsOf } from '../entry/runs.ts';
import type { CompiledPatch } from '../set/patch-set.ts';
import { hostObjectOf, virtualObjectOf } from '../set/view.ts';

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
