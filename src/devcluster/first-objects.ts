// Creates the first objects of a cluster: four namespaces, a Service with Endpoints for the API server itself, and the roles and
// bindings that every cluster has from the start.
import { isIP } from 'node:net';
import { text } from '../apiserver/kinds/fields.ts';
import type { Call } from '../apiserver/kinds/kit.ts';
import { mastersGroup } from '../apiserver/request/access-rules.ts';
import { negotiate } from '../apiserver/request/negotiate.ts';
import { parseTarget } from '../apiserver/request/target.ts';
import type { ApiServer } from '../apiserver/server.ts';
import { createObject } from '../apiserver/verbs/create-object.ts';
import { changeIfPresent, systemCall } from '../apiserver/verbs/system-call.ts';
import { fromStoredText, storageKey, storagePrefix } from '../apiserver/wire/stored-text.ts';
import type { KubeObject } from '../object/meta/object.ts';
import { apiServiceAddress, type ClusterAddresses } from './kinds/addresses/cluster-addresses.ts';
import { clusterRoleKind } from './kinds/rbac-kinds.ts';
import { rbacGroup } from './kinds/role-validation.ts';
import { aggregated } from './rbac/aggregation.ts';
import bootstrap from './rbac/bootstrap-roles.json' with { type: 'json' };

const namespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

export async function writeFirstObjects(server: ApiServer, addresses: ClusterAddresses, host: string): Promise<void> {
  await claimUsed(server, addresses);
  for (const name of namespaces) await ensure(server, '/api/v1/namespaces', { metadata: { name } });
  await ensure(server, '/api/v1/namespaces/default/services', {
    metadata: {
      name: 'kubernetes',
      namespace: 'default',
      labels: { component: 'apiserver', provider: 'kubernetes' },
    },
    spec: {
      clusterIP: apiServiceAddress,
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: server.port }],
    },
  });
  // Endpoints must not hold a loopback address, so a server on loopback gets an address from the documentation range.
  const isReachable = isIP(host) !== 0 && !host.startsWith('127.') && host !== '::1';
  await ensure(server, '/api/v1/namespaces/default/endpoints', {
    metadata: {
      name: 'kubernetes',
      namespace: 'default',
      labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' },
    },
    subsets: [
      {
        addresses: [{ ip: isReachable ? host : '192.0.2.1' }],
        ports: [{ name: 'https', port: server.port, protocol: 'TCP' }],
      },
    ],
  });
}

/** After a restart: marks the addresses of stored Services as taken, so that no new Service gets them. */
async function claimUsed(server: ApiServer, addresses: ClusterAddresses): Promise<void> {
  const listed = await server.kit.store.list('/registry/services/specs/');
  if (listed.kind !== 'page') return;
  for (const record of listed.records) {
    const service = JSON.parse(record.value) as KubeObject;
    const address = text(service, 'spec', 'clusterIP');
    if (address !== '' && address !== 'None') addresses.claim(address, service.metadata.uid ?? '');
  }
}

async function ensure(server: ApiServer, collection: string, object: KubeObject): Promise<void> {
  const target = parseTarget('POST', collection);
  const kind = server.kit.catalog.find(target.group, target.version, target.resource);
  if (kind === undefined) throw new Error(`write first objects: no kind is served at "${collection}"`);
  const user = { name: 'system:apiserver', groups: [mastersGroup] };
  const call: Call = {
    kit: server.kit,
    kind,
    target,
    user,
    visibility: undefined,
    negotiated: negotiate(undefined),
    fieldManager: 'devcluster',
    warnings: [],
  };
  // After a restart the store holds the object already.
  const { record } = await server.kit.store.get(storageKey(kind, target.namespace, object.metadata.name ?? ''));
  if (record !== undefined) return;
  kind.strategy.setDefaults?.(object);
  await createObject(call, object, { dryRun: false });
}

/** Also gathers the rules of aggregated roles once. */
export async function writeBootstrapRoles(server: ApiServer): Promise<void> {
  for (const [plural, objects] of Object.entries(bootstrap)) {
    for (const object of structuredClone(objects) as unknown as KubeObject[])
      await ensure(server, `/apis/${rbacGroup}/v1/${plural}`, object);
  }
  await gatherRules(server);
}

async function gatherRules({ kit }: ApiServer): Promise<void> {
  const page = await kit.store.list(storagePrefix(clusterRoleKind, ''));
  if (page.kind !== 'page') throw new Error('gather the rules of aggregated roles: the store has no list of roles');
  const roles = page.records.map(({ value, revision }) => fromStoredText(value, clusterRoleKind, revision));
  for (const { metadata, rules } of aggregated(roles) as (KubeObject & { rules: unknown[] })[]) {
    const call = systemCall(kit, clusterRoleKind, { namespace: '', name: metadata.name ?? '' });
    await changeIfPresent(call, metadata.uid ?? '', (role) => {
      role['rules'] = rules;
    });
  }
}
