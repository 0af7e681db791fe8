// What sync can say of itself: the whole at a glance, and of one object why it is, or is not, on the host. Reads only; the
// answer for one object is worked out afresh with the very functions that decide, so that it cannot disagree with them.
import { type Key, keyOf } from '../../object/meta/object.ts';
import { createPatching } from '../loop/patching.ts';
import type { Sync } from '../loop/sync.ts';
import { backflowFailuresIn, backflowMessage } from '../plan/backflow.ts';
import { ownerReference } from '../plan/owner.ts';
import { judgeOwnership } from '../plan/ownership.ts';
import type { Facts, Outcome, PatchFailure } from '../plan/step.ts';
import { planUpdate } from '../plan/update-patch.ts';
import { labelOf } from '../world/ledger.ts';

/** Objects in trouble that are listed; the counts are always complete. */
const listLimit = 500;

export interface SyncStatus {
  objects: Record<string, number>;
  queue: { waiting: number; running: number; delayed: number; oldestSeconds: number };
  lag: { p50Ms: number; p99Ms: number; samples: number };
  owner: string;
  deletesWithheld: number;
  trouble: { object: Key; state: string; message: string; sinceSeconds?: number }[];
  contested: { object: Key; by: string; sinceSeconds: number }[];
  differences?: { object: Key; request: string; touches: string }[];
}

export function syncStatus(sync: Sync): SyncStatus {
  const now = sync.options.clock.now();
  const { ledger, queue } = sync;
  const owner = sync.world.ownerState();
  return {
    objects: objectCounts(sync),
    queue: {
      waiting: queue.waiting,
      running: queue.running,
      delayed: queue.delayed,
      oldestSeconds: queue.oldestMs / 1000,
    },
    lag: ledger.lags(),
    owner:
      owner.kind === 'missing'
        ? `missing: ${owner.message}`
        : owner.kind === 'none'
          ? 'none is set'
          : `Service "${owner.name}"`,
    deletesWithheld: sync.massDelete.guard.size,
    trouble: troubles(sync, now),
    contested: sync.contest.contested().map(({ key, manager, sinceMs }) => ({
      object: key,
      by: manager ?? 'unknown',
      sinceSeconds: seconds(now - sinceMs),
    })),
    ...(sync.options.isDryRun && {
      differences: [...ledger.differences]
        .slice(0, listLimit)
        .map(([object, { request, touches }]) => ({ object, request, touches: touches.join(', ') })),
    }),
  };
}

/** `inSync` is what is left when everything else is counted. */
export function objectCounts(sync: Sync): Record<string, number> {
  const counts = sync.ledger.counts();
  const of = (name: string): number => counts.get(name) ?? 0;
  return {
    virtual: sync.world.windows.virtual.size,
    inSync: sync.ledger.inSync,
    ineligible: of('ineligible'),
    refused: of('refused'),
    waiting: of('waiting'),
    left: of('left'),
    retrying: of('retry'),
  };
}

function troubles(sync: Sync, now: number): SyncStatus['trouble'] {
  const listed: SyncStatus['trouble'] = [];
  for (const [object, { outcome, sinceMs }] of sync.ledger.entries()) {
    if (outcome.kind === 'ineligible' || outcome.kind === 'inSync') continue;
    if (listed.length >= listLimit) break;
    listed.push({
      object,
      state: labelOf(outcome),
      message: sentenceOf(outcome),
      sinceSeconds: seconds(now - sinceMs),
    });
  }
  for (const [object, message] of sync.ledger.lapses) {
    if (listed.length >= listLimit) break;
    if (sync.ledger.entry(object) === undefined) listed.push({ object, state: 'inSync/PatchFailed', message });
  }
  for (const [object, failures] of sync.ledger.backflowFailures) {
    if (listed.length >= listLimit) break;
    const message = backflowMessage(failures);
    if (message !== undefined) listed.push({ object, state: 'inSync/BackflowFailed', message });
  }
  return listed;
}

