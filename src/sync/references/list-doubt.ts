// Holds back deletes when a list of virtual Secrets or ConfigMaps lacks most objects: the same caution as for the objects that
// refer to them, for one list.
import type { Log } from '../../log.ts';
import { type Key, keyOf } from '../../object/meta/object.ts';
import { isOursFor } from '../plan/ownership.ts';
import { DeleteGuard } from '../world/delete-guard.ts';
import type { ContentWorld } from './content-world.ts';

export class ListDoubt {
  readonly #guard = new DeleteGuard<'content'>();
  readonly #world: ContentWorld;
  readonly #log: Log;
  readonly #enqueue: (key: Key) => void;
  #isConfirming = false;

  constructor(options: { world: ContentWorld; log: Log; enqueue: (key: Key) => void }) {
    this.#world = options.world;
    this.#log = options.log;
    this.#enqueue = options.enqueue;
  }

  isWithheld(key: Key): boolean {
    return this.#guard.isWithheld(key);
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
    const suspects = this.#guard.suspects('content');
    if (suspects.length === 0 || this.#isConfirming) return;
    const copies = this.#ownKeys().length;
    if (this.#guard.isBelievable(suspects.length, copies)) {
      this.#release(suspects);
      return;
    }
    const fields = { component: 'sync', kind: this.#world.kind.kind, deletes: suspects.length, copies };
    this.#log.error(fields, 'list would delete many copies, asking again');
    this.#isConfirming = true;
    this.#confirm(suspects).catch((error: unknown) => {
      this.#isConfirming = false;
      this.#log.error({ component: 'sync', err: error }, 'second list could not be read, no copy is deleted');
    });
  }

  /** A key that the second list holds was cleared when it changed; all keys that are still suspect are confirmed. */
  async #confirm(asked: readonly Key[]): Promise<void> {
    await this.#world.windows.virtual.relist('confirm a mass delete');
    this.#isConfirming = false;
    const suspects = new Set(this.#guard.suspects('content'));
    this.#release(asked.filter((key) => suspects.has(key)));
    this.judge();
  }

  #release(keys: readonly Key[]): void {
    for (const key of this.#guard.release(keys, 'content')) this.#enqueue(key);
  }
}
