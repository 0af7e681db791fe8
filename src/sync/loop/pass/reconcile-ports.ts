// What a pass uses of the rest of sync. Before a write it applies the dry run, the limit for contested objects and the hold
// of back-flow; after an answered write it updates metrics, log and ledger. The rules of sync itself are in decide.ts.

import type { Clock } from '../../../clock.ts';
import type { Answer } from '../../../cluster/answer.ts';
import type { Writer } from '../../../cluster/write/writer.ts';
import type { Log } from '../../../log.ts';
import type { Key, KubeObject } from '../../../object/meta/object.ts';
import { firstFew } from '../../../object/text/in-words.ts';
import type { QueuePart } from '../../../queue/queue-part.ts';
import { takeOverReason } from '../../plan/decide/decide.ts';
import { baseKey } from '../../plan/keys/reserved-keys.ts';
import type { OwnerState } from '../../plan/owner.ts';
import { type Facts, isHostWrite, type Outcome, type PlannedRequest } from '../../plan/step.ts';
import type { Referrers } from '../../references/referrers.ts';
import { type Contest, lostText } from '../../world/contest.ts';
import type { DeleteGuard } from '../../world/doubt/delete-guard.ts';
import type { LedgerPage } from '../../world/ledger.ts';
import type { WriteLog } from '../../world/write-log.ts';
import { BackFlowBrake } from './back-flow-brake.ts';
import { differenceOf, dryRunOutcome } from './dry-run.ts';
import { asSentence, type EventNote } from './event-recorder.ts';
import type { SyncMetrics } from './metrics.ts';
import { OwnEcho } from './own-echo.ts';
import { createPatching } from './patching.ts';
import { type Recent, shownObject } from './recent.ts';
import type { Patching, ReconcilePorts } from './reconcile.ts';
import type { SyncRules, SyncWorld } from './rules.ts';
import { saysNamespaceGone } from './send.ts';
import { StoredAsRequested } from './stored-as-requested.ts';

/** Characters of an owner's uid in a version: enough to tell two successive owners apart. */
const ownerLength = 8;

export interface ReconcilePortsOptions {
  virtualWriter: Writer;
  hostWriter: Writer;
  clock: Clock;
  log: Log;
  isDryRun: boolean;
  /** See EngineOptions. */
  isHostRecent: boolean;
  /** Undefined without references. */
  referrers: Referrers | undefined;
  world: SyncWorld;
  queue: QueuePart;
  guard: DeleteGuard;
  contest: Contest;
  ledger: LedgerPage;
  metrics: SyncMetrics;
  /** The log of ordinary writes. */
  writes: WriteLog;
  recent: Recent;
  /** Rises with every change of the rules, so that the writes it causes do not count as repairs. */
  generation: () => number;
  enqueue: (key: Key) => void;
  noteChanges: () => void;
  tell: (note: EventNote) => void;
  /** The owner in the window may be gone. */
  doubtOwner: () => void;
}

export class SyncPorts implements ReconcilePorts {
  readonly halfDone: ReconcilePorts['halfDone'] = new Map();
  readonly storedAsRequested: StoredAsRequested;
  readonly wake: ReconcilePorts['wake'];
  readonly #options: ReconcilePortsOptions;
  readonly #backFlow: BackFlowBrake;
  /** The host stores payloads in another order than they were sent in. */
  #hostRepacks = false;
  #patchingRules: SyncRules | undefined;
  #ownEcho = new OwnEcho();
  #patching: Patching | undefined;

  constructor(options: ReconcilePortsOptions) {
    this.#options = options;
    this.wake = options.enqueue;
    this.#backFlow = new BackFlowBrake(options);
    this.storedAsRequested = new StoredAsRequested(options.world, options.queue);
  }

  get world(): SyncWorld {
    return this.#options.world;
  }

  get virtualWriter(): Writer {
    return this.#options.virtualWriter;
  }

  get hostWriter(): Writer {
    return this.#options.hostWriter;
  }

  get ownEcho(): OwnEcho {
    return this.#ownEcho;
  }

