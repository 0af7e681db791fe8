// References as the rest of sync sees them: names for the patches, a count of who refers to what, and one small sync for each
// kind whose content the configuration may move. In: the windows that somebody opens when a kind is named. Out: names, events
// on the objects that refer, content on either side.
import type { Clock } from '../../clock.ts';
import type { Writer } from '../../cluster/writer.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { type Key, keyOf, splitKey } from '../../object/object.ts';
import type { OwnerState } from '../owner.ts';
import { shownKey } from '../patch/excerpt.ts';
import type { Place } from '../placement.ts';
import type { Facts } from '../step.ts';
import type { Rules } from '../world.ts';
import { type ContentKind, contentKinds } from './content-kind.ts';
import type { ContentOutcome } from './content-step.ts';
import { ContentSync } from './content-sync.ts';
import { type ContentWindows, ContentWorld } from './content-world.ts';
import { type FoundCopies, Leftovers } from './leftovers.ts';
import { type Naming, type Reference, ReferenceNames, type Standing } from './names.ts';
import { contentStates, createReferenceMetrics, type ReferenceMetrics } from './reference-metrics.ts';
import { type CountedReference, ReferenceRegistry } from './registry.ts';

export interface ReferenceSettings {
  naming: Naming;
  /** Kinds that reference patches name and whose content can cross. */
  kinds: ReadonlySet<string>;
  /** Kinds whose sync to the host is on. */
  exported: ReadonlySet<string>;
}

export interface ReferencesOptions {
  settings: ReferenceSettings;
  openWindows: (kind: ContentKind) => ContentWindows;
  /** Host objects of a kind that no patch names, with the marker label of this virtual cluster. */
  findCopies: (kind: ContentKind) => Promise<FoundCopies>;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: Metrics;
}

/** What the sync of the objects that refer lends to that of what they refer to. */
export interface ReferenceHost {
  virtualWriter: Writer;
  hostWriter: Writer;
  mayWrite: () => boolean;
  rules: () => Rules;
  owner: () => OwnerState;
  /** The owner may be gone, although the window shows it. */
  doubtOwner: () => void;
  isListInDoubt: () => boolean;
  /** Whether the host copy of this virtual object holds the text. */
  isMentioned: (referrer: Key, text: string) => boolean;
  enqueue: (referrer: Key) => void;
  tell: (referrer: Key, note: { reason: string; message: string }) => void;
}

/** Enough to find the mistake, few enough for one event. */
const namedUnresolved = 3;
/** Content in trouble that status lists; the counts are complete. */
const listLimit = 100;

export class References {
  readonly names: ReferenceNames;
  readonly registry: ReferenceRegistry;
  readonly #options: ReferencesOptions;
  readonly #series: ReferenceMetrics;
  /** Those whose first lists are in. */
  readonly #syncs = new Map<string, ContentSync>();
  readonly #opened = new Map<string, { sync: ContentSync; ready: Promise<void> }>();
  #settings: ReferenceSettings;
  #host: ReferenceHost | undefined;
  #leftovers: Leftovers | undefined;
  /** Until all who refer have had a pass under the rules of now, names may be met that were given by those before. */
  #lacksNames = true;
  #phase: 'new' | 'open' | 'working' | 'stopped' = 'new';

  constructor(options: ReferencesOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#series = createReferenceMetrics(options.metrics);
    this.names = new ReferenceNames({
      naming: () => this.#settings.naming,
      standingOf: (reference) => this.#standingOf(reference),
      copiedAt: (kind, host) => this.#copiedAt(kind, host),
    });
    this.registry = new ReferenceRegistry({
      changed: ({ kind, namespace, name }) => this.#syncs.get(kind)?.queue.add(keyOf(namespace, name)),
      completed: () => {
        for (const sync of this.#syncs.values()) sync.enqueueUndecided();
        this.#lacksNames = false;
        this.#leftovers?.begin();
      },
    });
  }

  /** Resolves when the first lists of every kind that is named are in. */
  async start(host: ReferenceHost): Promise<void> {
    this.#host = host;
    this.#phase = 'open';
    this.#leftovers = this.#openLeftovers(host);
    await this.#openKinds(this.#settings.kinds);
  }

  /** Sync has begun with the objects that refer. */
  work(): void {
    this.#phase = 'working';
    for (const sync of this.#syncs.values()) sync.work();
  }

  async stop(withinMs: number): Promise<void> {
    this.#phase = 'stopped';
    await Promise.all([this.#leftovers?.stop(), ...[...this.#opened.values()].map(({ sync }) => sync.stop(withinMs))]);
  }

  /** A new configuration. A kind that is named no more keeps its windows: what was copied has to be taken back. */
  async take(settings: ReferenceSettings): Promise<void> {
    if (this.#phase === 'open' || this.#phase === 'working') await this.#openKinds(settings.kinds);
    this.#settings = settings;
    this.#lacksNames = true;
    this.enqueueAll();
  }

  /** To be called before a name is looked up that this process may not have given: runs once, and only where it is needed. */
  learnNames(learn: () => void): void {
    if (!this.#lacksNames) return;
    this.#lacksNames = false;
    learn();
  }

  async #openKinds(kinds: ReadonlySet<string>): Promise<void> {
    const wanted = contentKinds.filter(({ kind }) => kinds.has(kind));
    await Promise.all(
      wanted.map((kind) => {
        const opened = this.#opened.get(kind.kind) ?? this.#begin(this.#open(kind));
        this.#opened.set(kind.kind, opened);
        return opened.ready;
      }),
    );
  }

  #begin(sync: ContentSync): { sync: ContentSync; ready: Promise<void> } {
    const ready = sync.start().then(() => {
      this.#syncs.set(sync.world.kind.kind, sync);
      if (this.#phase === 'working') sync.work();
    });
    return { sync, ready };
  }

  #open(kind: ContentKind): ContentSync {
    const host = this.#host as ReferenceHost;
    const { clock, random, log, metrics } = this.#options;
    const world = new ContentWorld({
      kind,
      windows: this.#options.openWindows(kind),
      rules: host.rules,
      isExported: () => this.#settings.exported.has(kind.kind) && this.#settings.naming === 'generated',
    });
    return new ContentSync({
      world,
      registry: this.registry,
      virtualWriter: host.virtualWriter,
      hostWriter: host.hostWriter,
      clock,
      random,
      log,
      metrics,
      series: this.#series,
      mayWrite: host.mayWrite,
      owner: host.owner,
      doubtOwner: host.doubtOwner,
      isListInDoubt: host.isListInDoubt,
      isMentioned: (text) => this.#isMentioned(text),
      standingChanged: (key) => this.#standingChanged(world.referenceOf(key)),
      refused: (key, note) => {
        for (const referrer of this.registry.referrersOf(world.referenceOf(key))) host.tell(referrer, note);
      },
    });
  }

  #openLeftovers({ hostWriter, mayWrite, rules, isListInDoubt }: ReferenceHost): Leftovers {
    const { findCopies, clock, log } = this.#options;
    return new Leftovers({
      findCopies,
      hostWriter,
      placement: () => rules().translation.placement,
      mayWrite,
      isNamed: (kind) => this.#opened.has(kind),
      isMentioned: (text) => isListInDoubt() || this.#isMentioned(text),
      clock,
      log,
      series: this.#series,
    });
  }

  #isMentioned(text: string): boolean {
    return [...this.registry.unsure].some((referrer) => this.#host?.isMentioned(referrer, text));
  }

  #standingOf(reference: Reference): Standing {
    return this.#syncs.get(reference.kind)?.world.standingOf(reference) ?? 'named';
  }

  #copiedAt(kind: string, host: Place): Place | undefined {
    const world = this.#syncs.get(kind)?.world;
    const key = world?.keyOfCopy(keyOf(host.namespace, host.name));
    return key === undefined ? undefined : splitKey(key);
  }

  #standingChanged(reference: Reference): void {
    const standing = this.#standingOf(reference);
    for (const referrer of this.registry.referrersOf(reference)) {
      if (this.registry.standingSaid(referrer, reference) !== standing) this.#host?.enqueue(referrer);
    }
  }

