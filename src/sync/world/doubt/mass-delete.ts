// Checks the lists of the virtual side: finds the keys that a list lacks although the host has their copies, and withholds their
// deletes until the list has been judged.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import type { Metrics } from '../../../metrics.ts';
import { type Key, keyOf } from '../../../object/meta/object.ts';
import { isOursFor } from '../../plan/ownership.ts';
import type { World } from '../world.ts';
import { DeleteGuard, type VirtualList } from './delete-guard.ts';
import { DoubtedList, type ListDoubt, type Withheld } from './doubted-list.ts';

/** So many look-ups take some milliseconds. */
const turnKeys = 2_000;

export interface MassDeleteOptions {
  world: World;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: Metrics;
  enqueue: (key: Key) => void;
  /** What is withheld for the other kinds. */
  others: () => Withheld;
}

export interface ListedChange {
  isAbsentFromList: boolean;
  /** The object is in a list, changed or new. */
  isListed?: boolean;
}

export class MassDelete {
  readonly guard: DeleteGuard;
  readonly #world: World;
  readonly #lists: Record<VirtualList, DoubtedList<VirtualList>>;

  constructor({ enqueue, others, ...options }: MassDeleteOptions) {
    const { world, clock } = options;
    const { windows } = world;
    const guard = new DeleteGuard(clock);
    const hasCopy = (key: Key): boolean => this.#hasHostCopy(key);
    const shared = { ...options, guard, hasCopy, copies: () => world.windows.host.size, released: enqueue };
    this.#world = world;
    this.guard = guard;
    this.#lists = {
      objects: new DoubtedList({
        ...shared,
        list: 'objects',
        kind: world.rules.translation.kind.kind,
        window: windows.virtual,
        objectOf: (key) => key,
      }),
      services: new DoubtedList({
        ...shared,
        list: 'services',
        kind: 'Service',
        window: windows.services,
        others,
        objectOf: (key) => world.serviceKeyOf(key),
      }),
    };
  }

  stop(): void {
    for (const list of Object.values(this.#lists)) list.stop();
  }

  /** The lists that are in doubt now. */
  get doubts(): ListDoubt[] {
    return [this.#lists.objects.doubt, this.#lists.services.doubt].filter((doubt) => doubt !== undefined);
  }

  noteChange(key: Key, list: VirtualList, { isAbsentFromList, isListed = false }: ListedChange): void {
    this.#lists[list].noteChange(key, { isAbsentFromList });
    if (list === 'objects' && isListed) this.#noteServiceOf(key);
  }

  /**
   * A slice that a list shows again names its Service again. While the slice was missing nobody could count it among the objects of a
   * Service that the other list lacks.
   */
  #noteServiceOf(key: Key): void {
    if (this.#world.hasService(key)) this.guard.clear(key, 'services');
    else if (this.#hasHostCopy(key)) this.guard.suspect(key, 'services');
  }

  /**
   * After a start there is no earlier list, so the first lists are compared with the copies on the host. Changes go on during that time, so
   * keys become suspects only at the end, all in one turn: a part of them alone would look few enough to be believed.
   */
  async judgeFirstLists(): Promise<void> {
    const { virtual, host } = this.#world.windows;
    const { placement } = this.#world.rules.translation;
    const lacking: Key[] = [];
    let count = 0;
    for (const hostKey of host.keys()) {
      if (++count % turnKeys === 0) await nextTurn();
      const key = host.markOf(hostKey);
      if (!key || (virtual.has(key) && this.#world.hasService(key))) continue;
      const item = host.get(hostKey);
      if (item !== undefined && isOursFor(item, key, placement)) lacking.push(key);
    }
    for (const key of lacking) {
      if (!virtual.has(key)) this.guard.suspect(key, 'objects');
      else if (!this.#world.hasService(key)) this.guard.suspect(key, 'services');
    }
    for (const list of Object.values(this.#lists)) list.judge();
  }

  judgeList(list: VirtualList): void {
    this.#lists[list].judge();
    if (list === 'objects') this.#lists.services.judgeByNextList();
  }

  #hasHostCopy(key: Key): boolean {
    const place = this.#world.placeOf(key);
    return place !== undefined && this.#world.windows.host.has(keyOf(place.namespace, place.name));
  }
}
