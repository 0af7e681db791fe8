// Stores the last uses of keys in the side values of the store, without a resourceVersion. A mark tells whether the program ended
// in order; after a crash the values may be a little old.
import type { Store } from '../../../store/store.ts';
import type { Activity, ActivityStore } from '../life/activity.ts';

export const activityPrefix = 'activity/';
const cleanMark = 'activity-is-whole';
/** A million keys have as many last uses, which must not lie in memory twice. */
const pageValues = 5_000;

export function activityStore(store: Store): ActivityStore {
  return {
    write: (uses) =>
      store.writeSideValues(new Map([...uses].map(([uid, lastMs]) => [activityPrefix + uid, String(lastMs)]))),
  };
}

export async function loadActivity(store: Store, activity: Activity): Promise<void> {
  const afterCrash = !(await store.sideValues(cleanMark)).has(cleanMark);
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
  await store.writeSideValues(new Map([[cleanMark, undefined]]));
}

/** After the last uses were written. */
export async function markWhole(store: Store): Promise<void> {
  await store.writeSideValues(new Map([[cleanMark, '1']]));
}
