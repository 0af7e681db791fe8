// The one record that says how revisions are numbered: read at start, and made for an empty store. Only a restore and a migration
// change it.
import { StoreFault } from '../errors.ts';
import type { HostRecords } from './host-records.ts';
import { metaData, metaName, readRecord, type StoreMeta } from './record-format.ts';

/** `known`: the epoch in which this replica last used the store; undefined = it never has. */
export async function openMeta(
  host: HostRecords,
  { newEpoch, known }: { newEpoch: () => string; known: string | undefined },
): Promise<StoreMeta> {
  const found = await readMeta(host);
  if (found !== undefined) {
    if (known === undefined || found.epoch === known || found.earlier.includes(known)) return found;
    throw anotherStore(host, 'the store there is another one');
  }
  if (known !== undefined) throw anotherStore(host, 'no store is there');
  const meta: StoreMeta = { offset: 0, epoch: newEpoch(), earlier: [] };
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

/** A start on an empty namespace would forget every key, and revive them all when the right one is back. */
function anotherStore({ place }: HostRecords, what: string): StoreFault {
  return new StoreFault(
    'STORE_OPEN_FAILED',
    `Cannot open the store in ${place}: this replica has used a store there, and ${what}; correct the kubeconfig and the namespace, or bring the records back with "hostward restore"`,
  );
}

function corrupt({ place }: HostRecords, why: string): StoreFault {
  return new StoreFault('STORE_CORRUPT', `Cannot open the store in ${place}: record "${metaName}": ${why}`);
}
