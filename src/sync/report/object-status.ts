// Reports the status of one object: why it is, or is not, on the host. In: a running Sync. Out: plain values for `hostward
// status`, computed with the functions that decide, so that both agree. It must never change anything.
import { refusedRight } from '../../cluster/refused-right.ts';
import { servicesResource } from '../../cluster/wire/scope.ts';
import { type Key, keyOf } from '../../object/meta/object.ts';
import { createPatching } from '../loop/pass/patching.ts';
import type { Sync } from '../loop/sync.ts';
import { createPatchCounts } from '../patch/set/patch-metrics.ts';
import { backflowFailuresIn, backflowMessage } from '../plan/backflow.ts';
import { notNamed } from '../plan/decide/removal.ts';
import { ownerReference } from '../plan/owner.ts';
import { judgeOwnership, type Ownership } from '../plan/ownership.ts';
import type { Facts, Outcome, PatchFailure } from '../plan/step.ts';
import { planUpdate } from '../plan/update-patch.ts';
import type { ReferenceBehind } from '../references/referrers.ts';
import { backflowState, labelOf, lapsedState } from '../world/ledger.ts';
import { type Unread, unreadIn, unreadSentence } from '../world/unread.ts';
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
  /** What cannot be read now, so that this may be what was true before. */
  unread?: string[];
  publishedBeside?: string;
  patchFailure?: PatchFailure;
  /** The objects that its patched fields name, and what is behind each name on the host. */
  references?: ReferenceBehind[];
  /** Host values that the virtual object cannot get. */
  backflowFailures?: { map: string; key: string; message: string }[];
  keys?: { map: string; key: string; verdict: string }[];
}

/** One answer about the objects of several kinds with one key, and the content of that name; undefined when no kind has any. */
export function joinedStatus(
  found: readonly (ObjectStatus | undefined)[],
  contents: readonly { kind: string }[] = [],
): object | undefined {
  const known = found.filter((one) => one !== undefined);
  const present = known.filter(
    ({ virtual, hostObject, host }) => virtual !== 'missing' || (hostObject && host !== 'missing'),
  );
  const told = [...present, ...contents];
  const [first, ...others] = told.length > 0 ? told : known.slice(0, 1);
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
  return patcher === undefined
    ? seen
    : createPatching(patcher.onlooker(counts), world, { ownEcho: sync.ports.ownEcho }).forward(seen);
}

