// The engine of one virtual cluster: keeps the host cluster in step with it. In: the windows and rules of each kind, and what the
// engines of several virtual clusters may share: the queue, the connection to the host, the clock. Out: a Sync for each kind. The
// kinds know of each other only what the engine tells them: it wakes an object when another one changes that the object needs, and
// says what is known of that one. It must never know HTTP, a file, or which kinds there are.
import { permittedWriter } from '../../cluster/write/permitted-writer.ts';
import type { Key } from '../../object/meta/object.ts';
import type { ObjectRef } from '../plan/kind.ts';
import type { ReferencePorts } from '../references/reference-ports.ts';
import type { Withheld } from '../world/doubt/doubted-list.ts';
import { Ledger } from '../world/ledger.ts';
import { Registry } from '../world/registry.ts';
import { type Standing, standingOf } from '../world/standing.ts';
import { Recent } from './pass/recent.ts';
import { createReferencePorts } from './reference-ports.ts';
import { SelfWakeBrake } from './self-wake-brake.ts';
import { Sync } from './sync.ts';
import type { EngineOptions, KindOptions } from './sync-options.ts';

export class Engine {
  readonly ledger = new Ledger();
  readonly recent = new Recent();
  readonly #options: EngineOptions;
  readonly #syncs = new Map<string, Sync>();
  readonly #registry: Registry;
  readonly #brake: SelfWakeBrake;
  readonly #referencePorts: ReferencePorts;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.#brake = new SelfWakeBrake(options.clock);
    this.#referencePorts = createReferencePorts(options, { ledger: this.ledger, syncs: this.#syncs });
    this.#registry = new Registry({
      standingOf: (object) => this.#standingOf(object),
      lastStandingOf: (object) => this.#lastStandingOf(object),
    });
    this.ledger.subscribe((object) => {
      for (const [kind, sync] of this.#syncs)
        for (const key of this.#registry.needs.madeFrom(kind, object)) sync.wakeFor(key);
    });
  }

  /** The kind is going to be synced: open() or goOnWithout() will be called. */
  await(kind: string): void {
    if (!this.#syncs.has(kind)) this.#registry.await(kind);
  }

  goOnWithout(kind: string): void {
    this.#registry.goOnWithout(kind);
  }

  /** Begins a kind, which works from start() on. */
  open(kind: KindOptions): Sync {
    const { virtualWriter, hostWriter, references } = this.#options;
    references?.connect(this.#referencePorts);
    const sync = new Sync(
      {
        ...this.#options,
        ...kind,
        virtualWriter: permittedWriter(virtualWriter, kind.isLeader),
        hostWriter: permittedWriter(hostWriter, kind.isLeader),
      },
      {
        ledger: this.ledger,
        registry: this.#registry,
        brake: this.#brake,
        begun: () => this.#begun(),
        namedLike: (service) => this.#namedLike(service),
        withheldForOthers: (kind) => this.#withheldForOthers(kind),
        recent: this.recent,
      },
    );
    this.#syncs.set(sync.kind, sync);
    return sync;
  }

  get syncs(): readonly Sync[] {
    return [...this.#syncs.values()];
  }

  /** What does not exist is known only when its kind has begun, and has no outcome that wakes others. */
  #begun(): void {
    for (const sync of this.#syncs.values())
      for (const [key, { outcome }] of sync.ledger.entries())
        if (outcome.kind === 'waiting' && outcome.reason === 'SourcePending') sync.enqueue(key);
  }

  #standingOf(object: ObjectRef): Standing {
    const isDirty = this.#syncs.get(object.kind)?.ledger.isDirty(object.key) ?? false;
    return isDirty ? { kind: 'unknown' } : this.#lastStandingOf(object);
  }

  #lastStandingOf({ kind, key }: ObjectRef): Standing {
    const sync = this.#syncs.get(kind);
    return standingOf(sync?.ledger.outcomeOf(key), { isMissing: sync?.isMissing(key) ?? false });
  }

  #namedLike(service: Key): ObjectRef | undefined {
    const named = this.syncs.find(
      ({ kind, world }) =>
        world.rules.translation.kind.needs === undefined && this.#standingOf({ kind, key: service }).kind === 'fine',
    );
    return named && { kind: named.kind, key: service };
  }

  #withheldForOthers(kind: string): Withheld {
    const others = [...this.#syncs].filter(([other]) => other !== kind).map(([, sync]) => sync);
    return {
      deletes: others.reduce((sum, { massDelete }) => sum + massDelete.guard.size, 0),
      copies: others.reduce((sum, { world }) => sum + world.windows.host.size, 0),
    };
  }

  async stop(withinMs: number): Promise<void> {
    const { virtualWriter, hostWriter } = this.#options;
    const parts = [...this.#syncs.values(), virtualWriter, hostWriter];
    await Promise.all(parts.map((part) => part.stop(withinMs)));
  }
}
