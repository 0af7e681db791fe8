// Plans how a list of patches runs: which patches share a call of the sandbox, and which of the two objects their expressions
// read. Pure.

import type { EvaluationRequest } from '../../../expression/evaluate/request.ts';
import { useOf } from '../../../expression/language/context-use.ts';
import type { ForwardInput, PatcherOptions } from '../entry/pass.ts';
import { runsOf } from '../entry/runs.ts';
import type { CompiledPatch } from '../set/patch-set.ts';
import { hostObjectOf, virtualObjectOf } from '../set/view.ts';

export interface PatchProgram {
  /** The patches of one run share a call of the sandbox. */
  runs: readonly (readonly CompiledPatch[])[];
  /** Some expression reads the host object. */
  seesHost: boolean;
  /** An object that no expression reads is null, so that its changes do not cost an evaluation. */
  seenOf(input: ForwardInput): Pick<EvaluationRequest, 'hostObject' | 'virtualObject' | 'isKnown'>;
}

export function patchProgramOf(
  patches: readonly CompiledPatch[],
  options: Pick<PatcherOptions, 'isOneByOne'>,
): PatchProgram {
  const seesHost = patches.some((patch) => sees(patch, 'hostObject'));
  const seesVirtual = patches.some((patch) => sees(patch, 'virtualObject'));
  return {
    runs: runsOf(patches, options),
    seesHost,
    seenOf: ({ host, seenHost = host ?? null, virtual, translation: { kind } }) => ({
      hostObject: seesHost && seenHost !== null ? hostObjectOf(seenHost, kind) : null,
      virtualObject: seesVirtual ? virtualObjectOf(virtual, kind) : null,
      // What is on the host has been through its patches.
      isKnown: host !== undefined,
    }),
  };
}

function sees({ forward }: CompiledPatch, object: 'hostObject' | 'virtualObject'): boolean {
  return forward !== undefined && useOf(forward.context, object) !== undefined;
}