/** For an object whose patches have run. */
export function statusOf(sync: Sync, facts: Facts): ObjectStatus | undefined {
  const { world, ledger } = sync;
  const { key } = facts;
  if (facts.virtual === undefined && facts.host === undefined && facts.service === undefined) return undefined;
  const now = sync.options.clock.now();
  const { translation } = world.rules;
  const ownership = facts.host === undefined ? undefined : judgeOwnership(facts.host, key, translation.placement);
  const contestedBy = sync.contest.rivalOf(key);
  const claimants = facts.place === undefined ? [] : world.claims.claimants(facts.place);
  const { verdict } = facts;
  const beside = publishedBesideOf(sync, key);
  const unread = [...new Set([...unreadOf(sync), ...(sync.referrers?.unread(key) ?? [])].map(unreadSentence))];
  const failed = backflowFailuresIn(ledger.backflowFailures.get(key)).map(({ map, key: one, failure }) => ({
    map,
    key: one,
    message: failure.message,
  }));
  const references = sync.referrers?.behind(key) ?? [];
  // The ledger has no entry for objects that never existed.
  const nothing = facts.virtual === undefined && verdict.kind === 'ineligible' ? verdict : undefined;
  const known = knownState(sync, key);
  // Nor for an object whose copy does not name it, and which was gone before the start.
  const isLeft = ownership?.kind === 'ours' && !ownership.isDeletable;
  const unknown: KnownState | undefined =
    nothing &&
    (isLeft
      ? { state: labelOf(notNamed), message: notNamed.message }
      : { state: `ineligible/${nothing.reason}`, message: nothing.sentence });
  const { state, message, sinceMs } = known.state === 'pending' && unknown !== undefined ? unknown : known;
  return {
    object: key,
    kind: translation.kind.kind,
    state,
    ...(message !== undefined && { message }),
    ...(sinceMs !== undefined && { sinceSeconds: seconds(now - sinceMs) }),
    ...provenTime(sync, key),
    virtual: facts.virtual === undefined ? 'missing' : `resourceVersion ${facts.virtual.resourceVersion}`,
    service: facts.service === undefined ? 'missing' : facts.service.hasSelector ? 'has a selector' : 'no selector',
    ...(facts.place && { hostObject: keyOf(facts.place.namespace, facts.place.name) }),
    host: facts.host === undefined ? 'missing' : `resourceVersion ${facts.host.resourceVersion}`,
    ...(ownership && { ownership: ownershipText(ownership) }),
    ...(claimants.length > 1 && { claimedBy: [...claimants] }),
    ...(contestedBy !== undefined && { contestedBy }),
    ...(unread.length > 0 && { unread }),
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

function ownershipText(ownership: Ownership): string {
  switch (ownership.kind) {
    case 'foreign':
      return `foreign: ${ownership.why}`;
    case 'oursForOther':
      return `oursForOther: ${ownership.key}`;
    default:
      return ownership.kind;
  }
}

/** Of the objects of this kind, and of what decides about them. */
export function unreadOf({ world }: Sync): Unread[] {
  const { virtual, services, host, hostServices, owner } = world.windows;
  const { resource } = world.rules.translation.kind.resource;
  const [objects, all] = [{ resource }, { resource: servicesResource.resource }];
  return unreadIn([
    { cluster: 'virtual', ...objects, window: virtual },
    { cluster: 'virtual', ...all, window: services },
    { cluster: 'host', ...objects, window: host },
    { cluster: 'host', ...all, window: hostServices },
    { cluster: 'host', ...all, window: owner },
  ]);
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

interface KnownState {
  /** The kind of the outcome, with its reason after a slash. What is in sync and not whole has a reason too. */
  state: string;
  message?: string;
  sinceMs?: number;
}

/** What the last pass found, and what has become of it; runs nothing, so that a list can ask for each of its objects. */
export function knownState({ ledger, contest, referrers, options }: Sync, key: Key): KnownState {
  const leader = options.standbyBehind?.();
  // What this process knows is from before another one began to write, or nothing.
  if (leader !== undefined) return { state: 'left/Standby', message: standbySentence(leader) };
  const entry = ledger.entry(key);
  const leaderless = options.leaderless?.();
  if (entry !== undefined)
    return { state: shownState(entry.outcome), message: sentenceOf(entry.outcome), sinceMs: entry.sinceMs };
  const lapse = ledger.lapses.get(key);
  if (lapse !== undefined) return { state: lapsedState, message: lapse.message };
  const failed = backflowMessage(ledger.backflowFailures.get(key));
  if (failed !== undefined) return { state: backflowState, message: failed };
  const message = leaderless && leaderlessSentence(leaderless);
  if (ledger.settledAt(key) === undefined) return { state: 'pending', ...(message !== undefined && { message }) };
  // Both sides may have changed since they were last equal.
  if (message !== undefined) return { state: leaderlessState, message };
  // In sync only until its next change.
  if (contest.rivalOf(key) !== undefined) return { state: 'inSync/Contested' };
  return referenceTrouble(referrers?.behind(key) ?? []) ?? { state: 'inSync' };
}

/** What the tenant's cluster refuses keeps no copy off the host. */
export function shownState(outcome: Outcome): string {
  return outcome.kind === 'refused' && outcome.isBackFlow ? backflowState : labelOf(outcome);
}

/** The object has the name, and nobody finds behind it what the tenant meant. */
function referenceTrouble(references: readonly ReferenceBehind[]): KnownState | undefined {
  const named = (standing: string) => references.find((one) => one.standing.split('/')[0] === standing);
  const found = named('refused') ?? named('unread') ?? named('unresolved');
  if (found === undefined) return undefined;
  const reason = referenceReasons[found.standing] ?? 'ReferenceRefused';
  return { state: `inSync/${reason}`, message: `${found.object}: ${found.message ?? found.standing}` };
}

const referenceReasons: Readonly<Record<string, string>> = {
  unread: 'ReferenceUnread',
  unresolved: 'ReferenceUnresolved',
};

/** Shown by a replica that does not write. */
export function standbySentence(leader: string): string {
  return `this replica is a standby and sends nothing: ${leader} leads`;
}

/** For whoever looks at a replica that does not write, while nobody is known to write. */
export function leaderlessSentence(why: string): string {
  return `nothing is written: ${why}`;
}

/** Of an object that was in sync while there was a leader. */
export const leaderlessState = 'waiting/Leaderless';

export function sentenceOf(outcome: Outcome): string {
  if (outcome.kind === 'inSync') return 'in sync';
  if (outcome.kind !== 'refused' || !outcome.detail) return outcome.message;
  const right = refusedRight(outcome.detail);
  if (right === undefined) return `${outcome.message}: ${outcome.detail}`;
  // The message says all but the namespace, so the words of the server, which are long, are left out.
  return right.namespace === undefined ? outcome.message : `${outcome.message} in namespace "${right.namespace}"`;
}
