// Reads one record where several servers share a store: another one may have made the record a moment ago, so a miss asks the log itself.
import type { Store, StoredRecord } from '../store.ts';

export async function recordNow(store: Pick<Store, 'get'>, key: string): Promise<StoredRecord | undefined> {
  const { record } = await store.get(key);
  return record ?? (await store.get(key, { fresh: true })).record;
}
