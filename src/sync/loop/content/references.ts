// Joins the parts that handle references: names for patches, a count of references, and one ContentSync for each kind whose
// content may cross. In: functions that open windows when a patch names a kind. Out: names, events on the referring objects,
// content on either side.
import type { Clock } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import type { Metrics } from '../../../metrics.ts';
import { keyOf } from '../../../object/meta/object.ts';
import type { WorkQueue } from '../../../queue/work-queue.ts';
import { type ContentKind, contentKinds } from '../../kinds/content/content-kind.ts';
import { StandingObjects } from '../../references/known-objects.ts';
import {
  type Naming,
  type Reference,
  ReferenceNames,
  type ReferenceStanding,
} from '../../references/reference-names.ts';
import type { ReferencePorts } from '../../references/reference-ports.ts';
import { Referrers } from '../../references/referrers.ts';
import { ReferenceRegistry } from '../../references/registry.ts';
import type { ListDoubt } from '../../world/doubt/doubted-list.ts';
import type { Difference } from '../../world/ledger.ts';
import { ContentSync } from './content-sync.ts';
import { type ContentWindows, ContentWorld } from './content-world.ts';
import { Leftovers, type LeftoversOptions } from './leftovers.ts';
import { contentStatus, createReferenceMetrics, type ReferenceMetrics } from './reference-metrics.ts';
import { gapsOf, troubleWith, unmetIn } from './reference-troubles.ts';

export interface ReferenceSettings {
  naming: Naming;
  /** Kinds that reference patches name and whose content can cross. */
  kinds: ReadonlySet<string>;
  /** The synced kinds whose patches name such kinds, with these. */
  referring: ReadonlyMap<string, ReadonlySet<string>>;
  /** The synced kinds whose patches name anything. */
  referrers: ReadonlySet<string>;
  /** Kinds whose sync to the host is on. */
  exported: ReadonlySet<string>;
}

export interface ReferencesOptions extends Pick<LeftoversOptions, 'findCopies' | 'findImports'> {
  queue: WorkQueue;
  settings: ReferenceSettings;
  openWindows: (kind: ContentKind) => ContentWindows;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: Metrics;
}

export class References {
  readonly names: ReferenceNames;
  readonly registry: ReferenceRegistry;
  readonly #options: ReferencesOptions;
  readonly #series: ReferenceMetrics;
  /** The kinds whose first lists have arrived. */
  readonly #syncs = new Map<string, ContentSync>();
  readonly #opened = new Map<string, { sync: ContentSync; ready: Promise<void> }>();
  readonly #known: StandingObjects;
  /** The kind that started first reports the content of all kinds. */
  #firstKind: string | undefined;
  #ports: ReferencePorts | undefined;
  #settings: ReferenceSettings;
  #leftovers: Leftovers | undefined;
  #stopped: Promise<unknown> | undefined;
  #phase: 'new' | 'open' | 'working' | 'stopped' = 'new';

