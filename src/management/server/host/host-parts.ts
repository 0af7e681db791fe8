// Opens what a store on a cluster is made of, over one connection: the records, the lease of who sweeps, the look for hidden records, and
// the rights of the account. In: settings and the name of the replica. Out: parts that nobody has started.
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../clock.ts';
import { openCredentials } from '../../../cluster/credentials/credentials.ts';
import { openConnection } from '../../../cluster/wire/transport.ts';
import { type Lease, openLease } from '../../../cluster/write/lease.ts';
import type { KubernetesStoreSettings } from '../../../config/settings/management-settings.ts';
import type { Log } from '../../../log.ts';
import { createMetrics, type Metrics } from '../../../metrics.ts';
import { StoreFault } from '../../../store/errors.ts';
import { HiddenRecords } from './records/hidden-records.ts';
import { HostSecrets } from './records/host-secrets.ts';
import { RecordRights, sweeperLease } from './records/record-rights.ts';

export interface HostPartsOptions {
  kubernetes: KubernetesStoreSettings;
  replica: string;
  clock: Clock;
  log: Log;
  metrics: Metrics | undefined;
  environment: Readonly<Record<string, string | undefined>>;
}

export interface HostParts {
  host: HostSecrets;
  lease: Lease;
  hidden: HiddenRecords;
  rights: RecordRights;
}

/** Nothing waits for a sweep that begins some seconds later, and every replica but one asks the host so often. */
const sweeperLookMs = 5_000;

export async function openHostParts(options: HostPartsOptions): Promise<HostParts> {
  const { replica, clock, log, metrics, environment } = options;
  const { kubeconfig, namespace } = options.kubernetes;
  const opened = await openCredentials({ kubeconfig, environment });
  if (opened.kind === 'faults')
    throw new StoreFault(
      'STORE_OPEN_FAILED',
      `Cannot open the store: ${opened.faults.map(({ message, fix }) => `${message}; ${fix}`).join('; ')}`,
    );
  const bare = openConnection({ name: 'store', credentials: opened.credentials, clock, log });
  const place = `namespace "${namespace}" of ${bare.server}`;
  const rights = new RecordRights({ connection: bare, namespace, place, clock, log });
  const connection = rights.heard(bare);
  const random = () => randomBytes(4).readUInt32LE() / 2 ** 32;
  const common = { connection, namespace, clock, log };
  return {
    rights,
    host: new HostSecrets({ ...common, replica, random }),
    hidden: new HiddenRecords(common),
    lease: openLease({
      ...{ ...common, name: sweeperLease, identity: replica, random, lookMs: sweeperLookMs },
      metrics: metrics ?? createMetrics(),
    }),
  };
}
