// Runs the patches between looking and deciding. In: facts. Out: facts with a patched draft, or with the failure that forbids
// to use the draft. It also counts the references of each host copy.

import type { Key } from '../../../object/meta/object.ts';
import type { FoundReference } from '../../patch/entry/reference-patch.ts';
import type { Patched, Patcher } from '../../patch/run/patcher.ts';
import type { Facts } from '../../plan/step.ts';
import type { Referrers } from '../../references/referrers.ts';
import { targetOf } from '../../references/registry.ts';
import type { Rules } from '../../world/sources.ts';
import type { World } from '../../world/world.ts';
import type { OwnEcho } from './own-echo.ts';
import type { Patching } from './reconcile.ts';

/** Without a patcher it only forgets the references that earlier rules have counted. */
export function createPatching(
  patcher: Patcher | undefined,
  world: World,
  options: {
    referrers?: Referrers | undefined;
    /** Whether the verdicts are for the sync itself, and not only for a look at one object. */
    isForSync?: boolean;
    ownEcho?: OwnEcho | undefined;
    /** Wraps a wait for the sandbox; see QueuePart. */
    aside?: <T>(key: Key, wait: Promise<T>) => Promise<T>;
  } = {},
): Patching {
  const { referrers, isForSync = false, ownEcho, aside = (_, wait) => wait } = options;
  const namesAfter = (facts: Facts, { isRefused }: { isRefused: boolean }): Pick<Facts, 'winner' | 'nameClash'> => {
    if (isForSync) world.candidates.noteVerdict(facts.key, isRefused);
    return world.namesAfterPatches(facts);
  };
  const judged = (facts: Facts, patched: Patched, { policy, translation }: Rules): Facts => {
    if (patched.kind === 'failed') {
      referrers?.noteFailed(facts.key, patched.references);
      return { ...facts, ...namesAfter(facts, { isRefused: false }), patchFailure: patched.failure };
    }
    // The policy judges the patched addresses, because those are published.
    const refusals = policy.refusals(translation.kind.addressesOf(patched.draft.payload));
    const after: Facts = {
      ...facts,
      ...namesAfter(facts, { isRefused: refusals.length > 0 }),
      draft: patched.draft,
      refusals,
      patchLapse: patched.lapse,
      ...(patched.references.length > 0 && { resolution: resolutionOf(patched.references) }),
    };
    referrers?.note(after, isForHost(after) ? patched.references : []);
    return after;
  };
  return {
    forward(facts) {
      const { draft, virtual, host } = facts;
      if (draft === undefined || virtual === undefined || patcher === undefined) {
        referrers?.note(facts, []);
        return facts;
      }
      const { rules } = world;
      const seenHost = patcher.seesHost ? ownEcho?.seenBy(facts) : undefined;
      const { translation } = rules;
      const patched = patcher.forward({
        virtual,
        host,
        draft,
        translation,
        ...(seenHost !== undefined && { seenHost }),
      });
      return patched instanceof Promise
        ? aside(facts.key, patched).then((settled) => judged(facts, settled, rules))
        : judged(facts, patched, rules);
    },
    async back(facts, raw) {
      const { virtual, host } = facts;
      if (virtual === undefined || host === undefined || patcher === undefined) return facts;
      const asked = patcher.back({ virtual, host, translation: world.rules.translation, raw });
      const { values, failures, ownerOf } = await aside(facts.key, asked);
      const draft = facts.draft && ownerOf && { ...facts.draft, ownerOf };
      return { ...facts, reversed: values, backflowFailures: failures, ...(draft && { draft }) };
    },
  };
}

/** An object without a host copy has no references on the host. */
function isForHost({ key, refusals, winner }: Facts): boolean {
  return refusals.length === 0 && (winner === undefined || winner === key);
}

function resolutionOf(references: readonly FoundReference[]): string {
  return references.map((one) => `${targetOf(one)}=${one.standing}`).join();
}
