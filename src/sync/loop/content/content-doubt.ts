// Holds back deletes when a list of virtual Secrets or ConfigMaps lacks most objects: the same caution as for the objects that
// refer to them, for one list.
import type { Clock } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import type { Metrics } from '../../../metrics.ts';
import { type Key, keyOf } from '../../../object/meta/object.ts';
import { isOursFor } from '../../plan/ownership.ts';
import { DeleteGuard, DoubtedList, type ListDoubt } from '../../world/doubt/doubted-list.ts';
import type { ContentWorld } from './content-world.ts';

export interface ContentDoubtOptions {
  world: ContentWorld;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: Metrics;
  enqueue: (key: Key) => void;
}

export class ContentDoubt {
  readonly #guard: DeleteGuard<'content'>;
  readonly #world: ContentWorld;
  readonly #list: DoubtedList<'content'>;

  constructor({ enqueue, ...options }: ContentDoubtOptions) {
    const { world, clock } = options;
    this.#world = world;
    this.#guard = new DeleteGuard<'content'>(clock);
    this.#list = new DoubtedList({
      ...options,
      list: 'content',
      kind: world.kind.kind,
      guard: this.#guard,
      window: world.windows.virtual,
      copies: () => this.#ownKeys().length,
      objectOf: (key) => key,
      released: enqueue,
    });
  }

  isWithheld(key: Key): boolean {
    return this.#guard.isWithheld(key);
  }

  get doubt(): ListDoubt | undefined {
    return this.#list.doubt;
  }

  stop(): void {
    this.#list.stop();
  }

  noteChange(key: Key, { isAbsentFromList }: { isAbsentFromList: boolean }): void {
    const place = isAbsentFromList ? this.#world.copyPlaceOf(key) : undefined;
    const hasCopy = place !== undefined && this.#world.windows.copies.has(keyOf(place.namespace, place.name));
    if (hasCopy) this.#guard.suspect(key, 'content');
    else this.#guard.clear(key, 'content');
  }

  /** After a start there is no earlier list, so the first one is compared with the copies on the host. */
  judgeFirstList(): void {
    const { virtual } = this.#world.windows;
    for (const key of this.#ownKeys()) if (!virtual.has(key)) this.#guard.suspect(key, 'content');
    this.judge();
  }

  #ownKeys(): Key[] {
    const { placement } = this.#world.rules.translation;
    const { copies } = this.#world.windows;
    return [...this.#world.copiedKeys()].filter((key) => {
      const place = this.#world.copyPlaceOf(key);
      const copy = place && copies.get(keyOf(place.namespace, place.name));
      return copy !== undefined && isOursFor(copy, key, placement);
    });
  }

  judge(): void {
    this.#list.judge();
  }
}
