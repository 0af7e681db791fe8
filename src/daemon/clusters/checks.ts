// Checks what both clusters must grant before work begins or a configuration is applied. In: settings and connections. Out: every
// fault at once, so that the operator can mend all of them before the next start.
import type { ClusterFault } from '../../cluster/errors.ts';
import { lostNamespaces } from '../../cluster/permission.ts';
import type { Connection } from '../../cluster/wire/connection.ts';
import { checkNamespace, type FoundNamespace, isHostOf, swappedSentence } from '../../cluster/wire/probe.ts';
import type { Settings } from '../../config/settings/settings.ts';
import type { ReferenceSettings } from '../../sync/loop/content/references.ts';
import type { DaemonOptions } from '../options/daemon-options.ts';
import {
  contentPermissions,
  missingPermissions,
  type Permissions,
  permissionsOf,
  sentencesOf,
} from '../synced/permissions.ts';
import { referenceSettings } from '../synced/references.ts';

interface BothClusters {
  virtual: Connection;
  host: Connection;
}

export interface CheckedSettings {
  settings: Settings;
  patches: DaemonOptions['patches'];
  copyNamespaces: readonly (string | undefined)[];
  isDryRun: boolean;
  needsLease: boolean;
}

/** Returns the namespace too, so that the start need not ask for it again. */
export async function checkStart(
  connections: BothClusters,
  checked: CheckedSettings,
): Promise<{ faults: readonly ClusterFault[]; namespace: FoundNamespace }> {
  const { hostNamespace } = checked.settings;
  const [namespace, lacking] = await Promise.all([
    checkNamespace(connections.host, hostNamespace),
    lackingRights(connections, checked),
  ]);
  const absent =
    namespace.kind === 'missing' ? [await swapped(connections.virtual, checked.settings, namespace.fault)] : [];
  const rights = shutNamespaces(lacking, (one) => (one === hostNamespace ? namespace.kind : 'unknown'));
  return { faults: [...absent, ...rights], namespace };
}

/** Whoever follows "create it" would make the namespace in the virtual cluster. */
async function swapped(
  virtual: Connection,
  { hostNamespace: namespace, virtualClusterName: name }: Settings,
  fault: ClusterFault,
): Promise<ClusterFault> {
  if (!(await isHostOf(virtual, { namespace, name }))) return fault;
  return {
    ...fault,
    message: swappedSentence(namespace),
    fix: 'give the file of hostward.hostKubeconfig to hostward.virtualKubeconfig, and the other way round',
  };
}

export async function checkRights(
  connections: BothClusters,
  checked: CheckedSettings,
): Promise<readonly ClusterFault[]> {
  return shutNamespaces(await lackingRights(connections, checked), () => 'unknown');
}

interface Lacking {
  faults: readonly ClusterFault[];
  needed: Permissions;
}

async function lackingRights(connections: BothClusters, { patches, ...needs }: CheckedSettings): Promise<Lacking> {
  const references = referenceSettings(needs.settings, patches);
  const needed = permissionsOf({ ...needs, references });
  return { faults: await missingPermissions(connections, needed), needed };
}

/** One fault in place of one for each right, where an account has none in a namespace that was not seen to be well. */
function shutNamespaces(
  { faults, needed }: Lacking,
  kindOf: (namespace: string) => FoundNamespace['kind'],
): readonly ClusterFault[] {
  const missing = new Set(faults.map(({ permission }) => permission));
  const lost = [...lostNamespaces(needed.host, (one) => missing.has(one))].map(([namespace, rights]) => {
    return { namespace, rights: new Set(rights), kind: kindOf(namespace) };
  });
  const shut = lost.filter(({ kind }) => kind !== 'found');
  const left = faults.filter(({ permission }) => !shut.some(({ rights }) => permission && rights.has(permission)));
  // That the namespace is not there has been said.
  return [
    ...left,
    ...shut.flatMap(({ namespace, rights, kind }) =>
      kind === 'terminating' || kind === 'unknown' ? shutFault(namespace, rights.size, kind) : [],
    ),
  ];
}

function shutFault(namespace: string, rights: number, kind: 'terminating' | 'unknown'): ClusterFault {
  const none = `checking rights on the host cluster: the account has none of the ${rights} rights that it needs in namespace "${namespace}"`;
  const code = 'CLUSTER_PERMISSION_MISSING';
  if (kind === 'terminating')
    return {
      code,
      message: `${none}, which is being deleted`,
      fix: 'wait for its end, or name the namespace that the virtual cluster runs in',
    };
  return {
    code,
    message: `${none}: it is being deleted or does not exist, or it has no Role for this account`,
    fix: `look with a kubectl that may: kubectl get namespace ${namespace}; if it stands, "hostward doctor" prints the command that grants them`,
  };
}

/** Throws when a cluster does not grant the verbs for the content that references need. */
export async function checkContent(
  connections: BothClusters,
  references: ReferenceSettings,
  needs: Pick<CheckedSettings, 'isDryRun' | 'copyNamespaces'>,
): Promise<void> {
  const sentences = sentencesOf(await missingPermissions(connections, contentPermissions(references, needs)));
  if (sentences.length > 0) throw new Error(sentences.join('\n'));
}
