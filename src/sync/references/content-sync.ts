// Keeps the content of one kind where references need it, with a queue of its own, the writers of sync, and a plan that
// decides. In: windows onto both clusters, and the references in use. Out: copies on the host, imports in the virtual cluster.
// The content may be secret: only names and kinds of objects reach a log, an event or a status.
import type { Clock } from '../../clock.ts';
import type { Answer } from '../../cluster/answer.ts';
import type { Item, Window } from '../../cluster/window/window.ts';
import type { Writer } from '../../cluster/write/writer.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { type Key, keyOf, splitKey } from '../../object/meta/object.ts';
import { WorkQueue } from '../../queue/work-queue.ts';
import type { OwnerState } from '../plan/owner.ts';
import { Contest } from '../world/contest.ts';
import { forbiddenDelayMs } from '../world/forbidden-delay.ts';
import { WriteLog } from '../world/write-log.ts';
import { type HostContent, projectHostContent } from './content-kind.ts';
import { isImport, planContent } from './content-plan.ts';
import type { ContentFacts, ContentOutcome, ContentRequest } from './content-step.ts';
import type { ContentWorld } from './content-world.ts';
import { ListDoubt } from './list-doubt.ts';
import { afterContentAnswer, freshPass, type PassMemory } from './pass-memory.ts';
import type { ReferenceMetrics } from './reference-metrics.ts';
import type { ReferenceRegistry } from './registry.ts';

export interface ContentSyncOptions {
  world: ContentWorld;
  registry: ReferenceRegistry;
  virtualWriter: Writer;
  hostWriter: Writer;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: Metrics;
  series: ReferenceMetrics;
  /** Whether this process may write now. */
  mayWrite: () => boolean;
  owner: () => OwnerState;
  /** The owner may be gone, although the window shows it. */
  doubtOwner: () => void;
  /** Whether a host copy that stayed because its pass failed may still name this place. */
  isMentioned: (hostName: string) => boolean;
  /** A list of the referring objects is in doubt: the content that they referred to stays. */
  isListInDoubt: () => boolean;
  /** Another object stands behind the name now, or no object: every referrer must look again. */
  standingChanged: (key: Key) => void;
  refused: (key: Key, outcome: { reason: string; message: string }) => void;
}

const concurrency = 8;
/** A pass needs more requests only through a bug, or when another client writes constantly; then back-off takes over. */
const requestLimit = 12;
/** No window shows an object in the way that lacks our label, so its end is found by looking again. */
const refusedRetryMs = 10 * 60_000;

export class ContentSync {
  readonly world: ContentWorld;
  readonly queue: WorkQueue;
  readonly outcomes = new Map<Key, ContentOutcome>();
  readonly #options: ContentSyncOptions;
  readonly #contest: Contest;
  readonly #writes: WriteLog;
  readonly #doubt: ListDoubt;
  /** Imports whose host object was read and is gone, with the mark that they carried then. */
  readonly #gone = new Map<Key, string>();
  /** The versions of both sides at which they last agreed. */
  readonly #settledAt = new Map<Key, string>();
  readonly #undecided = new Set<Key>();
  /** Since when the API server has forbidden each write of the key. */
  readonly #forbiddenSinceMs = new Map<Key, number>();
  #unsubscribe: (() => void)[] = [];

  constructor(options: ContentSyncOptions) {
    const { world, clock, random, log, metrics } = options;
    this.#options = options;
    this.world = world;
    this.#contest = new Contest(clock);
    this.#writes = new WriteLog({ log, clock });
    this.queue = new WorkQueue({ name: world.kind.switch, clock, random, log, metrics });
    this.#doubt = new ListDoubt({ world, log, enqueue: (key) => this.queue.add(key) });
  }

  async start(): Promise<void> {
    const windows = this.#windows();
    this.#listen();
    for (const window of windows) window.start();
    await Promise.all(windows.map((window) => window.whenSynced()));
    for (const key of this.world.windows.virtual.keys()) this.world.noteVirtual(key);
    for (const hostKey of this.world.windows.copies.keys()) this.world.noteCopy(hostKey);
    this.#doubt.judgeFirstList();
  }

