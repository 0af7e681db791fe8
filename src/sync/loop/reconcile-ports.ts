// What stands between a decision and a write: the dry run, the brake for contested objects, the held back-flow; and what is
// noted down once a write was answered. The conductor asks here; the rules themselves are in decide.
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

/** Of an owner's uid: enough to tell two that follow each other. */
const ownerLength = 8;

/** A removed label is believed after this long even if the virtual Services stay silent. */
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
  /** Rises with every change of the rules: a write after it undoes nobody's edit. */
  generation: () => number;
  enqueue: (key: Key) => void;
  news: News;
  tell: (note: EventNote) => void;
  /** The log of ordinary writes. */
  writes: WriteLog;
  /** The owner in the window may be gone. */
  doubtOwner: () => void;
}

export function createReconcilePorts(options: ReconcilePortsOptions): ReconcilePorts {
  const { world, contest, ledger, metrics, clock, log } = options;
  /** Writes to one virtual object: the same brake as for the host, counted apart. */
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

  /** The virtual side and the rules are what they were when the host last agreed: so it is the host that changed. */
  const undoesHostChange = (facts: Facts, request: PlannedRequest): boolean =>
    isHostWrite(request) && ledger.settledAt(facts.key) === versionOf(facts, options.generation());

  const noteRepair = (facts: Facts): void => {
    metrics.repairs.inc();
    const isNews = contest.noteRepair(facts.key, facts.host?.lastManager);
    if (!isNews || facts.virtual === undefined) return;
    const by = facts.host?.lastManager ?? 'somebody on the host';
    log.warn({ component: 'sync', key: facts.key, manager: by }, 'object is contested');
    const message = `The host copy keeps being changed by "${by}"; it is put right once a second`;
    options.tell({ key: facts.key, uid: facts.virtual.uid, type: 'Warning', reason: 'Contested', message });
  };

  /** A host that edits without end, or a tenant who writes over a field that the host owns: one answer a second will do. */
  const noteBackFlow = (facts: Facts): void => {
    if (!backFlow.noteRepair(facts.key, undefined) || facts.virtual === undefined) return;
    log.warn({ component: 'sync', key: facts.key }, 'virtual object is contested');
    const message =
      'Its labels and annotations keep being changed on both sides; the host’s changes arrive once a second';
    options.tell({ key: facts.key, uid: facts.virtual.uid, type: 'Warning', reason: 'Contested', message });
  };

  /** The stored result of our own write in another order: this server repacks, so order says nothing there. */
  const learnOrder = (facts: Facts, answer: Answer): void => {
    if (hostRepacks || answer.kind !== 'ok' || facts.draft === undefined) return;
    const { kind } = world.rules.translation;
    const stored = world.hostOf(facts.draft.place);
    if (stored === undefined || stored.resourceVersion !== answer.object.metadata.resourceVersion) return;
    hostRepacks = kind.isSameButForOrder(facts.draft.payload, kind.payloadOf(stored));
    if (hostRepacks)
      log.info({ component: 'sync', key: facts.key }, 'host repacks endpoints, order is ignored from now on');
  };

  return {
    world,
    get patching() {
      if (world.rules !== patchingRules) {
        patchingRules = world.rules;
        const { patcher } = patchingRules;
        const { references } = options;
        patching =
          patcher || references ? createPatching(patcher, world, { references, wake: options.enqueue }) : undefined;
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
      // Patches take their time, and the owner may have gone since the look.
      if (isHostCreate(request) && ownerOf(world.ownerState()) !== ownerOf(facts.owner)) {
        return { kind: 'retry', message: 'the owner of the host copies has changed', retryAfterMs: 0 };
      }
      if (options.isDryRun) return dryRunOutcome([differenceOf(request, world.rules.translation)]);
      if (!undoesHostChange(facts, request)) return undefined;
      const retryAfterMs = contest.delayBeforeRepair(facts.key);
      const message = 'somebody on the host keeps changing the copy';
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
      // From here on a write for the same version of the virtual side means that somebody changed what we wrote: an edit,
      // or a webhook that never lets our version stand.
      if (request.verb !== 'remove') ledger.settle(facts.key, versionOf(facts, options.generation()));
      if (request.verb === 'patch') metrics.conflicts.inc(request.conflicts);
      if (!isAsRequested && isHostWrite(request)) learnOrder(facts, answer);
    },
  };
}

/**
 * Everything but the host that a host copy depends on. There is one for each key, so it is short and flat: a version tells
 * a recreated object from the one before, and joined text keeps no pieces alive.
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

/** A namespace that goes takes the owner Service with it. */
function saysNamespaceGone(answer: Answer): boolean {
  return answer.kind === 'notFound' || (answer.kind === 'forbidden' && answer.namespaceTerminating);
}

/** Our own bookkeeping goes along with every write and says nothing, unless it is all that there is. */
function shownTouches(touches: readonly string[]): string {
  const others = touches.filter((touch) => touch !== `annotation ${baseKey}`);
  const told = others.length > 0 ? others : touches;
  const more = told.length > namedTouches ? ` and ${told.length - namedTouches} more` : '';
  return `${told.slice(0, namedTouches).join(', ')}${more}`;
}

/** A line of the log is read by people. */
const namedTouches = 5;

function reasonOf(request: PlannedRequest): string {
  return request.verb === 'get' ? '' : request.reason;
}
