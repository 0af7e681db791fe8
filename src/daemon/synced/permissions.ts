// Lists the permissions that the daemon needs, and asks both clusters for them before work begins. In: settings. Out: a fault for
// each missing permission. Kinds that no patch refers to need no permission.
import type { ClusterFault } from '../../cluster/errors.ts';
import type { Permission } from '../../cluster/permission.ts';
import type { Connection } from '../../cluster/wire/connection.ts';
import { checkPermissions } from '../../cluster/wire/probe.ts';
import type { Settings } from '../../config/settings/settings.ts';
import { contentKinds } from '../../sync/kinds/content/content-kind.ts';
import type { ReferenceSettings } from '../../sync/loop/content/references.ts';

export interface NeededFor {
  settings: Pick<Settings, 'hostNamespace' | 'setOwner' | 'namespaces' | 'endpointsEnabled'>;
  references: ReferenceSettings;
  /** Host namespaces that may hold copies; undefined = all of them. */
  copyNamespaces: readonly (string | undefined)[];
  isDryRun: boolean;
  needsLease: boolean;
}

const reads = ['get', 'list', 'watch'] as const;
const writes = ['create', 'patch', 'delete'] as const;

/** The permissions in both clusters. */
export interface Permissions {
  virtual: readonly Permission[];
  host: readonly Permission[];
}

export async function missingPermissions(
  connections: { virtual: Connection; host: Connection },
  needed: Permissions,
): Promise<readonly ClusterFault[]> {
  const missing = await Promise.all([
    checkPermissions(connections.virtual, needed.virtual),
    checkPermissions(connections.host, needed.host),
  ]);
  return missing.flat();
}

/** One sentence for each missing permission, with its fix. */
export function sentencesOf(faults: readonly ClusterFault[]): string[] {
  return faults.map(({ message, fix }) => `${message}; ${fix}`);
}

export function permissionsOf(needs: NeededFor): Permissions {
  return { virtual: virtualPermissions(needs), host: hostPermissions(needs) };
}

function virtualPermissions({ settings, references, isDryRun }: NeededFor): Permission[] {
  const ofEndpoints = settings.endpointsEnabled
    ? grant('endpoints', [...reads, ...(isDryRun ? [] : (['patch'] as const))], undefined)
    : [];
  return [
    ...ofEndpoints,
    // A list of Services that lacks many of them is checked by asking for some of them by name.
    ...grant('services', reads, undefined),
    ...(isDryRun ? [] : grant('events', ['create', 'patch'], undefined)),
    ...contentPermissions(references, { isDryRun }).virtual,
  ];
}

function hostPermissions({ settings, references, copyNamespaces, isDryRun, needsLease }: NeededFor): Permission[] {
  const { hostNamespace, setOwner, namespaces, endpointsEnabled } = settings;
  const permissions: Permission[] = copyNamespaces.flatMap((namespace) => [
    ...(endpointsEnabled ? grant('endpoints', isDryRun ? reads : [...reads, ...writes], namespace) : []),
    ...grant('services', namespaces.enabled && namespace !== hostNamespace ? reads : ['get'], namespace),
  ]);
  if (!namespaces.enabled && setOwner) permissions.push(...grant('services', ['list', 'watch'], hostNamespace));
  if (needsLease) {
    const verbs = ['get', 'create', 'update'] as const;
    permissions.push(...grant('leases', verbs, hostNamespace).map((one) => ({ ...one, group: 'coordination.k8s.io' })));
  }
  return [...permissions, ...contentPermissions(references, { isDryRun, copyNamespaces }).host];
}

/** What the second kind needs; without it the first kind goes on alone. */
export function slicePermissions({
  copyNamespaces,
  isDryRun,
}: Pick<NeededFor, 'copyNamespaces' | 'isDryRun'>): Permissions {
  const ofSlices = (verbs: readonly Permission['verb'][], namespace: string | undefined): Permission[] =>
    grant('endpointslices', verbs, namespace).map((one) => ({ ...one, group: 'discovery.k8s.io' }));
  const onHost = isDryRun ? reads : [...reads, ...writes];
  return {
    virtual: ofSlices([...reads, ...(isDryRun ? [] : (['patch'] as const))], undefined),
    host: copyNamespaces.flatMap((namespace) => ofSlices(onHost, namespace)),
  };
}

/** Asks for delete on the host in any case, because copies of an earlier configuration may have to go. */
export function contentPermissions(
  { kinds, exported, naming }: ReferenceSettings,
  { isDryRun, copyNamespaces = [] }: { isDryRun: boolean; copyNamespaces?: readonly (string | undefined)[] },
): Permissions {
  const virtual: Permission[] = [];
  const host: Permission[] = [];
  for (const { kind, resource } of contentKinds.filter((one) => kinds.has(one.kind))) {
    const onHost = exported.has(kind) && naming === 'generated' ? writes : (['delete'] as const);
    virtual.push(...grant(resource.resource, isDryRun ? reads : [...reads, ...writes], undefined));
    for (const namespace of copyNamespaces)
      host.push(...grant(resource.resource, isDryRun ? reads : [...reads, ...onHost], namespace));
  }
  return { virtual, host };
}

function grant(resource: string, verbs: readonly Permission['verb'][], namespace: string | undefined): Permission[] {
  return verbs.map((verb) => ({ verb, group: '', resource, namespace }));
}
