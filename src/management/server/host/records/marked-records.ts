// Notes which records somebody has marked immutable: the host refuses every change of them, so that a key could not be disabled when it
// must be. In: what the stream of changes shows. Out: the names of the Secrets with the keys of the records, and a line in the log for each.
import type { Log } from '../../../../log.ts';
import type { KubeObject } from '../../../../object/meta/object.ts';
import type { HostListener, HostRecord } from '../../../../store/kubernetes/records/host-records.ts';

export interface Noting {
  listener: HostListener;
  recordOf(object: KubeObject): HostRecord | undefined;
}

export function isMarked(object: KubeObject): boolean {
  return object['immutable'] === true;
}

export function noteMarked(marked: Map<string, string>, { listener, recordOf }: Noting, log: Log): Noting {
  return {
    recordOf(object) {
      const record = recordOf(object);
      if (record === undefined || !isMarked(object) || marked.has(record.name)) return record;
      const key = record.data['key'] ?? '';
      marked.set(record.name, key);
      const about = { component: 'management', record: record.name, key };
      log.error(about, 'record of the store is marked immutable and cannot be changed');
      return record;
    },
    listener: {
      ...listener,
      listed(records, version) {
        const there = new Set(records.map(({ name }) => name));
        for (const name of marked.keys()) if (!there.has(name)) marked.delete(name);
        listener.listed(records, version);
      },
      changed(change) {
        if (change.type === 'delete') marked.delete(change.record.name);
        listener.changed(change);
      },
    },
  };
}

/** What the key of a record names, for people. */
export function recordText(key: string, keyPrefix: string): string {
  return key.startsWith(keyPrefix) ? `the access key "${key.slice(keyPrefix.length)}"` : `the record "${key}"`;
}