  constructor(options: ReferencesOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#series = createReferenceMetrics(options.metrics);
    this.registry = new ReferenceRegistry({
      changed: ({ kind, namespace, name }) => this.#syncs.get(kind)?.queue.add(keyOf(namespace, name)),
      completed: () => {
        for (const sync of this.#syncs.values()) sync.enqueueUndecided();
        if ([...this.#settings.referrers].every((kind) => this.registry.hasBegun(kind))) this.#known.counted();
        this.#leftovers?.begin();
      },
    });
    this.#known = new StandingObjects({
      registry: this.registry,
      ports: () => this.#ports,
      contentOf: (kind) => this.#syncs.get(kind)?.world,
    });
    this.names = new ReferenceNames({
      naming: () => this.#settings.naming,
      standingOf: (reference) => this.#standingOf(reference),
      known: this.#known,
    });
    this.registry.expectKinds(new Set(options.settings.referring.keys()));
  }

  /** The part of the objects of one kind that refer. */
  of(kind: string): Referrers {
    return new Referrers(kind, {
      registry: this.registry,
      ports: () => this.#ports,
      contentOf: (reference) => troubleWith(reference, this.#syncs.get(reference.kind)?.ledger),
      unreadOf: (kind) => this.#syncs.get(kind)?.world.unread ?? [],
    });
  }

  /** Called by the engine before it opens a kind. */
  connect(ports: ReferencePorts): void {
    this.#ports = ports;
  }

  /** Resolves when the first lists of the kinds that this kind's own patches name have arrived: it waits for no other. */
  async start(kind: string): Promise<void> {
    this.#firstKind ??= kind;
    this.#known.begin();
    if (this.#phase === 'new') {
      this.#phase = 'open';
      this.#leftovers = this.#openLeftovers();
    }
    await this.#openKinds(this.#settings.referring.get(kind) ?? new Set());
  }

  /** Call it when the sync of a kind has begun with its objects; a later kind only adds to the count. */
  work(): void {
    if (this.#phase !== 'open') return;
    this.#phase = 'working';
    for (const sync of this.#syncs.values()) sync.work();
  }

  async stop(withinMs: number): Promise<void> {
    this.#phase = 'stopped';
    this.#stopped ??= Promise.all([
      this.#leftovers?.stop(),
      ...[...this.#opened.values()].map(({ sync }) => sync.stop(withinMs)),
    ]);
    await this.#stopped;
  }

  /** Takes a new configuration. A kind that no patch names any more keeps its windows until its copies are removed. */
  async take(settings: ReferenceSettings): Promise<void> {
    if (this.#phase === 'open' || this.#phase === 'working') await this.#openKinds(settings.kinds);
    this.#settings = settings;
    this.#known.begin();
    this.registry.expectKinds(new Set(settings.referring.keys()));
    this.enqueueAll();
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
    const ports = this.#connected();
    const { queue, clock, random, log, metrics } = this.#options;
    const world = new ContentWorld({
      kind,
      windows: this.#options.openWindows(kind),
      rules: () => ports.rules(),
      isExported: () => this.#settings.exported.has(kind.kind) && this.#settings.naming === 'generated',
    });
    return new ContentSync({
      ...ports,
      world,
      registry: this.registry,
      queue,
      ledger: ports.ledger.page(kind.kind),
      clock,
      random,
      log,
      metrics,
      series: this.#series,
      isMentioned: (text) => this.#isMentioned(text),
      standingChanged: (key) => this.#standingChanged(world.referenceOf(key)),
      refused: (key, note) => {
        for (const referrer of this.registry.referrersOf(world.referenceOf(key))) ports.tell(referrer, note);
      },
    });
  }

  #connected(): ReferencePorts {
    if (this.#ports === undefined) throw new Error('content was opened before a kind that refers');
    return this.#ports;
  }

  #openLeftovers(): Leftovers {
    const ports = this.#connected();
    const { findCopies, findImports, clock, log } = this.#options;
    return new Leftovers({
      findCopies,
      findImports,
      hostWriter: ports.hostWriter,
      virtualWriter: ports.virtualWriter,
      placement: () => ports.rules().translation.placement,
      mayWrite: () => ports.mayWrite(),
      isDryRun: ports.isDryRun,
      isNamed: (kind) => this.#opened.has(kind),
      isMentioned: (text) => ports.isListInDoubt() || this.#isMentioned(text),
      clock,
      log,
      series: this.#series,
    });
  }

  #isMentioned(text: string): boolean {
    return [...this.registry.unsure()].some((referrer) => this.#ports?.isMentioned(referrer, text) === true);
  }

  #standingOf(reference: Reference): ReferenceStanding {
    return this.#syncs.get(reference.kind)?.world.standingOf(reference) ?? 'named';
  }

  #standingChanged(reference: Reference): void {
    const standing = this.#standingOf(reference);
    for (const referrer of this.registry.referrersOf(reference)) {
      if (this.registry.standingSaid(referrer, reference) !== standing) this.#ports?.enqueue(referrer);
    }
  }

  /** The content of each kind that crosses. */
  get syncs(): Iterable<ContentSync> {
    return this.#syncs.values();
  }

  /** See Sync.hurry(). */
  hurry(): void {
    for (const sync of this.#syncs.values()) sync.hurry();
  }

  enqueueAll(): void {
    for (const sync of this.#syncs.values()) sync.enqueueAll();
  }

  setGauges({ isCounted }: { isCounted: boolean }): void {
    for (const [kind, { ledger, world }] of this.#syncs)
      this.#series.objects(kind, isCounted ? { ledger, nothings: unmetIn(this.registry, world) } : 'none');
    const withheld = Map.groupBy(this.differences(this.#firstKind), ({ object }) => object.split(' ')[0]);
    for (const { kind } of contentKinds) this.#series.differences(kind, withheld.get(kind)?.length ?? 0);
  }

  /** Undefined when no kind crosses and nothing is known to be left. */
  status(): object | undefined {
    const notes = this.#leftovers?.notes ?? new Map<string, string>();
    if (this.#syncs.size === 0 && notes.size === 0) return undefined;
    const absent = this.registry.absentKinds.join(' and ');
    const kept = absent && { note: `no copy is removed while ${absent}, whose patches name content, is not synced` };
    return Object.fromEntries([
      ...[...this.#syncs].map(([kind, sync]) => [
        kind,
        {
          ...contentStatus(sync.ledger, unmetIn(this.registry, sync.world)),
          ...(sync.listDoubt && { listInDoubt: sync.listDoubt }),
          ...kept,
        },
      ]),
      ...[...notes].filter(([kind]) => !this.#syncs.has(kind)).map(([kind, note]) => [kind, { note }]),
    ]);
  }

  /** The lists of content that are in doubt now. */
  get doubts(): ListDoubt[] {
    return [...this.#syncs.values()].flatMap((sync) => sync.listDoubt ?? []);
  }

  /** Reason → number of references whose content does not cross until somebody acts. */
  get gaps(): ReadonlyMap<string, number> {
    const all = [...this.#syncs.values()];
    return gapsOf(all.map(({ ledger, world }) => ({ ledger, nothings: unmetIn(this.registry, world) })));
  }

  /** Every write of content that a dry run has withheld, by the object that it is for. They belong to no referring kind. */
  *differences(askedBy: string | undefined): Generator<{ object: string; writes: readonly Difference[] }> {
    if (askedBy !== this.#firstKind) return;
    for (const [kind, sync] of this.#syncs)
      for (const [key, writes] of sync.ledger.differences) yield { object: `${kind} ${key}`, writes };
    for (const { kind, side, key } of this.#leftovers?.withheld ?? []) {
      const object = `${kind} ${key}`;
      yield { object, writes: [{ request: `${side} remove`, reason: 'references', touches: [object] }] };
    }
  }

  get isIdle(): boolean {
    return (this.#leftovers?.isIdle ?? true) && [...this.#syncs.values()].every((sync) => sync.queue.isIdle);
  }
}
