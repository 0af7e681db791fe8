// Reports the status of one object: why it is, or is not, on the host. In: a running Sync. Out: plain values for `hostward
// status`, computed with the functions that decide, so that both agree. It must never change anything.
import { type Key, keyOf } from '../../object/meta/object.ts';
import { createPatching } from '../loop/pass/patching.ts';
import type { Sync } from '../loop/sync.ts';
import { createPatchCounts } from '../patch/set/patch-metrics.ts';
import { backflowFailuresIn } from '../plan/backflow.ts';
import { ownerReference } from '../plan/owner.ts';
import { judgeOwnership } from '../plan/ownership.ts';
import type { Facts, Outcome, PatchFailure } from '../plan/step.ts';
import { planUpdate } from '../plan/update-patch.ts';
import { targetOf } from '../references/registry.ts';
import { labelOf } from '../world/ledger.ts';
import { type ProvenTime, provenTime, seconds } from './proven-times.ts';
import { publishedBesideOf } from './published-beside.ts';

export interface ObjectStatus extends ProvenTime {
  object: Key;
  kind?: string;
  state: string;
  message?: string;
  sinceSeconds?: number;
  virtual: string;
  service: string;
  hostObject?: string;
  host: string;
  ownership?: string;
  claimedBy?: Key[];
  contestedBy?: string;
  publishedBeside?: string;
  patchFailure?: PatchFailure;
  /** The objects that its patched fields name, and what is behind each name on the host. */
  references?: { object: string; standing: string }[];
  /** Host values that the virtual object cannot get. */
  backflowFailures?: { map: string; key: string; message: string }[];
  keys?: { map: string; key: string; verdict: string }[];
}

/** One answer about the objects of several kinds with one key; undefined when no kind has any. */
export function joinedStatus(found: readonly (ObjectStatus | undefined)[]): object | undefined {
  const known = found.filter((one) => one !== undefined);
  const present = known.filter(
    ({ virtual, hostObject, host }) => virtual !== 'missing' || (hostObject && host !== 'missing'),
  );
  const [first, ...others] = present.length > 0 ? present : known.slice(0, 1);
  if (first === undefined || others.length === 0) return first;
  return { ...first, ...Object.fromEntries(others.map((one) => [`also${one.kind}`, one])) };
}

/** Undefined when neither side has an object of this name. */
export function objectStatus(sync: Sync, key: Key): ObjectStatus | undefined {
  return statusOf(sync, sync.world.look(key, sync.circumstances(key)));
}

/** The status of an object after running its patches in the sandbox. */
export async function patchedObjectStatus(sync: Sync, key: Key): Promise<ObjectStatus | undefined> {
  return statusOf(sync, await patchedFacts(sync, key));
}

/** Runs the patches as an onlooker, because a person who looks at an object must change no count and set nothing aside. */
export async function patchedFacts(sync: Sync, key: Key, counts = createPatchCounts(undefined, [])): Promise<Facts> {
  const { world } = sync;
  const seen = world.look(key, sync.circumstances(key));
  const { patcher } = world.rules;
  return patcher === undefined ? seen : createPatching(patcher.onlooker(counts), world).forward(seen);
}

/** For an object whose patches have run. */
export function statusOf(sync: Sync, facts: Facts): ObjectStatus | undefined {
  const { world, ledger } = sync;
  const { key } = facts;
  if (facts.virtual === undefined && facts.host === undefined && facts.service === undefined) return undefined;
  const entry = ledger.entry(key);
  const now = sync.options.clock.now();
  const { translation } = world.rules;
  const ownership = facts.host === undefined ? undefined : judgeOwnership(facts.host, key, translation.placement);
  const contestedBy = sync.contest.rivalOf(key);
  const claimants = facts.place === undefined ? [] : world.claims.claimants(facts.place);
  const { verdict } = facts;
  const beside = publishedBesideOf(sync, key);
  const failed = backflowFailuresIn(ledger.backflowFailures.get(key)).map(({ map, key: one, failure }) => ({
    map,
    key: one,
    message: failure.message,
  }));
  const references = (sync.referrers?.of(key) ?? []).map((one) => ({
    object: targetOf(one),
    standing: one.standing,
  }));
  // The ledger has no entry for objects that never existed.
  const nothing = facts.virtual === undefined && verdict.kind === 'ineligible' ? verdict : undefined;
  const unknown = nothing === undefined ? 'pending' : `ineligible/${nothing.reason}`;
  const state =
    entry === undefined
      ? ledger.settledAt(key) === undefined
        ? unknown
        : inSyncLabel({ contestedBy })
      : labelOf(entry.outcome);
  return {
    object: key,
    kind: translation.kind.kind,
    state,
    ...(entry && { message: sentenceOf(entry.outcome), sinceSeconds: seconds(now - entry.sinceMs) }),
    ...(entry === undefined && nothing && { message: nothing.sentence }),
    ...provenTime(sync, key),
    virtual: facts.virtual === undefined ? 'missing' : `resourceVersion ${facts.virtual.resourceVersion}`,
    service: facts.service === undefined ? 'missing' : facts.service.hasSelector ? 'has a selector' : 'no selector',
    ...(facts.place && { hostObject: keyOf(facts.place.namespace, facts.place.name) }),
    host: facts.host === undefined ? 'missing' : `resourceVersion ${facts.host.resourceVersion}`,
    ...(ownership && { ownership: ownership.kind === 'foreign' ? `foreign: ${ownership.why}` : ownership.kind }),
    ...(claimants.length > 1 && { claimedBy: [...claimants] }),
    ...(contestedBy !== undefined && { contestedBy }),
    ...(beside !== undefined && { publishedBeside: beside }),
    ...((facts.patchFailure ?? facts.patchLapse) && { patchFailure: facts.patchFailure ?? facts.patchLapse }),
    ...(references.length > 0 && { references }),
    ...(failed.length > 0 && { backflowFailures: failed }),
    // After a failed patch the draft is unknown, and so is the winning side of each key.
    ...(facts.patchFailure === undefined &&
      facts.virtual &&
      facts.host &&
      facts.draft &&
      ownership?.kind === 'ours' && { keys: keyVerdicts(sync, facts) }),
  };
}

/** The winning side of each label and annotation, computed by the merge that the next pass will make. */
function keyVerdicts(sync: Sync, facts: Facts): { map: string; key: string; verdict: string }[] {
  const verdicts: { map: string; key: string; verdict: string }[] = [];
  const { virtual, host, draft } = facts;
  if (virtual === undefined || host === undefined || draft === undefined) return verdicts;
  planUpdate({
    virtual,
    host,
    draft,
    translation: sync.world.rules.translation,
    owner: ownerReference(facts.owner, virtual.hasController === true),
    isTakeOver: false,
    ignoreOrder: facts.ignoreOrder,
    observe: (map, key, verdict) => verdicts.push({ map, key, verdict }),
  });
  return verdicts.sort((a, b) => (`${a.map} ${a.key}` < `${b.map} ${b.key}` ? -1 : 1));
}

/** An object that another client keeps changing is in sync only until its next change. */
export function inSyncLabel({ contestedBy }: { contestedBy: string | undefined }): string {
  return contestedBy === undefined ? 'inSync' : 'inSync/Contested';
}

export function sentenceOf(outcome: Outcome): string {
  if (outcome.kind === 'inSync') return 'in sync';
  return outcome.kind === 'refused' && outcome.detail ? `${outcome.message}: ${outcome.detail}` : outcome.message;
}
