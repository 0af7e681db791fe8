// Joins the parts that handle references: names for patches, a count of references, and one ContentSync for each kind whose
// content may cross. In: functions that open windows when a patch names a kind. Out: names, events on the referring objects,
// content on either side.
import type { Clock } from '../../clock.ts';
import type { Writer } from '../../cluster/write/writer.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { type Key, keyOf, splitKey } from '../../object/meta/object.ts';
import { shownKey } from '../plan/excerpt.ts';
import type { OwnerState } from '../plan/owner.ts';
import type { Place } from '../plan/placement.ts';
import type { Facts } from '../plan/step.ts';
import type { Difference } from '../world/ledger.ts';
import type { Rules } from '../world/world.ts';
import { type ContentKind, contentKinds } from './content-kind.ts';
import { ContentSync } from './content-sync.ts';
import { type ContentWindows, ContentWorld } from './content-world.ts';
import { type FoundCopies, Leftovers } from './leftovers.ts';
import { contentStatus, countsOf, createReferenceMetrics, type ReferenceMetrics } from './reference-metrics.ts';
import { type Naming, type Reference, ReferenceNames, type Standing } from './reference-names.ts';
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

/** What the sync of references uses of the sync of the referring objects. */
export interface ReferencePorts {
  virtualWriter: Writer;
  hostWriter: Writer;
  mayWrite: () => boolean;
  isDryRun: boolean;
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

export class References {
  readonly names: ReferenceNames;
  readonly registry: ReferenceRegistry;
  readonly #options: ReferencesOptions;
  readonly #series: ReferenceMetrics;
  /** The kinds whose first lists have arrived. */
  readonly #syncs = new Map<string, ContentSync>();
  readonly #opened = new Map<string, { sync: ContentSync; ready: Promise<void> }>();
  #settings: ReferenceSettings;
  #ports: ReferencePorts | undefined;
  #leftovers: Leftovers | undefined;
  /** Until every referring object has had a pass under the current rules, names given under earlier rules may appear. */
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

  /** Resolves when the first lists of every named kind have arrived. */
  async start(ports: ReferencePorts): Promise<void> {
    this.#ports = ports;
    this.#phase = 'open';
    this.#leftovers = this.#openLeftovers(ports);
    await this.#openKinds(this.#settings.kinds);
  }

  /** To be called when sync has begun with the referring objects. */
  work(): void {
    this.#phase = 'working';
    for (const sync of this.#syncs.values()) sync.work();
  }

  async stop(withinMs: number): Promise<void> {
    this.#phase = 'stopped';
    await Promise.all([this.#leftovers?.stop(), ...[...this.#opened.values()].map(({ sync }) => sync.stop(withinMs))]);
  }

  /** Takes a new configuration. A kind that no patch names any more keeps its windows until its copies are removed. */
  async take(settings: ReferenceSettings): Promise<void> {
    if (this.#phase === 'open' || this.#phase === 'working') await this.#openKinds(settings.kinds);
    this.#settings = settings;
    this.#lacksNames = true;
    this.enqueueAll();
  }

  /** To be called before a lookup of a name that an earlier process may have given; runs `learn` once. */
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
    const ports = this.#ports as ReferencePorts;
    const { clock, random, log, metrics } = this.#options;
    const world = new ContentWorld({
      kind,
      windows: this.#options.openWindows(kind),
      rules: ports.rules,
      isExported: () => this.#settings.exported.has(kind.kind) && this.#settings.naming === 'generated',
    });
    return new ContentSync({
      world,
      registry: this.registry,
      virtualWriter: ports.virtualWriter,
      hostWriter: ports.hostWriter,
      clock,
      random,
      log,
      metrics,
      series: this.#series,
      mayWrite: ports.mayWrite,
      isDryRun: ports.isDryRun,
      owner: ports.owner,
      doubtOwner: ports.doubtOwner,
      isListInDoubt: ports.isListInDoubt,
      isMentioned: (text) => this.#isMentioned(text),
      standingChanged: (key) => this.#standingChanged(world.referenceOf(key)),
      refused: (key, note) => {
        for (const referrer of this.registry.referrersOf(world.referenceOf(key))) ports.tell(referrer, note);
      },
    });
  }

  #openLeftovers({ hostWriter, mayWrite, isDryRun, rules, isListInDoubt }: ReferencePorts): Leftovers {
    const { findCopies, clock, log } = this.#options;
    return new Leftovers({
      findCopies,
      hostWriter,
      placement: () => rules().translation.placement,
      mayWrite,
      isDryRun,
      isNamed: (kind) => this.#opened.has(kind),
      isMentioned: (text) => isListInDoubt() || this.#isMentioned(text),
      clock,
      log,
      series: this.#series,
    });
  }

  #isMentioned(text: string): boolean {
    return [...this.registry.unsure].some((referrer) => this.#ports?.isMentioned(referrer, text));
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
      if (this.registry.standingSaid(referrer, reference) !== standing) this.#ports?.enqueue(referrer);
    }
  }

  /** See Sync.hurry(). */
  hurry(): void {
    for (const sync of this.#syncs.values()) sync.hurry();
  }

  enqueueAll(): void {
    for (const sync of this.#syncs.values()) sync.enqueueAll();
  }

  expect(referrer: Key): void {
    this.registry.expect(referrer);
  }

  /** All referring objects get a new pass; those that no longer exist are named one by one until `recounted`. */
  recount(referrers: Iterable<Key>): void {
    this.registry.hold();
    for (const key of this.registry.recount(referrers)) this.#ports?.enqueue(key);
    this.enqueueAll();
  }

  recounted(): void {
    this.registry.release();
  }

  /** Records the result of a pass over a referring object. */
  note({ key, isDeleteWithheld, virtual }: Facts, references: readonly CountedReference[]): void {
    // The host copy stays for now, so the content behind its names stays as well.
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
    this.#ports?.tell(key, { reason: 'ReferenceUnresolved', message });
  }

  noteFailed(key: Key, references: readonly CountedReference[]): void {
    this.registry.noteFailed(key, references);
  }

  setGauges(): void {
    for (const [kind, sync] of this.#syncs)
      for (const [state, count] of countsOf(sync.outcomes.values())) this.#series.objects(kind, state, count);
  }

  /** Undefined when no kind crosses and no leftover copy is known. */
  status(): object | undefined {
    const notes = this.#leftovers?.notes ?? new Map<string, string>();
    if (this.#syncs.size === 0 && notes.size === 0) return undefined;
    return Object.fromEntries([
      ...[...this.#syncs].map(([kind, sync]) => [kind, contentStatus(sync.outcomes, this.registry.unresolved(kind))]),
      ...[...notes].filter(([kind]) => !this.#syncs.has(kind)).map(([kind, note]) => [kind, { note }]),
    ]);
  }

  /** Every write of content that a dry run has withheld, by the object that it is for. */
  *differences(): Generator<{ object: string; writes: readonly Difference[] }> {
    for (const [kind, sync] of this.#syncs)
      for (const [key, writes] of sync.differences) yield { object: `${kind} ${key}`, writes };
    for (const { kind, copy } of this.#leftovers?.withheld ?? []) {
      const object = `${kind} ${copy}`;
      yield { object, writes: [{ request: 'host remove', reason: 'references', touches: [object] }] };
    }
  }

  get isIdle(): boolean {
    return (this.#leftovers?.isIdle ?? true) && [...this.#syncs.values()].every((sync) => sync.queue.isIdle);
  }
}