  /** Opened again whenever the rules change. */
  get patching(): Patching | undefined {
    const { world, queue, referrers } = this.#options;
    const aside = <T>(key: Key, wait: Promise<T>) => queue.aside(key, wait);
    if (world.rules === this.#patchingRules) return this.#patching;
    this.#patchingRules = world.rules;
    this.#ownEcho = new OwnEcho();
    const { patcher } = world.rules;
    const isNeeded = patcher !== undefined || referrers !== undefined;
    this.#patching = isNeeded
      ? createPatching(patcher, world, { referrers, isForSync: true, ownEcho: this.#ownEcho, aside })
      : undefined;
    return this.#patching;
  }

  circumstances(key: Key): ReturnType<ReconcilePorts['circumstances']> {
    return {
      isDeleteWithheld: this.#options.guard.isWithheld(key),
      ignoreOrder: this.#hostRepacks,
      mayRemoveLabelsBack: this.#backFlow.mayRemoveLabels(key),
      backFlowWaitMs: this.#backFlow.waitMs(key),
    };
  }

  mayWrite(facts: Facts, request: PlannedRequest): Outcome | undefined {
    const { world, contest, isDryRun } = this.#options;
    // Patches take time, so the owner may have changed since the look.
    if (isHostCreate(request) && ownerOf(world.ownerState()) !== ownerOf(facts.owner)) {
      return { kind: 'retry', message: 'the owner of the host copies has changed', retryAfterMs: 0 };
    }
    if (isDryRun) return dryRunOutcome([differenceOf(request, world.rules.translation)]);
    if (!this.#undoesHostChange(facts, request)) return undefined;
    const retryAfterMs = contest.delayBeforeRepair(facts.key);
    const message = contest.reasonOf(facts.key);
    return retryAfterMs === 0 ? undefined : { kind: 'waiting', reason: 'Contested', message, retryAfterMs };
  }

  written(
    facts: Facts,
    request: PlannedRequest,
    { answer, isAsRequested, isByRules }: Parameters<ReconcilePorts['written']>[2],
  ): void {
    const { metrics, ledger, doubtOwner, generation } = this.#options;
    metrics.requests.inc({ request: request.side === 'virtual' ? 'virtualPatch' : request.verb });
    if (isHostCreate(request) && saysNamespaceGone(answer)) doubtOwner();
    if (answer.kind !== 'ok') return;
    this.#options.noteChanges();
    this.#logWrite(facts.key, request);
    const { recent, world, clock } = this.#options;
    const { kind } = world.rules.translation;
    const { virtual, host } = facts;
    const was =
      request.side === 'virtual'
        ? virtual && shownObject(virtual, {})
        : host && shownObject(host, kind.payloadOf(host));
    recent.noteWrite({ kind: kind.kind, key: facts.key }, request, { was, atMs: clock.now() });
    if (request.side === 'virtual') {
      this.#backFlow.noteWrite(facts);
      return;
    }
    const version = answer.object.metadata.resourceVersion;
    if (world.rules.patcher?.seesHost) this.#ownEcho.note(facts, request.verb === 'remove' ? undefined : version);
    if (this.#undoesHostChange(facts, request)) this.#noteRepair(facts, lostIn(request, answer.object));
    // From now on, another write for the same virtual version repairs a change on the host: an edit, or a webhook that
    // changes every write of ours.
    if (request.verb !== 'remove' && isByRules) ledger.settle(facts.key, versionOf(facts, generation()));
    if (request.verb === 'patch') metrics.conflicts.inc(request.conflicts);
    if (!isAsRequested && isHostWrite(request)) this.#learnOrder(facts, answer);
  }

  #logWrite(key: Key, request: PlannedRequest): void {
    const touches = request.side === 'host' && request.verb === 'patch' ? shownTouches(request.touches) : undefined;
    this.#options.writes.note(
      {
        component: 'sync',
        kind: this.#options.world.rules.translation.kind.kind,
        key,
        request: `${request.side} ${request.verb}`,
        reason: reasonOf(request),
        isTakeOver: reasonOf(request) === takeOverReason,
        ...(touches !== undefined && { touches }),
      },
      'object',
    );
  }

  /** If the virtual side and the rules are the same as at the last agreement, the host must have changed. */
  #undoesHostChange(facts: Facts, request: PlannedRequest): boolean {
    const { ledger, generation } = this.#options;
    return isHostWrite(request) && ledger.settledAt(facts.key) === versionOf(facts, generation());
  }

  #noteRepair({ key, host, virtual }: Facts, lost: string | undefined): void {
    const { metrics, contest, log, tell } = this.#options;
    metrics.repairs.inc();
    const isNews = contest.noteRepair(key, host?.lastManager, lost);
    if (!isNews || virtual === undefined) return;
    const by = contest.rivalOf(key);
    log.warn({ component: 'sync', key, manager: by, ...(lost !== undefined && { lost }) }, 'object is contested');
    const why = lost === undefined ? `"${by}" on the host keeps changing the host copy` : asSentence(lostText(lost));
    const message = `${why}; the copy is repaired once a second`;
    tell({ key, uid: virtual.uid, type: 'Warning', reason: 'Contested', message });
  }

  /** If the host stored our own write in another order, the server reorders payloads, and order must be ignored. */
  #learnOrder(facts: Facts, answer: Answer): void {
    const { world, log } = this.#options;
    if (this.#hostRepacks || answer.kind !== 'ok' || facts.draft === undefined) return;
    const { kind } = world.rules.translation;
    const stored = world.hostOf(facts.draft.place);
    if (stored === undefined || stored.resourceVersion !== answer.object.metadata.resourceVersion) return;
    this.#hostRepacks = kind.isSameButForOrder(facts.draft.payload, kind.payloadOf(stored));
    if (this.#hostRepacks)
      log.info({ component: 'sync', key: facts.key }, 'host regroups stored payloads, order is ignored from now on');
  }
}

type Texts = Readonly<Record<string, string | null>>;

/** A label or annotation that we have written and that the answer to the write does not have. */
function lostIn(request: PlannedRequest, { metadata }: KubeObject): string | undefined {
  if (!isHostWrite(request)) return undefined;
  const written = (request.verb === 'create' ? request.object : request.mergePatch).metadata;
  return (
    lostKey('label', written.labels, metadata.labels) ??
    lostKey('annotation', written.annotations, metadata.annotations)
  );
}

function lostKey(what: string, written: Texts = {}, stored: Texts = {}): string | undefined {
  const key = Object.keys(written).find((one) => written[one] !== null && stored[one] !== written[one]);
  return key === undefined ? undefined : `${what} ${key}`;
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

/** Names the touched fields for the log. The base is in every write, so it is named only when it is the only change. */
function shownTouches(touches: readonly string[]): string {
  const others = touches.filter((touch) => touch !== `annotation ${baseKey}`);
  return firstFew(others.length > 0 ? others : touches, namedTouches);
}

/** A longer log line would be hard to read. */
const namedTouches = 5;

function reasonOf(request: PlannedRequest): string {
  return request.verb === 'get' ? '' : request.reason;
}
