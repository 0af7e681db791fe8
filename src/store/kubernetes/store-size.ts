// How much a store may hold. What exists may be changed and must be removable, so only what makes the store larger is refused.
import { StoreFault } from '../errors.ts';
import type { StoredRecord } from '../store.ts';

export interface StoreSize {
  records: number;
  /** Of values. */
  bytes: number;
}

export function mustHaveRoom(
  { records, bytes }: StoreSize,
  { known, value }: { known: StoredRecord | undefined; value: string | undefined },
  most: StoreSize | undefined,
): void {
  if (most === undefined || value === undefined) return;
  const adds = value.length - (known?.value.length ?? 0);
  const why = known === undefined && records >= most.records ? `${records} records of ${most.records}` : undefined;
  const tooLong = adds > 0 && bytes + adds > most.bytes ? `${bytes} bytes of ${most.bytes}` : undefined;
  const full = why ?? tooLong;
  if (full !== undefined) throw new StoreFault('STORE_FULL', `the store has ${full}`);
}