  /** Called when the first passes over all referrers have begun; before, references are not known yet. */
  work(): void {
    this.enqueueAll();
    this.queue.work(concurrency, (key) => this.#handle(key));
  }

  async stop(withinMs: number): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await this.queue.stop(withinMs);
    this.#writes.flush();
    await Promise.all(this.#windows().map((window) => window.stop()));
  }

  #windows(): Window<Item>[] {
    const { virtual, copies, importable } = this.world.windows;
    return [virtual, copies, importable] as unknown as Window<Item>[];
  }

  /** Keys that had to wait until all references were counted. */
  enqueueUndecided(): void {
    const keys = [...this.#undecided];
    this.#undecided.clear();
    for (const key of keys) this.queue.add(key);
  }

  /** All keys that content is kept for, was kept for, or may be needed for. */
  enqueueAll(): void {
    const { registry } = this.#options;
    for (const key of registry.keysOf(this.world.kind.kind)) this.queue.add(key);
    for (const key of this.world.marked) this.queue.add(key);
    for (const key of this.world.copiedKeys()) this.queue.add(key);
    for (const key of this.world.strayed) this.queue.add(key);
  }

  #listen(): void {
    const { virtual, copies, importable } = this.world.windows;
    this.#unsubscribe = [
      virtual.subscribe({
        changed: ({ key, kind, origin }) => {
          this.#doubt.noteChange(key, { isAbsentFromList: kind === 'removed' && origin === 'list' });
          this.world.noteVirtual(key);
          this.#look(key);
        },
        listed: ({ isFirst }) => {
          if (!isFirst) this.#doubt.judge();
        },
      }),
      copies.subscribe({
        changed: ({ key: hostKey, kind }) => {
          const keys = [...this.world.noteCopy(hostKey)];
          const { registry, doubtOwner } = this.#options;
          if (kind === 'removed' && keys.some((key) => registry.isReferenced(this.world.referenceOf(key))))
            doubtOwner();
          for (const key of keys) this.queue.add(key);
        },
      }),
      importable.subscribe({ changed: ({ key: hostKey }) => this.#importableChanged(hostKey) }),
    ];
  }

  #importableChanged(hostKey: Key): void {
    const { name } = splitKey(hostKey);
    const { registry } = this.#options;
    for (const key of new Set([...registry.keysOf(this.world.kind.kind), ...this.world.marked])) {
      if (splitKey(key).name !== name) continue;
      this.#gone.delete(key);
      this.#look(key);
    }
  }

