// Lists the permissions that the daemon needs. In: settings. Out: permissions, which the daemon checks before it begins to
// work. Kinds that no patch refers to need no permission.
import type { Permission } from '../cluster/wire/probe.ts';
import type { Settings } from '../config/settings/settings.ts';
import { contentKinds } from '../sync/references/content-kind.ts';
import type { ReferenceSettings } from '../sync/references/references.ts';

export interface Needs {
  settings: Pick<Settings, 'hostNamespace' | 'setOwner' | 'namespaces' | 'endpointsEnabled'>;
  references: ReferenceSettings;
  /** Host namespaces that may hold copies; undefined = all of them. */
  copyNamespaces: readonly (string | undefined)[];
  isDryRun: boolean;
  needsLease: boolean;
}

const reads = ['get', 'list', 'watch'] as const;
const writes = ['create', 'patch', 'delete'] as const;

export function virtualPermissions({ settings, references, isDryRun }: Needs): Permission[] {
  const ofEndpoints = settings.endpointsEnabled
    ? grant('endpoints', [...reads, ...(isDryRun ? [] : (['patch'] as const))], undefined)
    : [];
  return [
    ...ofEndpoints,
    ...grant('services', ['list', 'watch'], undefined),
    ...(isDryRun ? [] : grant('events', ['create', 'patch'], undefined)),
    ...contentPermissions(references, { isDryRun }).virtual,
  ];
}

export function hostPermissions({ settings, references, copyNamespaces, isDryRun, needsLease }: Needs): Permission[] {
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
export function slicePermissions({ copyNamespaces, isDryRun }: Pick<Needs, 'copyNamespaces' | 'isDryRun'>): {
  virtual: Permission[];
  host: Permission[];
} {
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
): { virtual: Permission[]; host: Permission[] } {
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
