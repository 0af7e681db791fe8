// Values outside the records, such as the last use of a key: ConfigMaps of one replica each, outside the watched type, so that a use
// moves no revision. Changes that come while a write is under way go with the next one: the host sees few writes, however many uses.
import { createHash } from 'node:crypto';
import type { Connection } from '../../../../cluster/wire/connection.ts';
import { collectionPath, objectPath, type ResourceRef } from '../../../../cluster/wire/scope.ts';
import type { KubeObject } from '../../../../object/meta/object.ts';
import { isRecord } from '../../../../object/text/json.ts';
import { hostFault, requestTimeoutMs } from './host-fault.ts';

const configMaps: ResourceRef = { path: 'api/v1', resource: 'configmaps', kind: 'ConfigMap' };
const usesLabel = 'hostward.dev/uses';
/** A value has about a hundred bytes and a ConfigMap holds a mebibyte: enough for more keys than a host should keep. */
const buckets = 32;
/** All buckets of a dozen replicas. */
const listBytes = 64 * 1024 * 1024;

interface Batch {
  changes: Map<string, string | undefined>;
  done: Promise<void>;
}

export class HostSideValues {
  readonly #options: { connection: Connection; namespace: string; replica: string };
  #running: Promise<void> = Promise.resolve();
  #next: Batch | undefined;

  constructor(options: { connection: Connection; namespace: string; replica: string }) {
    this.#options = options;
  }

  /** Of all replicas. */
  async read(): Promise<Map<string, string>> {
    const { connection, namespace } = this.#options;
    const path = `${collectionPath(configMaps, namespace)}?labelSelector=${encodeURIComponent(usesLabel)}`;
    const answer = await connection.request({ method: 'GET', path, timeoutMs: requestTimeoutMs, maxBytes: listBytes });
    if (answer.kind !== 'ok') throw hostFault('read', 'uses of keys', answer);
    const values = new Map<string, string>();
    const { items } = answer.object;
    for (const item of Array.isArray(items) ? (items as KubeObject[]) : []) {
      if (!isRecord(item['data'])) continue;
      for (const [encoded, value] of Object.entries(item['data'])) {
        const key = Buffer.from(encoded, 'base64url').toString();
        const known = values.get(key);
        if (known === undefined || Number(value) > Number(known)) values.set(key, String(value));
      }
    }
    return values;
  }

  write(changes: ReadonlyMap<string, string | undefined>): Promise<void> {
    if (changes.size === 0) return Promise.resolve();
    const batch = this.#next ?? this.#open();
    for (const [key, value] of changes) batch.changes.set(key, value);
    return batch.done;
  }

  #open(): Batch {
    const changes = new Map<string, string | undefined>();
    const done = this.#running.then(() => {
      this.#next = undefined;
      return this.#send(changes);
    });
    this.#running = done.catch(() => undefined);
    this.#next = { changes, done };
    return this.#next;
  }

  async #send(changes: ReadonlyMap<string, string | undefined>): Promise<void> {
    const byBucket = new Map<number, Record<string, string | null>>();
    for (const [key, value] of changes) {
      const bucket = (createHash('sha256').update(key).digest()[0] ?? 0) % buckets;
      const data = byBucket.get(bucket) ?? {};
      data[Buffer.from(key).toString('base64url')] = value ?? null;
      byBucket.set(bucket, data);
    }
    await Promise.all([...byBucket].map(([bucket, data]) => this.#patch(bucket, data)));
  }

  async #patch(bucket: number, data: Record<string, string | null>): Promise<void> {
    const { connection, namespace, replica } = this.#options;
    const name = `hostward-uses-${replica}-${bucket}`;
    const patched = await connection.request({
      method: 'PATCH',
      path: objectPath(configMaps, { namespace, name }),
      body: JSON.stringify({ data }),
      contentType: 'application/merge-patch+json',
      timeoutMs: requestTimeoutMs,
    });
    if (patched.kind === 'ok') return;
    if (patched.kind !== 'notFound') throw hostFault('write', name, patched);
    const kept = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null));
    if (Object.keys(kept).length === 0) return;
    const metadata = { name, namespace, labels: { [usesLabel]: replica } };
    const made = await connection.request({
      method: 'POST',
      path: collectionPath(configMaps, namespace),
      body: JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: kept }),
      contentType: 'application/json',
      timeoutMs: requestTimeoutMs,
    });
    if (made.kind !== 'ok') throw hostFault('write', name, made);
  }
}
