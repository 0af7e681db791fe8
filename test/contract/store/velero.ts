// Brings objects back as Velero does it, with the requests that Velero 1.18.3 made: they were read in the audit log of a real API server,
// and a request of another form is an error here.
import recorded from '../../../fixtures/contract/velero-restore.json' with { type: 'json' };
import type { KubeObject } from '../../../src/object/meta/object.ts';
import type { ApiClient } from '../client.ts';

/** A record of the store, or what else is in its namespace. */
export interface Copied {
  /** Of all objects of its kind there. */
  path: string;
  object: KubeObject;
}

/** What is there already: left alone, or patched into what it was. */
export type Existing = 'none' | 'update';

type Content = KubeObject & { data?: Record<string, unknown>; spec?: Record<string, unknown> };

/** The objects of a list do not say it. */
const kinds: Record<string, { apiVersion: string; kind: string }> = {
  secrets: { apiVersion: 'v1', kind: 'Secret' },
  configmaps: { apiVersion: 'v1', kind: 'ConfigMap' },
  leases: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
};
const removed = ['uid', 'resourceVersion', 'generation', 'creationTimestamp', 'ownerReferences'];
const restoreLabels = { 'velero.io/backup-name': 'copy', 'velero.io/restore-name': 'back' };

export async function restoreAsVelero(
  client: ApiClient,
  copied: readonly Copied[],
  existing: Existing = 'none',
): Promise<void> {
  for (const { path, object } of copied) {
    const { name, labels, managedFields } = object.metadata;
    const one = `${path}/${name}`;
    const found = await client.request('GET', one);
    if (found.status === 404) {
      const kept = Object.entries(object.metadata).filter(([field]) => !removed.includes(field));
      const metadata = { ...Object.fromEntries(kept), labels: { ...labels, ...restoreLabels } };
      await send(client, existing, 'create', path, { ...object, ...kinds[resourceOf(path)], metadata });
      await send(client, existing, 'patch', one, { metadata: { managedFields } });
    } else if (existing === 'update') {
      const there = found.json as Content;
      const { data, spec } = object as Content;
      const parts = { data: changes(there.data, data), spec: changes(there.spec, spec) };
      const changed = Object.entries(parts).filter(([, part]) => Object.keys(part).length > 0);
      const fields = changed.length === 0 ? {} : { managedFields };
      const body = { metadata: { labels: restoreLabels, ...fields }, ...Object.fromEntries(changed) };
      await send(client, existing, 'patch', one, body);
    }
  }
}

const resourceOf = (path: string): string => /\/(secrets|configmaps|leases)/.exec(path)?.[1] ?? '';

/** As a merge patch: what has come since is removed. */
function changes(there: object = {}, wanted: object = {}): object {
  const before = new Map(Object.entries(there));
  const now = new Map(Object.entries(wanted));
  const all = [...new Set([...before.keys(), ...now.keys()])];
  const isSame = (name: string) => JSON.stringify(before.get(name)) === JSON.stringify(now.get(name));
  return Object.fromEntries(all.filter((name) => !isSame(name)).map((name) => [name, now.get(name) ?? null]));
}

async function send(
  client: ApiClient,
  policy: Existing,
  verb: 'create' | 'patch',
  path: string,
  body: { metadata: object },
): Promise<void> {
  const fields = Object.keys(body).sort().join(' ');
  const metadata = Object.keys(body.metadata).sort().join(' ');
  const resource = resourceOf(path);
  const known = recorded.requests.some(
    (one) =>
      [one.policy, one.verb, one.fields, one.metadata].join() === [policy, verb, fields, metadata].join() &&
      // What is alike for all kinds was not seen of a Lease, which never stayed as it was.
      (one.resource === resource || fields === 'metadata'),
  );
  if (!known) throw new Error(`Velero made no such request: ${policy} ${verb} ${resource} ${fields}: ${metadata}`);
  const headers = { 'content-type': verb === 'patch' ? 'application/merge-patch+json' : 'application/json' };
  const { status, text } = await client.request(verb === 'patch' ? 'PATCH' : 'POST', path, { headers, body });
  if (status >= 300) throw new Error(`${verb} ${path}: ${status} ${text}`);
}
