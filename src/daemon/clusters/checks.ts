// Checks what both clusters must grant before work begins or a configuration is applied. In: settings and connections. Out: every
// fault at once, so that the operator can mend all of them before the next start.
import type { ClusterFault } from '../../cluster/errors.ts';
import type { Connection } from '../../cluster/wire/connection.ts';
import { checkNamespace, type FoundNamespace } from '../../cluster/wire/probe.ts';
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

/** Returns the namespace too, so that the start need not ask for it again. */
export async function checkStart(
  connections: BothClusters,
  checked: CheckedSettings,
): Promise<{ faults: readonly ClusterFault[]; namespace: FoundNamespace }> {
  const [namespace, missing] = await Promise.all([
    checkNamespace(connections.host, checked.settings.hostNamespace),
    checkRights(connections, checked),
  ]);
  return { faults: [...(namespace.kind === 'missing' ? [namespace.fault] : []), ...missing], namespace };
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