  #look(key: Key): void {
    this.#options.standingChanged(key);
    this.queue.add(key);
  }

  #forbiddenDelayMs(key: Key): number {
    const nowMs = this.#options.clock.now();
    const sinceMs = this.#forbiddenSinceMs.get(key) ?? nowMs;
    this.#forbiddenSinceMs.set(key, sinceMs);
    return forbiddenDelayMs(nowMs - sinceMs);
  }

  async #handle(key: Key): Promise<void> {
    if (!this.#options.mayWrite()) return;
    const outcome = await this.#pass(key);
    const before = this.outcomes.get(key);
    if (outcome.kind !== 'refused' || outcome.reason !== 'Forbidden') this.#forbiddenSinceMs.delete(key);
    if (outcome.kind === 'settled' && outcome.as === 'none') this.#forget(key);
    else this.outcomes.set(key, outcome);
    this.#recordOutcome(key, outcome, before);
  }

  /** Forgets the key: names that a tenant makes up must not fill the memory. */
  #forget(key: Key): void {
    this.outcomes.delete(key);
    this.#settledAt.delete(key);
    this.#contest.forget(key);
    if (!this.world.windows.virtual.has(key)) this.#gone.delete(key);
  }

  async #pass(key: Key): Promise<ContentOutcome> {
    let memory = freshPass();
    for (let requests = 0; requests < requestLimit; requests++) {
      const facts = this.#factsOf(key, memory);
      const step = planContent(facts);
      if (step.kind === 'done') {
        if (step.outcome.kind === 'settled') this.#settledAt.set(key, versionOf(facts));
        if (step.outcome.kind === 'waiting') this.#undecided.add(key);
        return step.outcome;
      }
      const { request } = step;
      const delayMs = this.#brake(facts, request);
      if (delayMs > 0) return { kind: 'waiting', message: 'the host keeps changing the copy', retryAfterMs: delayMs };
      const answer = await this.#ask(request);
      memory = afterContentAnswer(memory, { request, answer, facts });
      if (memory.lost === 'gone' && memory.lostMark !== undefined) this.#gone.set(key, memory.lostMark);
      if (memory.end !== undefined) return memory.end;
      if (memory.mustRead !== undefined) {
        const unmarked = await this.#readAgain(facts, memory.mustRead);
        memory = { ...memory, mustRead: undefined, unmarked };
      }
      this.#options.standingChanged(key);
    }
    return { kind: 'retry' };
  }

  #factsOf(key: Key, memory: PassMemory): ContentFacts {
    const { registry, owner, isListInDoubt, isMentioned } = this.#options;
    const { world } = this;
    const { translation } = world.rules;
    const seen = world.windows.virtual.get(key);
    // The answer counts until something newer is seen.
    const virtual = seen !== undefined && seen.resourceVersion === memory.read?.resourceVersion ? memory.read : seen;
    const copyPlace = world.copyPlaceOf(key);
    const importPlace = world.importPlaceOf(key);
    const copyKey = copyPlace && keyOf(copyPlace.namespace, copyPlace.name);
    const isKnownGone = virtual?.importedFrom !== undefined && this.#gone.get(key) === virtual.importedFrom;
    // The tenant may have created another object in its place since.
    const lost = virtual?.importedFrom === memory.lostMark ? memory.lost : 'unknown';
    const mayRemove =
      registry.isComplete &&
      !isListInDoubt() &&
      !this.#doubt.isWithheld(key) &&
      !(copyPlace !== undefined && isMentioned(copyPlace.name));
    return {
      key,
      kind: world.kind,
      placement: translation.placement,
      labels: translation.labels,
      virtual,
      copyPlace,
      copy: copyKey === undefined ? undefined : (world.windows.copies.get(copyKey) ?? memory.unmarked),
      stray: world.strayOf(key),
      importPlace,
      importable: world.importableAt(importPlace),
      lost: isKnownGone ? 'gone' : lost,
      isReferenced: registry.isReferenced(world.referenceOf(key)),
      mayRemove,
      isExported: world.isExported,
      owner: owner(),
    };
  }

  /** Slows down writes that keep undoing another writer's changes of a copy. */
  #brake(facts: ContentFacts, request: ContentRequest): number {
    if (request.verb === 'get' || this.#settledAt.get(facts.key) !== versionOf(facts)) return 0;
    const delayMs = this.#contest.delayBeforeRepair(facts.key);
    if (delayMs === 0) this.#contest.noteRepair(facts.key, undefined);
    return delayMs;
  }

  async #send(request: ContentRequest): Promise<Answer> {
    const { resource } = this.world.kind;
    const writer = request.side === 'host' ? this.#options.hostWriter : this.#options.virtualWriter;
    switch (request.verb) {
      case 'get':
        return writer.get(resource, request.place);
      case 'create':
        return writer.create(resource, request.object);
      case 'patch':
        return writer.patch(resource, request.place, request.mergePatch);
      case 'remove':
        return writer.remove(resource, request.place, request.preconditions);
      default:
        return request satisfies never;
    }
  }

  /** Sends one request and shows its answer to the window of the object. */
  async #ask(request: ContentRequest): Promise<Answer> {
    const { kind } = this.world;
    const key = keyOf(request.place.namespace, request.place.name);
    const window = this.#windowOf(request);
    const seen = window.get(key)?.resourceVersion;
    const answer = await this.#send(request);
    const isRead = request.verb === 'get';
    const isGone = answer.kind === 'notFound' || (answer.kind === 'forbidden' && answer.namespaceTerminating);
    if (request.side === 'host' && request.verb === 'create' && isGone) this.#options.doubtOwner();
    if (!isRead) this.#options.series.request(kind.kind, `${request.side} ${request.verb}`);
    if (!isRead && answer.kind === 'ok') {
      const fields = { component: 'sync', kind: kind.kind, object: key, request: `${request.side} ${request.verb}` };
      this.#writes.note(fields, 'content written');
    }
    // An object with finalizers stays for a while after its delete.
    const isRemoved = request.verb === 'remove' && answer.kind === 'ok' && !answer.object.metadata?.deletionTimestamp;
    if (isRemoved) window.forget(key, request.preconditions.resourceVersion);
    else this.#tell(window, answer, { key, seen });
    if (request.side === 'virtual') this.world.noteVirtual(key);
    return answer;
  }

  #windowOf({ side, verb }: ContentRequest): Window<Item> {
    const { virtual, copies, importable } = this.world.windows;
    const onHost = verb === 'get' ? importable : copies;
    return (side === 'host' ? onHost : virtual) as unknown as Window<Item>;
  }

  /** "Not found" is true of the object as it was seen before the request: a new one may have come since. */
  #tell(window: Window<Item>, answer: Answer, { key, seen }: { key: Key; seen: string | undefined }): void {
    if (answer.kind === 'ok') window.remember(answer.object);
    if (answer.kind === 'notFound' && seen !== undefined) window.forget(key, seen);
  }

  /** After a conflict: reads the object, because its window may be late, or may not show it for lack of its label. */
  async #readAgain(facts: ContentFacts, side: 'host' | 'virtual'): Promise<HostContent | undefined> {
    const { virtual, copies } = this.world.windows;
    const place = side === 'host' ? facts.copyPlace : splitKey(facts.key);
    if (place === undefined) return undefined;
    const key = keyOf(place.namespace, place.name);
    const window = (side === 'host' ? copies : virtual) as unknown as Window<Item>;
    const seen = window.get(key)?.resourceVersion;
    const writer = side === 'host' ? this.#options.hostWriter : this.#options.virtualWriter;
    const answer = await writer.get(this.world.kind.resource, place);
    this.#tell(window, answer, { key, seen });
    if (side === 'virtual') this.world.noteVirtual(facts.key);
    return side === 'host' && answer.kind === 'ok' ? projectHostContent(answer.object) : undefined;
  }

  #recordOutcome(key: Key, outcome: ContentOutcome, before: ContentOutcome | undefined): void {
    switch (outcome.kind) {
      case 'settled':
        this.queue.forget(key);
        break;
      case 'waiting':
        if (outcome.retryAfterMs !== undefined) this.queue.addAfter(key, outcome.retryAfterMs);
        // The owner may have come while the pass was ending.
        if (outcome.isForOwner && this.#options.owner().kind === 'present') this.queue.add(key);
        break;
      case 'refused': {
        this.queue.forget(key);
        this.queue.addAfter(key, outcome.reason === 'Forbidden' ? this.#forbiddenDelayMs(key) : refusedRetryMs);
        const { reason, message } = outcome;
        if (before?.kind !== 'refused' || before.message !== message) {
          const fields = { component: 'sync', kind: this.world.kind.kind, object: key, reason, message };
          this.#options.log.warn(fields, 'content refused');
        }
        if (reason !== 'Forbidden') this.#options.refused(key, { reason, message });
        break;
      }
      case 'retry':
        if (outcome.retryAfterMs !== undefined) this.queue.addAfter(key, outcome.retryAfterMs);
        else this.queue.retry(key);
        break;
      default:
        outcome satisfies never;
    }
  }
}

/** The versions of everything that a copy depends on, without the copy itself. */
function versionOf({ virtual, importable, isReferenced, isExported, owner }: ContentFacts): string {
  // For an import the virtual object is the copy.
  const own = isImport(virtual, importable) ? undefined : virtual?.resourceVersion;
  const versions = [virtual?.uid, own, importable?.uid, importable?.resourceVersion];
  return [...versions, isReferenced, isExported, owner.kind === 'present' ? owner.uid : owner.kind].join(' ');
}
