// Stores the last uses of keys in the side values of the store, without a resourceVersion. A mark tells whether the program ended
// in order; after a crash the values may be a little old.

import type { Clock, Timer } from '../../../clock.ts';
import type { Store } from '../../../store/store.ts';
import type { Activity, ActivityStore } from '../life/activity.ts';

export const activityPrefix = 'activity/';
const cleanMark = 'activity-is-whole';
/** A million keys have as many last uses, which must not lie in memory twice. */
const pageValues = 5_000;

export function activityStore(store: Pick<Store, 'writeSideValues'>): ActivityStore {
  return {
    write: (uses) =>
      store.writeSideValues(new Map([...uses].map(([uid, lastMs]) => [activityPrefix + uid, String(lastMs)]))),
  };
}

/** `replica`: which of several programs on one store this is; each has a mark of its own. */
export async function loadActivity(store: Store, activity: Activity, replica = ''): Promise<void> {
  const mark = markOf(replica);
  const afterCrash = !(await store.sideValues(mark)).has(mark);
  let afterKey: string | undefined;
  for (;;) {
    const page = await store.sideValues(activityPrefix, {
      ...(afterKey !== undefined && { afterKey }),
      limit: pageValues,
    });
    for (const [key, value] of page) {
      activity.load(key.slice(activityPrefix.length), Number(value), afterCrash);
      afterKey = key;
    }
    if (page.size < pageValues) break;
  }
  await store.writeSideValues(new Map([[mark, undefined]]));
}

/** After the last uses were written. */
export async function markWhole(store: Store, replica = ''): Promise<void> {
  await store.writeSideValues(new Map([[markOf(replica), '1']]));
}

function markOf(replica: string): string {
  return replica === '' ? cleanMark : `${cleanMark}/${replica}`;
}

/** A last use is a minute late at most on another replica: it waits for 40 s here, and for the next read there. */
const readEveryMs = 15_000;
/** Whoever asks within a second of the last read gets that: a key that is refused as idle is asked for again and again. */
const freshForMs = 1_000;

/** Reads what the other replicas know of uses: regularly, and at once before a key is refused as idle. */
export class OthersUses {
  readonly #parts: { store: Store; activity: Activity; clock: Clock };
  #timer: Timer | undefined;
  #reading: Promise<void> | undefined;
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(parts: { store: Store; activity: Activity; clock: Clock }) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = this.#parts.clock.after(readEveryMs, () => {
      void this.read().catch(() => undefined);
      this.start();
    });
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    await this.#reading?.catch(() => undefined);
  }

  read(): Promise<void> {
    if (this.#reading === undefined) {
      if (this.#parts.clock.now() - this.#readMs < freshForMs) return Promise.resolve();
      this.#reading = this.#read().finally(() => {
        this.#reading = undefined;
      });
    }
    return this.#reading;
  }

  async #read(): Promise<void> {
    const { store, activity, clock } = this.#parts;
    const values = await store.sideValues(activityPrefix);
    for (const [key, value] of values) activity.heard(key.slice(activityPrefix.length), Number(value));
    this.#readMs = clock.now();
  }
}
