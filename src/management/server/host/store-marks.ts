// Marks in a store that must not be served: its records have moved to another store, or are still on their way into this one.
import type { Store } from '../../../store/store.ts';

export const movedKey = '/management/moved';
export const movingKey = '/management/moving';

/** Why no server may start on this store; undefined = one may. */
export async function markIn(store: Store): Promise<string | undefined> {
  const { record: moved } = await store.get(movedKey);
  if (moved !== undefined) return movedWord(moved.value);
  const { record: moving } = await store.get(movingKey);
  if (moving === undefined) return undefined;
  return 'a migration into it has not ended: run "hostward store migrate" again with the same files';
}

export function movedWord(mark: string): string {
  return `its records were moved to ${String(JSON.parse(mark))}: start with the configuration of that store`;
}
