// Admission rules for namespaces: refuses creates in a missing or terminating namespace, and deletes of the namespaces that
// every cluster needs.
import type { Admission, AdmissionRequest } from '../apiserver/kinds/kit.ts';
import { forbiddenBecause, StatusFault } from '../apiserver/request/status-fault.ts';
import { forbidden, notFound } from '../object/meta/status.ts';
import { recordNow } from '../store/follow/record-now.ts';
import type { Store } from '../store/store.ts';

const namespacesResource = { group: '', resource: 'namespaces' };
const undeletable = new Set(['default', 'kube-system', 'kube-public']);

function namespaceKey(name: string): string {
  return `/registry/namespaces/${name}`;
}

export function namespaceLifecycle(store: Store): Admission {
  return async (request) => {
    if (request.operation === 'delete') return checkDelete(request);
    if (request.operation !== 'create' || !request.kind.namespaced) return;
    const record = await recordNow(store, namespaceKey(request.namespace));
    if (record === undefined) throw new StatusFault(notFound(namespacesResource, request.namespace));
    // The rule runs on every create, and a text search is cheaper than parsing.
    if (!record.value.includes('"deletionTimestamp"') || !isTerminating(record.value)) return;
    refuse(request);
  };
}

function checkDelete({ kind, name }: AdmissionRequest): void {
  if (kind.plural !== 'namespaces' || kind.group !== '' || !undeletable.has(name)) return;
  throw new StatusFault(forbidden(namespacesResource, name, 'this namespace may not be deleted'));
}

function isTerminating(text: string): boolean {
  const namespace = JSON.parse(text) as { metadata: { deletionTimestamp?: string } };
  return namespace.metadata.deletionTimestamp !== undefined;
}

function refuse({ kind, name, namespace }: AdmissionRequest): never {
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  throw forbiddenBecause({ group: kind.group, resource: kind.plural }, name, why, [
    {
      reason: 'NamespaceTerminating',
      message: `namespace ${namespace} is being terminated`,
      field: 'metadata.namespace',
    },
  ]);
}