export interface ObjectStatus {
  object: Key;
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
  patchFailure?: PatchFailure;
  /** Host values that the virtual object cannot get. */
  backflowFailures?: { map: string; key: string; message: string }[];
  keys?: { map: string; key: string; verdict: string }[];
}

/** Undefined when nothing is known of it on either side. */
export function objectStatus(sync: Sync, key: Key): ObjectStatus | undefined {
  return statusOf(sync, sync.world.look(key, sync.circumstances(key)));
}

/** The same with the patches run, which takes the sandbox a moment. */
export async function patchedObjectStatus(sync: Sync, key: Key): Promise<ObjectStatus | undefined> {
  const { world } = sync;
  const seen = world.look(key, sync.circumstances(key));
  const { patcher } = world.rules;
  return statusOf(sync, patcher === undefined ? seen : await createPatching(patcher, world).forward(seen));
}

function statusOf(sync: Sync, facts: Facts): ObjectStatus | undefined {
  const { world, ledger } = sync;
  const { key } = facts;
  if (facts.virtual === undefined && facts.host === undefined && facts.service === undefined) return undefined;
  const entry = ledger.entry(key);
  const now = sync.options.clock.now();
  const { translation } = world.rules;
  const ownership = facts.host === undefined ? undefined : judgeOwnership(facts.host, key, translation.placement);
  const contested = sync.contest.contested().find((view) => view.key === key);
  const claimants = facts.place === undefined ? [] : world.claims.claimants(facts.place);
  const { verdict } = facts;
  const failed = backflowFailuresIn(ledger.backflowFailures.get(key)).map(({ map, key: one, failure }) => ({
    map,
    key: one,
    message: failure.message,
  }));
  // Of what never was on either side nothing is remembered.
  const nothing = facts.virtual === undefined && verdict.kind === 'ineligible' ? verdict : undefined;
  const unknown = nothing === undefined ? 'pending' : `ineligible/${nothing.reason}`;
  const state =
    entry === undefined ? (ledger.settledAt(key) === undefined ? unknown : 'inSync') : labelOf(entry.outcome);
  return {
    object: key,
    state,
    ...(entry && { message: sentenceOf(entry.outcome), sinceSeconds: seconds(now - entry.sinceMs) }),
    ...(entry === undefined && nothing && { message: nothing.sentence }),
    virtual: facts.virtual === undefined ? 'missing' : `resourceVersion ${facts.virtual.resourceVersion}`,
    service: facts.service === undefined ? 'missing' : facts.service.hasSelector ? 'has a selector' : 'no selector',
    ...(facts.place && { hostObject: keyOf(facts.place.namespace, facts.place.name) }),
    host: facts.host === undefined ? 'missing' : `resourceVersion ${facts.host.resourceVersion}`,
    ...(ownership && { ownership: ownership.kind === 'foreign' ? `foreign: ${ownership.why}` : ownership.kind }),
    ...(claimants.length > 1 && { claimedBy: [...claimants] }),
    ...(contested && { contestedBy: contested.manager ?? 'unknown' }),
    ...((facts.patchFailure ?? facts.patchLapse) && { patchFailure: facts.patchFailure ?? facts.patchLapse }),
    ...(failed.length > 0 && { backflowFailures: failed }),
    // Without its patches the draft says nothing about who wins.
    ...(facts.patchFailure === undefined &&
      facts.virtual &&
      facts.host &&
      facts.draft &&
      ownership?.kind === 'ours' && { keys: keyVerdicts(sync, facts) }),
  };
}

/** Who wins each label and annotation now, by the same merge that the next pass would make. */
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

function sentenceOf(outcome: Outcome): string {
  if (outcome.kind === 'inSync') return 'in sync';
  return outcome.kind === 'refused' && outcome.detail ? `${outcome.message}: ${outcome.detail}` : outcome.message;
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10;
}
