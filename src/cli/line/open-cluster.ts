// Opens a client for one of the two clusters of a configuration, or throws the faults.
import { openCredentials } from '../../cluster/credentials/credentials.ts';
import { openConnection } from '../../cluster/wire/transport.ts';
import { silentLog } from '../../log.ts';
import { ClusterClient } from './cluster-client.ts';
import { clusterFault } from './cluster-fault.ts';
import type { Context } from './context.ts';

export async function openCluster(context: Context, options: { name: string; kubeconfig: string | undefined }) {
  const { environment, clock, version } = context;
  const opened = await openCredentials({ kubeconfig: options.kubeconfig, environment });
  if (opened.kind === 'faults') throw clusterFault(opened.faults);
  const { credentials } = opened;
  return new ClusterClient(openConnection({ name: options.name, credentials, clock, log: silentLog, version }));
}
