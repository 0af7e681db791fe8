// Opens the lease that lets only one of several replicas write. In: settings and a connection. Out: the lease, with its object
// name and the identity of this process.
import type { Connection } from '../cluster/wire/connection.ts';
import { type Lease, openLease } from '../cluster/write/lease.ts';
import type { DaemonOptions } from './daemon-options.ts';

export function openDaemonLease(options: DaemonOptions, host: Connection): Lease {
  const { clock, random, log, metrics, environment, settings } = options;
  const { hostNamespace, virtualClusterName } = settings;
  const name = environment['POD_NAME'] ?? environment['HOSTNAME'] ?? 'hostward';
  const identity = `${name}_${Math.floor(random() * 0xffffffffffff)
    .toString(16)
    .padStart(12, '0')}`;
  return openLease({
    connection: host,
    namespace: hostNamespace,
    name: `hostward-${virtualClusterName}`,
    identity,
    clock,
    random,
    log,
    metrics,
  });
}
