// Reports the status of sync as a whole, and of one object: why it is, or is not, on the host. In: a running Sync. Out: plain
// values for `hostward status`. The status of one object is computed with the functions that decide, so that both agree. It
// must never change anything.
import { type Key, keyOf } from '../../object/meta/object.ts';
import { createPatching } from '../loop/patching.ts';
import type { Sync } from '../loop/sync.ts';
import { backflowFailuresIn, backflowMessage } from '../plan/backflow.ts';
import { ownerReference } from '../plan/owner.ts';
import { judgeOwnership } from '../plan/ownership.ts';
import type { Facts, Outcome, PatchFailure, WaitReason } from '../plan/step.ts';
import { planUpdate } from '../plan/update-patch.ts';
import { targetOf } from '../references/count/registry.ts';
import { type Difference, labelOf } from '../world/ledger.ts';
import { besideOf } from './beside.ts';
import { type ProvenCount, type ProvenTime, provenCount, provenTime } from './proven-times.ts';
import type { VerdictFacts } from './verdict.ts';

/** Objects in trouble that one answer lists; the counts are always complete. */
const listLimit = 500;

export interface SyncStatus extends ProvenCount {
  objects: Record<string, number>;
  queue: { waiting: number; running: number; delayed: number; oldestSeconds: number };
  lag: { p50Ms: number; p99Ms: number; samples: number };
  owner: string;
  deletesWithheld: number;
  trouble: { object: Key; state: string; message: string; sinceSeconds?: number }[];
  contested: { object: Key; by: string; sinceSeconds: number }[];
  /** The object is a key, with its kind in front for the content behind a reference. */
  differences?: { object: string; request: string; touches: string }[];
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
    ...provenCount(sync),
    owner:
      owner.kind === 'missing'
        ? `OwnerMissing: ${owner.message}`
        : owner.kind === 'none'
          ? 'not set'
          : `Service "${owner.name}"`,
    deletesWithheld: sync.massDelete.guard.size,
    trouble: troubles(sync, now),
    contested: sync.contest.contested().map(({ key, manager, sinceMs }) => ({
      object: key,
      by: manager ?? 'unknown',
      sinceSeconds: seconds(now - sinceMs),
    })),
    ...(sync.options.isDryRun && {
      differences: differencesOf(sync),
    }),
  };
}

/** The facts of sync for the verdict on the whole daemon. */
export function verdictFacts(
  sync: Sync,
): Pick<VerdictFacts, 'differences' | 'objects' | 'ownerMissing' | 'blocked' | 'waiting' | 'oldestSeconds'> {
  const { ledger, options } = sync;
  const owner = sync.world.ownerState();
  const dirty = ledger.dirty();
  return {
    differences: differenceCount(sync),
    objects: sync.world.windows.virtual.size,
    ownerMissing: owner.kind === 'missing' ? owner.message : waitingObjects(sync, 'OwnerMissing')?.message,
    blocked: blockedObjects(sync),
    waiting: Math.max(dirty.count, sync.queue.waiting),
    oldestSeconds: dirty.oldestMs === undefined ? 0 : (options.clock.now() - dirty.oldestMs) / 1000,
  };
}

/** Counts the objects that wait for one reason, with the message of the first; undefined without such objects. */
export function waitingObjects({ ledger }: Sync, reason: WaitReason): { objects: number; message: string } | undefined {
  const objects = ledger.counts().get(`waiting/${reason}`) ?? 0;
  if (objects === 0) return undefined;
  for (const [, { outcome }] of ledger.entries())
    if (outcome.kind === 'waiting' && outcome.reason === reason) return { objects, message: outcome.message };
  return undefined;
}

/** Whether an object waits for a write, which may have failed before. */
export function areWritesWanted({ ledger, queue }: Sync): boolean {
  const counts = ledger.counts();
  const isWaiting = ['retry', 'waiting', 'refused/Forbidden'].some((name) => (counts.get(name) ?? 0) > 0);
  return isWaiting || queue.running > 0;
}

/** Reasons for waiting that do not end by themselves within seconds. */
const blockingWaits: ReadonlySet<string> = new Set<WaitReason>([
  'OwnerMissing',
  'HostNamespaceMissing',
  'DeleteWithheld',
]);

function blockedObjects({ ledger, contest }: Sync): Map<string, number> {
  const blocked = new Map<string, number>();
  for (const [name, count] of ledger.counts()) {
    const [kind, reason] = name.split('/');
    if (count === 0 || reason === undefined) continue;
    if (kind === 'refused' || (kind === 'waiting' && blockingWaits.has(reason))) blocked.set(reason, count);
  }
  const contested = contest.contested().length;
  if (contested > 0) blocked.set('Contested', contested);
  return blocked;
}

/** One row for each write. A long list is cut; `status --all` shows the writes of every object. */
function differencesOf({ ledger, options }: Sync): NonNullable<SyncStatus['differences']> {
  const rows: NonNullable<SyncStatus['differences']> = [];
  const note = (object: string, writes: readonly Difference[]): void => {
    for (const { request, touches } of writes) rows.push({ object, request, touches: touches.join(', ') });
  };
  for (const [object, writes] of ledger.differences) {
    if (rows.length >= listLimit) break;
    note(object, writes);
  }
  for (const { object, writes } of options.references?.differences() ?? []) {
    if (rows.length >= listLimit) break;
    note(object, writes);
  }
  return rows;
}

/** The number of objects that a dry run would write, the content behind references included. */
export function differenceCount({ ledger, options }: Sync): number {
  return ledger.differences.size + [...(options.references?.differences() ?? [])].length;
}

/** Virtual objects by state. */
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
  /** The objects that its patched fields name, and what stands behind each name on the host. */
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
  const beside = besideOf(sync, key);
  const failed = backflowFailuresIn(ledger.backflowFailures.get(key)).map(({ map, key: one, failure }) => ({
    map,
    key: one,
    message: failure.message,
  }));
  const references = (sync.options.references?.referencesOf(key) ?? []).map((one) => ({
    object: targetOf(one),
    standing: one.standing,
  }));
  // The ledger has no entry for objects that never existed.
  const nothing = facts.virtual === undefined && verdict.kind === 'ineligible' ? verdict : undefined;
  const unknown = nothing === undefined ? 'pending' : `ineligible/${nothing.reason}`;
  const state =
    entry === undefined ? (ledger.settledAt(key) === undefined ? unknown : 'inSync') : labelOf(entry.outcome);
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
    ...(contested && { contestedBy: contested.manager ?? 'unknown' }),
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

export function sentenceOf(outcome: Outcome): string {
  if (outcome.kind === 'inSync') return 'in sync';
  return outcome.kind === 'refused' && outcome.detail ? `${outcome.message}: ${outcome.detail}` : outcome.message;
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10;
}
