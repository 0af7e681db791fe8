// Connects a pass with the rest of sync. Before a write it applies the dry run, the limit for contested objects and the hold
// of back-flow; after an answered write it updates metrics, log and ledger. The rules of sync itself are in decide.ts.
import type { Clock } from '../../clock.ts';
import type { Answer } from '../../cluster/answer.ts';
import type { Writer } from '../../cluster/write/writer.ts';
import type { Log } from '../../log.ts';
import type { Key } from '../../object/meta/object.ts';
import type { OwnerState } from '../plan/owner.ts';
import { baseKey } from '../plan/reserved-keys.ts';
import { type Facts, isHostWrite, type Outcome, type PlannedRequest } from '../plan/step.ts';
import type { References } from '../references/references.ts';
import { Contest } from '../world/contest.ts';
import type { DeleteGuard } from '../world/delete-guard.ts';
import type { Ledger } from '../world/ledger.ts';
import type { WriteLog } from '../world/write-log.ts';
import { differenceOf, dryRunOutcome } from './dry-run.ts';
import type { EventNote } from './event-recorder.ts';
import type { SyncMetrics } from './metrics.ts';
import { createPatching } from './patching.ts';
import type { Patching, ReconcilePorts } from './reconcile.ts';
import type { SyncRules, SyncWorld } from './rules.ts';
import { type News, StoredAsRequested } from './stored-as-requested.ts';

/** Characters of an owner's uid in a version: enough to tell two successive owners apart. */
const ownerLength = 8;

/** A removed label flows back after this time even without news from the virtual Services. */
const backFlowHoldMs = 60_000;

export interface ReconcilePortsOptions {
  world: SyncWorld;
  virtualWriter: Writer;
  hostWriter: Writer;
  guard: DeleteGuard;
  contest: Contest;
  ledger: Ledger;
  metrics: SyncMetrics;
  clock: Clock;
  log: Log;
  isDryRun: boolean;
  isHostRecent: boolean;
  references?: References;
  /** Rises with every change of the rules, so that the writes it causes do not count as repairs. */
  generation: () => number;
  enqueue: (key: Key) => void;
  news: News;
  /** Around a wait for the sandbox, which needs no worker. */
  aside: <T>(key: Key, wait: Promise<T>) => Promise<T>;
  tell: (note: EventNote) => void;
  /** The log of ordinary writes. */
  writes: WriteLog;
  /** The owner in the window may be gone. */
  doubtOwner: () => void;
}

