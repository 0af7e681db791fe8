// Checks the lists of the virtual side for the delete guard: finds the keys that a list lacks although the host has their
// copies, and requests a second list when there are too many of them.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Log } from '../../log.ts';
import { type Key, keyOf } from '../../object/meta/object.ts';
import { isOursFor } from '../plan/ownership.ts';
import { DeleteGuard, type VirtualList } from './delete-guard.ts';
import type { World } from './world.ts';

/** So many look-ups take some milliseconds. */
const turnKeys = 2_000;

export class MassDelete {
  readonly guard = new DeleteGuard();
  readonly #world: World;
  readonly #log: Log;
  readonly #enqueue: (key: Key) => void;
  readonly #confirming = new Set<VirtualList>();

  constructor(options: { world: World; log: Log; enqueue: (key: Key) => void }) {
    this.#world = options.world;
    this.#log = options.log;
    this.#enqueue = options.enqueue;
  }

  noteChange(key: Key, list: VirtualList, { isAbsentFromList }: { isAbsentFromList: boolean }): void {
    if (isAbsentFromList && this.#hasHostCopy(key)) this.guard.suspect(key, list);
    else this.guard.clear(key, list);
  }

  /**
   * After a start there is no earlier list, so the first lists are compared with the copies on the host. Changes go on meanwhile, so
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
    this.judgeList('objects');
    this.judgeList('services');
  }

  judgeList(list: VirtualList): void {
    const suspects = this.guard.suspects(list);
    if (suspects.length === 0 || this.#confirming.has(list)) return;
    const copies = this.#world.windows.host.size;
    if (this.guard.isBelievable(suspects.length, copies)) {
      this.#release(suspects, list);
      return;
    }
    this.#log.error(
      { component: 'sync', list, deletes: suspects.length, copies },
      'list would delete many host copies, requesting a second list',
    );
    this.#confirming.add(list);
    this.#confirm(list).catch((error: unknown) => {
      this.#confirming.delete(list);
      this.#log.error({ component: 'sync', list, err: error }, 'second list could not be read, nothing is deleted');
    });
  }

  /** Keys present in the second list were cleared by its change events; the second list confirms the remaining suspects. */
  async #confirm(list: VirtualList): Promise<void> {
    const window = list === 'objects' ? this.#world.windows.virtual : this.#world.windows.services;
    const asked = this.guard.suspects(list);
    await window.relist('confirm a mass delete');
    this.#confirming.delete(list);
    const suspects = new Set(this.guard.suspects(list));
    const confirmed = asked.filter((key) => suspects.has(key));
    this.#log.warn({ component: 'sync', list, deletes: confirmed.length }, 'second list read');
    this.#release(confirmed, list);
    this.judgeList(list);
  }

  #release(keys: Key[], list: VirtualList): void {
    for (const key of this.guard.release(keys, list)) this.#enqueue(key);
  }

  #hasHostCopy(key: Key): boolean {
    const place = this.#world.placeOf(key);
    return place !== undefined && this.#world.windows.host.has(keyOf(place.namespace, place.name));
  }
}
