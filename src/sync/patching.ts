// Patches between looking and deciding: facts in, facts out, with the draft patched or the reason why it must not be used.
import type { Patcher } from './patch/patcher.ts';
import type { Patching } from './reconcile.ts';
import type { World } from './world.ts';

export function createPatching(patcher: Patcher, world: World): Patching {
  return {
    async forward(facts) {
      const { draft, virtual, host } = facts;
      if (draft === undefined || virtual === undefined) return facts;
      const { translation, policy } = world.rules;
      const patched = await patcher.forward({ virtual, host, draft, translation });
      if (patched.kind === 'failed') return { ...facts, patchFailure: patched.failure };
      // What is published is judged, not what the tenant wrote.
      return {
        ...facts,
        draft: patched.draft,
        refusals: policy.refusals(translation.kind.addressesOf(patched.draft.payload)),
      };
    },
    async back(facts, raw) {
      const { virtual, host } = facts;
      if (virtual === undefined || host === undefined) return facts;
      const reversed = await patcher.back({ virtual, host, translation: world.rules.translation, raw });
      if (reversed.kind === 'failed') return { ...facts, patchFailure: reversed.failure };
      return { ...facts, reversed: reversed.values };
    },
  };
}