export function createReconcilePorts(options: ReconcilePortsOptions): ReconcilePorts {
  const { world, contest, ledger, metrics, clock, log } = options;
  /** Slows writes to a virtual object, as `contest` slows repairs on the host. */
  const backFlow = new Contest(clock);
  const backFlowSince = new Map<Key, { hostVersion: string; sinceMs: number }>();
  let hostRepacks = false;
  let patchingRules: SyncRules | undefined;
  let patching: Patching | undefined;

  const mayRemoveLabelsBack = (key: Key): boolean => {
    if (options.isHostRecent) return true;
    const place = world.placeOf(key);
    const host = place === undefined ? undefined : world.hostOf(place);
    if (host === undefined) {
      backFlowSince.delete(key);
      return true;
    }
    const now = clock.now();
    const held = backFlowSince.get(key);
    if (held === undefined || held.hostVersion !== host.resourceVersion) {
      backFlowSince.set(key, { hostVersion: host.resourceVersion, sinceMs: now });
      return false;
    }
    return world.windows.services.lastHeardMs > held.sinceMs || now - held.sinceMs >= backFlowHoldMs;
  };

  /** If the virtual side and the rules are the same as at the last agreement, the host must have changed. */
  const undoesHostChange = (facts: Facts, request: PlannedRequest): boolean =>
    isHostWrite(request) && ledger.settledAt(facts.key) === versionOf(facts, options.generation());

  const noteRepair = (facts: Facts): void => {
    metrics.repairs.inc();
    const isNews = contest.noteRepair(facts.key, facts.host?.lastManager);
    if (!isNews || facts.virtual === undefined) return;
    const by = facts.host?.lastManager ?? 'another client';
    log.warn({ component: 'sync', key: facts.key, manager: by }, 'object is contested');
    const message = `"${by}" on the host keeps changing the host copy; the copy is repaired once a second`;
    options.tell({ key: facts.key, uid: facts.virtual.uid, type: 'Warning', reason: 'Contested', message });
  };

  /** Limits back-flow when the host edits without end, or when a tenant overwrites a field that the host owns. */
  const noteBackFlow = (facts: Facts): void => {
    if (!backFlow.noteRepair(facts.key, undefined) || facts.virtual === undefined) return;
    log.warn({ component: 'sync', key: facts.key }, 'virtual object is contested');
    const message = 'Both sides keep changing its labels and annotations; changes of the host arrive once a second';
    options.tell({ key: facts.key, uid: facts.virtual.uid, type: 'Warning', reason: 'Contested', message });
  };

  /** If the host stored our own write in another order, the server reorders payloads, and order must be ignored. */
  const learnOrder = (facts: Facts, answer: Answer): void => {
    if (hostRepacks || answer.kind !== 'ok' || facts.draft === undefined) return;
    const { kind } = world.rules.translation;
    const stored = world.hostOf(facts.draft.place);
    if (stored === undefined || stored.resourceVersion !== answer.object.metadata.resourceVersion) return;
    hostRepacks = kind.isSameButForOrder(facts.draft.payload, kind.payloadOf(stored));
    if (hostRepacks)
      log.info({ component: 'sync', key: facts.key }, 'host repacks what it stores, order is ignored from now on');
  };

  return {
    world,
    get patching() {
      if (world.rules !== patchingRules) {
        patchingRules = world.rules;
        const { patcher } = patchingRules;
        const { references } = options;
        patching =
          patcher || references
            ? createPatching(patcher, world, { references, wake: options.enqueue, aside: options.aside })
            : undefined;
      }
      return patching;
    },
    virtualWriter: options.virtualWriter,
    hostWriter: options.hostWriter,
    storedAsRequested: new StoredAsRequested(world, options.news),
    wake: options.enqueue,
    agreements: new Map(),
    circumstances: (key) => ({
      isDeleteWithheld: options.guard.isWithheld(key),
      ignoreOrder: hostRepacks,
      mayRemoveLabelsBack: mayRemoveLabelsBack(key),
      backFlowWaitMs: backFlow.delayBeforeRepair(key),
    }),
    mayWrite(facts, request): Outcome | undefined {
      // Patches take time, so the owner may have changed since the look.
      if (isHostCreate(request) && ownerOf(world.ownerState()) !== ownerOf(facts.owner)) {
        return { kind: 'retry', message: 'the owner of the host copies has changed', retryAfterMs: 0 };
      }
      if (options.isDryRun) return dryRunOutcome([differenceOf(request, world.rules.translation)]);
      if (!undoesHostChange(facts, request)) return undefined;
      const retryAfterMs = contest.delayBeforeRepair(facts.key);
      const message = 'another client on the host keeps changing the copy';
      return retryAfterMs === 0 ? undefined : { kind: 'waiting', reason: 'Contested', message, retryAfterMs };
    },
    written(facts, request, { answer, isAsRequested }) {
      const name = request.side === 'virtual' ? 'virtualPatch' : request.verb;
      metrics.requests.inc({ request: name });
      if (isHostCreate(request) && saysNamespaceGone(answer)) options.doubtOwner();
      if (answer.kind !== 'ok') return;
      const touches = request.side === 'host' && request.verb === 'patch' ? shownTouches(request.touches) : undefined;
      options.writes.note(
        {
          component: 'sync',
          key: facts.key,
          request: `${request.side} ${request.verb}`,
          reason: reasonOf(request),
          ...(touches !== undefined && { touches }),
        },
        'object written',
      );
      if (request.side === 'virtual') {
        noteBackFlow(facts);
        return;
      }
      if (undoesHostChange(facts, request)) noteRepair(facts);
      // From now on, another write for the same virtual version repairs a change on the host: an edit, or a webhook that
      // changes every write of ours.
      if (request.verb !== 'remove') ledger.settle(facts.key, versionOf(facts, options.generation()));
      if (request.verb === 'patch') metrics.conflicts.inc(request.conflicts);
      if (!isAsRequested && isHostWrite(request)) learnOrder(facts, answer);
    },
  };
}

/**
 * The version of all inputs of a host copy except the host itself. The ledger keeps one for each key, so it is short, and
 * join() makes it a flat string that keeps no other text in memory.
 */
export function versionOf(facts: Facts, generation: number): string {
  const owner = ownerOf(facts.owner);
  const { virtual, resolution = '' } = facts;
  return [virtual?.resourceVersion, owner.slice(0, ownerLength), generation, resolution].join(' ');
}

function ownerOf(owner: OwnerState): string {
  return owner.kind === 'present' ? owner.uid : owner.kind;
}

function isHostCreate(request: PlannedRequest): boolean {
  return request.side === 'host' && request.verb === 'create';
}

/** Whether the answer shows that the namespace is going, and the owner Service with it. */
function saysNamespaceGone(answer: Answer): boolean {
  return answer.kind === 'notFound' || (answer.kind === 'forbidden' && answer.namespaceTerminating);
}

/** Names the touched fields for the log. The base is in every write, so it is named only when it is the only change. */
function shownTouches(touches: readonly string[]): string {
  const others = touches.filter((touch) => touch !== `annotation ${baseKey}`);
  const told = others.length > 0 ? others : touches;
  const more = told.length > namedTouches ? ` and ${told.length - namedTouches} more` : '';
  return `${told.slice(0, namedTouches).join(', ')}${more}`;
}

/** A longer log line would be hard to read. */
const namedTouches = 5;

function reasonOf(request: PlannedRequest): string {
  return request.verb === 'get' ? '' : request.reason;
}
