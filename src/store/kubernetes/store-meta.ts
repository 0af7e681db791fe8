// The one record that says how revisions are numbered: read at start, and made for an empty store. Only a restore and a migration
// change it.
import { StoreFault } from '../errors.ts';
import type { HostRecords } from './host-records.ts';
import { metaData, metaName, readRecord, type StoreMeta } from './record-format.ts';

export async function openMeta(host: HostRecords, newEpoch: () => string): Promise<StoreMeta> {
  const found = await readMeta(host);
  if (found !== undefined) return found;
  const meta: StoreMeta = { offset: 0, epoch: newEpoch() };
  const made = await host.create(metaName, metaData(meta));
  if (made.kind === 'written') return meta;
  // Another replica was first.
  const theirs = await readMeta(host);
  if (theirs === undefined) throw corrupt(host, 'it was deleted again at once');
  return theirs;
}

/** Undefined for an empty store. */
export async function readMeta(host: HostRecords): Promise<StoreMeta | undefined> {
  const record = await host.get(metaName);
  if (record === undefined) return undefined;
  const read = readRecord(record, 0);
  if (read.kind === 'meta') return read.meta;
  throw corrupt(host, read.kind === 'unusable' ? read.why : 'it is another record');
}

function corrupt({ place }: HostRecords, why: string): StoreFault {
  return new StoreFault('STORE_CORRUPT', `Cannot open the store in ${place}: record "${metaName}": ${why}`);
}