  enqueueAll(): void {
    for (const sync of this.#syncs.values()) sync.enqueueAll();
  }

  expect(referrer: Key): void {
    this.registry.expect(referrer);
  }

  /** Whoever refers will be looked at again, all of them; those whose object is gone are named one by one until `recounted`. */
  recount(referrers: Iterable<Key>): void {
    this.registry.hold();
    for (const key of this.registry.recount(referrers)) this.#host?.enqueue(key);
    this.enqueueAll();
  }

  recounted(): void {
    this.registry.release();
  }

  /** What a pass over an object came to. */
  note({ key, isDeleteWithheld, virtual }: Facts, references: readonly CountedReference[]): void {
    // Its host copy stays for now, so what it refers to stays as well.
    if (virtual === undefined && isDeleteWithheld) return;
    this.registry.note(key, references);
    const unresolved = references.filter(({ standing }) => standing === 'unresolved');
    if (unresolved.length === 0 || virtual === undefined) return;
    const named = unresolved
      .slice(0, namedUnresolved)
      .map(
        ({ kind, namespace, name }) =>
          `${kind} "${shownKey(namespace === virtual.namespace ? name : keyOf(namespace, name))}"`,
      );
    const more = unresolved.length > namedUnresolved ? ` and ${unresolved.length - namedUnresolved} more` : '';
    const message = `Nothing stands behind the reference to ${named.join(', ')}${more}: there is no such object`;
    this.#host?.tell(key, { reason: 'ReferenceUnresolved', message });
  }

  noteFailed(key: Key, references: readonly CountedReference[]): void {
    this.registry.noteFailed(key, references);
  }

  setGauges(): void {
    for (const [kind, sync] of this.#syncs)
      for (const [state, count] of countsOf(sync)) this.#series.objects(kind, state, count);
  }

  /** Undefined when no content is moved, and none is known to be left. */
  status(): object | undefined {
    const notes = this.#leftovers?.notes ?? new Map<string, string>();
    if (this.#syncs.size === 0 && notes.size === 0) return undefined;
    return Object.fromEntries([
      ...[...this.#syncs].map(([kind, sync]) => [kind, statusOf(sync)]),
      ...[...notes].filter(([kind]) => !this.#syncs.has(kind)).map(([kind, note]) => [kind, { note }]),
    ]);
  }

  get isIdle(): boolean {
    return (this.#leftovers?.isIdle ?? true) && [...this.#syncs.values()].every((sync) => sync.queue.isIdle);
  }
}

function statusOf(sync: ContentSync): object {
  const trouble: { object: Key; state: string; message: string }[] = [];
  for (const [object, outcome] of sync.outcomes) {
    const state = stateOf(outcome);
    const message = 'message' in outcome ? outcome.message : undefined;
    if (message !== undefined && trouble.length < listLimit) trouble.push({ object, state, message });
  }
  return { ...Object.fromEntries(countsOf(sync)), trouble };
}

function countsOf(sync: ContentSync): Map<string, number> {
  const counts = new Map(contentStates.map((state) => [state, 0]));
  for (const outcome of sync.outcomes.values()) {
    const state = stateOf(outcome);
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return counts;
}

function stateOf(outcome: ContentOutcome): string {
  return outcome.kind === 'settled' ? outcome.as : outcome.kind;
}
