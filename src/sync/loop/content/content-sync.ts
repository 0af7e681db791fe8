// Keeps the content of one kind where references need it, with a queue of its own, the writers of sync, and a plan that
// decides. In: windows onto both clusters, and the references in use. Out: copies on the host, imports in the virtual cluster.
// The content may be secret: only names and kinds of objects reach a log, an event or a status.
import type { Clock } from '../../../clock.ts';
import type { Item, Window } from '../../../cluster/window/window.ts';
import type { Log } from '../../../log.ts';
import type { Metrics } from '../../../metrics.ts';
import { type Key, splitKey } from '../../../object/meta/object.ts';
import type { QueuePart } from '../../../queue/queue-part.ts';
import type { WorkQueue } from '../../../queue/work-queue.ts';
import { contentDifference, contentWritesFrom, dryRunOutcome } from '../../kinds/content/content-dry-run.ts';
import { planContent } from '../../kinds/content/content-plan.ts';
import type { ContentFacts, ContentOutcome, ContentRequest, ContentStep } from '../../kinds/content/content-step.ts';
import { afterContentAnswer, contested } from '../../kinds/content/pass-memory.ts';
import { Contest } from '../../world/contest.ts';
import { DeleteGuard } from '../../world/doubt/delete-guard.ts';
import { DoubtedList, type ListDoubt } from '../../world/doubt/doubted-list.ts';
import type { LedgerPage } from '../../world/ledger.ts';
import { contentDelayMs, failedByServer } from '../../world/refused-requests.ts';
import { WriteLog } from '../../world/write-log.ts';
import type { SideWriters } from '../pass/send.ts';
import { contentFactsOf, type FactSources, versionOf } from './content-facts.ts';
import { ContentRequests } from './content-requests.ts';
import type { ContentWorld } from './content-world.ts';
import type { ReferenceMetrics } from './reference-metrics.ts';

export interface ContentSyncOptions
  extends SideWriters,
    Pick<FactSources, 'world' | 'registry' | 'owner' | 'isMentioned' | 'isListInDoubt'> {
  queue: WorkQueue;
  ledger: LedgerPage<ContentOutcome>;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: Metrics;
  series: ReferenceMetrics;
  /** Whether this process may write now. */
  mayWrite: () => boolean;
  /** Plans every write, and lists it instead of sending it. */
  isDryRun: boolean;
  /** The owner may be gone, although the window shows it. */
  doubtOwner: () => void;
  /** Another object has the name now, or no object has it: every referrer must look again. */
  standingChanged: (key: Key) => void;
  /** A host object of this name may be imported now: where the host has written the name, it may go back. */
  wakeHeldBack: (name: string) => void;
  refused: (key: Key, outcome: { reason: string; message: string }) => void;
}

const concurrency = 8;
/** A pass needs more requests only through a bug, or when another client writes constantly; then back-off takes over. */
const requestLimit = 12;

export class ContentSync {
  readonly world: ContentWorld;
  readonly queue: QueuePart;
  readonly ledger: LedgerPage<ContentOutcome>;
  readonly #options: ContentSyncOptions;
  readonly #contest: Contest;
  readonly #writes: WriteLog;
  readonly #guard: DeleteGuard<'content'>;
  readonly #list: DoubtedList<'content'>;
  readonly #requests: ContentRequests;
  readonly #sources: FactSources;
  /** Imports whose host object was read and is gone, with the mark that they carried then. */
  readonly #gone = new Map<Key, string>();
  readonly #undecided = new Set<Key>();
  #unsubscribe: (() => void)[] = [];

