// Checks what both clusters must grant before work begins or a configuration is applied. In: settings and connections. Out: every
// fault at once, so that the operator can mend all of them before the next start.
import type { ClusterFault } from '../../cluster/errors.ts';
import type { Connection } from '../../cluster/wire/connection.ts';
import { checkNamespace } from '../../cluster/wire/probe.ts';
import type { Settings } from '../../config/settings/settings.ts';
import type { ReferenceSettings } from '../../sync/loop/content/references.ts';
import type { DaemonOptions } from '../options/daemon-options.ts';
import { contentPermissions, missingPermissions, permissionsOf, sentencesOf } from '../synced/permissions.ts';
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

export interface StartCheck {
  faults: readonly ClusterFault[];
  /** What somebody must mend although the start goes on, in sentences. */
  warnings: readonly string[];
}

export async function checkStart(connections: BothClusters, checked: CheckedSettings): Promise<StartCheck> {
  const { hostNamespace } = checked.settings;
  const namespace = await checkNamespace(connections.host, hostNamespace);
  const missing = await checkRights(connections, checked);
  const faults = [...(namespace.kind === 'missing' ? [namespace.fault] : []), ...missing];
  if (faults.length > 0) return { faults, warnings: [] };
  if (namespace.kind !== 'terminating') return { faults, warnings: await nameWarnings(connections.host, checked) };
  return {
    faults,
    warnings: [
      `host namespace "${hostNamespace}" is being deleted, so no copy can be made in it; wait for its end, or name the namespace that the virtual cluster runs in`,
    ],
  };
}

/** Without owners a misspelt name of the virtual cluster is no fault: copies would be made under it, in addition to those of the real name. */
async function nameWarnings(host: Connection, { settings }: CheckedSettings): Promise<string[]> {
  const { virtualClusterName: name, hostNamespace, setOwner, namespaces } = settings;
  if (setOwner && !namespaces.enabled) return [];
  const path = `/api/v1/namespaces/${encodeURIComponent(hostNamespace)}/services/${encodeURIComponent(name)}`;
  const answer = await host.request({ method: 'GET', path });
  if (answer.kind !== 'notFound') return [];
  return [
    `host namespace "${hostNamespace}" has no Service "${name}", which vCluster makes under its own name; is that the name of the virtual cluster? If not, correct --vcluster-name`,
  ];
}

export function checkRights(
  connections: BothClusters,
  { patches, ...needs }: CheckedSettings,
): Promise<readonly ClusterFault[]> {
  const references = referenceSettings(needs.settings, patches);
  return missingPermissions(connections, permissionsOf({ ...needs, references }));
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