  constructor(options: ContentSyncOptions) {
    const { world, clock, random, log, metrics } = options;
    this.#options = options;
    this.world = world;
    this.ledger = options.ledger;
    this.#contest = new Contest(clock);
    this.#writes = new WriteLog({ log, clock });
    this.#sources = {
      ...options,
      isWithheld: (key) => this.#guard.isWithheld(key),
      goneMarkOf: (key) => this.#gone.get(key),
    };
    this.queue = options.queue.part({ name: world.kind.switch, random, log, metrics });
    this.#requests = new ContentRequests({ ...options, writes: this.#writes });
    this.#guard = new DeleteGuard<'content'>(clock);
    this.#list = new DoubtedList({
      ...options,
      list: 'content',
      kind: world.kind.kind,
      guard: this.#guard,
      window: world.windows.virtual,
      hasCopy: (key) => world.hasCopy(key),
      copies: () => world.ownKeys.length,
      objectOf: (key) => key,
      released: (key) => this.queue.add(key),
    });
  }

  async start(): Promise<void> {
    const windows = this.#windows();
    this.#listen();
    for (const window of windows) window.start();
    await Promise.all(windows.map((window) => window.whenSynced()));
    for (const key of this.world.windows.virtual.keys()) this.world.noteVirtual(key);
    for (const hostKey of this.world.windows.copies.keys()) this.world.noteCopy(hostKey);
    // There is no earlier list, so the first one is compared with the copies on the host.
    for (const key of this.world.ownKeys) if (!this.world.windows.virtual.has(key)) this.#guard.suspect(key, 'content');
    this.#list.judge();
  }

  /** Called when the first passes over all referrers have begun; before, references are not known yet. */
  work(): void {
    this.enqueueAll();
    this.queue.work(concurrency, (key) => this.#handle(key));
  }

  async stop(withinMs: number): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#list.stop();
    await this.queue.stop(withinMs);
    this.#writes.flush();
    await Promise.all(this.#windows().map((window) => window.stop()));
  }

  /** The list of this kind, when it is in doubt. */
  get listDoubt(): ListDoubt | undefined {
    return this.#list.doubt;
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
    for (const key of this.ledger.known()) this.queue.add(key);
  }

  /** See Sync.hurry(). */
  hurry(): void {
    this.queue.hurry((key) => failedByServer(this.ledger.entry(key)?.outcome));
  }

  #listen(): void {
    const { virtual, copies, importable } = this.world.windows;
    this.#unsubscribe = [
      virtual.subscribe({
        changed: ({ key, kind, origin }) => {
          this.#list.noteChange(key, { isAbsentFromList: kind === 'removed' && origin === 'list' });
          this.world.noteVirtual(key);
          if (kind === 'removed') this.#options.wakeHeldBack(splitKey(key).name);
          this.#look(key);
        },
        listed: ({ isFirst }) => {
          if (!isFirst) this.#list.judge();
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
    const { registry, wakeHeldBack } = this.#options;
    wakeHeldBack(name);
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

  async #handle(key: Key): Promise<void> {
    if (!this.#options.mayWrite() && !this.#options.isDryRun) return;
    this.ledger.setDifferences(key, []);
    const outcome = await this.#pass(key);
    const isNone = outcome.kind === 'settled' && outcome.as === 'none';
    if (isNone) this.#forget(key);
    const before = this.ledger.set(key, isNone ? undefined : outcome, this.#options.clock.now())?.outcome;
    this.#recordOutcome(key, outcome, before);
  }

  /** Forgets the key: names that a tenant makes up must not fill the memory. */
  #forget(key: Key): void {
    this.ledger.forget(key);
    this.#contest.forget(key);
    if (!this.world.windows.virtual.has(key)) this.#gone.delete(key);
  }

  async #pass(key: Key): Promise<ContentOutcome> {
    let memory = await this.#requests.begin(key);
    for (let requests = 0; requests < requestLimit; requests++) {
      if (memory.end !== undefined) return memory.end;
      const areInForce = this.world.untilNewRules();
      const facts = contentFactsOf(key, memory, this.#sources);
      const step = planContent(facts);
      if (this.#options.isDryRun && !isRead(step)) {
        const withheld = this.#withhold(key, step, facts);
        if (withheld !== undefined) return withheld;
      }
      if (step.kind === 'done') {
        if (step.outcome.kind === 'settled') this.ledger.settle(key, versionOf(facts));
        if (step.outcome.kind === 'waiting') this.#undecided.add(key);
        return step.outcome;
      }
      const delayMs = this.#brake(facts, step.request);
      if (delayMs > 0) return contested(delayMs);
      const answer = await this.#requests.ask(step.request, areInForce);
      if (answer.kind === 'notSent' && !areInForce()) continue;
      memory = afterContentAnswer(memory, { request: step.request, answer, facts });
      memory = await this.#requests.readAgain(key, memory);
      if (memory.lost === 'gone' && memory.lostMark !== undefined) this.#gone.set(key, memory.lostMark);
      if (memory.end === undefined) this.#options.standingChanged(key);
    }
    return memory.end ?? { kind: 'retry' };
  }

  /** Undefined when no write is needed. */
  #withhold(key: Key, step: ContentStep, facts: ContentFacts): ContentOutcome | undefined {
    const { kind } = this.world.kind;
    const differences = contentWritesFrom(step, facts).map((write) => contentDifference(write, kind));
    if (differences.length === 0) return undefined;
    this.ledger.setDifferences(key, differences);
    return dryRunOutcome(differences);
  }

  /** Slows down writes that keep undoing another writer's changes of a copy. */
  #brake(facts: ContentFacts, request: ContentRequest): number {
    if (request.verb === 'get' || this.ledger.settledAt(facts.key) !== versionOf(facts)) return 0;
    const delayMs = this.#contest.delayBeforeRepair(facts.key);
    if (delayMs === 0) this.#contest.noteRepair(facts.key, undefined);
    return delayMs;
  }

  #recordOutcome(key: Key, outcome: ContentOutcome, before: ContentOutcome | undefined): void {
    switch (outcome.kind) {
      case 'settled':
        this.queue.forget(key);
        break;
      case 'waiting':
        if (outcome.retryAfterMs !== undefined) this.queue.addAfter(key, outcome.retryAfterMs);
        // The owner may have come while the pass was ending.
        if (outcome.reason === 'OwnerMissing' && this.#options.owner().kind === 'present') this.queue.add(key);
        break;
      case 'refused': {
        this.queue.forget(key);
        const { reason, message } = outcome;
        const nowMs = this.#options.clock.now();
        const refusedForMs = nowMs - (this.ledger.entry(key)?.sinceMs ?? nowMs);
        this.queue.addAfter(key, contentDelayMs(reason, refusedForMs));
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

function isRead(step: ContentStep): boolean {
  return step.kind === 'request' && step.request.verb === 'get';
}
