// Kubernetes stores on a namespace of an API server, embedded or real, as tests make them.

import { systemClock } from '../../../src/clock.ts';
import { openConnection } from '../../../src/cluster/wire/transport.ts';
import { silentLog } from '../../../src/log.ts';
import { HostSecrets } from '../../../src/management/server/host/records/host-secrets.ts';
import { KubernetesStore } from '../../../src/store/kubernetes/kubernetes-store.ts';
import type { KubernetesStoreOptions } from '../../../src/store/kubernetes/store-options.ts';
import { Seals } from '../../../src/store/kubernetes/trust/seals.ts';
import type { Store } from '../../../src/store/store.ts';
import type { Version } from '../../../src/store/timeline.ts';
import { ApiClient } from '../client.ts';
import type { Numbering } from './store-numbering.ts';

export interface HostServer {
  url: string;
  caPem: string;
  adminToken: string;
}

export function connectionTo({ url, caPem, adminToken }: HostServer) {
  const tls = { ca: caPem, cert: undefined, key: undefined, servername: undefined, rejectUnauthorized: true };
  const headers = { authorization: `Bearer ${adminToken}` };
  const read = async () => ({ server: url, proxy: undefined, headers, tls, from: 'files' as const });
  const credentials = { server: url, source: 'the test', namespace: undefined, proxy: undefined, read };
  return openConnection({ name: 'host', credentials, clock: systemClock, log: silentLog });
}

export const sealKey = { version: 1, bytes: new Uint8Array(32).fill(1) };

let namespaces = 0;

export async function newNamespace({ url, caPem, adminToken }: HostServer): Promise<string> {
  const name = `records-${++namespaces}`;
  const client = new ApiClient({ url, caPem, token: adminToken });
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  const { status, text } = await client.request('POST', '/api/v1/namespaces', { body });
  if (status !== 201) throw new Error(`namespace ${name} was answered ${status}: ${text}`);
  return name;
}

/** Without a store: as a store has them, or somebody with kubectl. */
export function recordsOn(server: HostServer, namespace: string, replica = 'hand'): HostSecrets {
  const common = { clock: systemClock, random: Math.random, log: silentLog };
  return new HostSecrets({ ...common, connection: connectionTo(server), namespace, replica });
}

export function storeOn(
  server: HostServer,
  namespace: string,
  options: Partial<KubernetesStoreOptions> = {},
  Kind = NumberedStore,
): NumberedStore {
  const { replica = 'one' } = options;
  return new Kind({
    clock: systemClock,
    host: recordsOn(server, namespace, replica),
    replica,
    newEpoch: () => 'first',
    hostClock: systemClock,
    seals: async () => new Seals([sealKey]),
    ...options,
  });
}

/** Remembers the revisions of its changes, so that they can be counted. */
export class NumberedStore extends KubernetesStore {
  readonly revisions: number[] = [];
  readonly given: KubernetesStoreOptions;
  base = 0;
  /** How often it has shown a record that no watch had heard of, because it could be judged only later. */
  takenLate = 0;

  protected override restart(world: { found: readonly Omit<Version, 'before' | 'atMs'>[]; revision: number }): void {
    // A list of the host after a loss is of a later version.
    if (this.state === 'open' && world.revision === this.timeline.revision) this.takenLate++;
    super.restart(world);
  }

  constructor(options: KubernetesStoreOptions) {
    super(options);
    this.given = options;
  }

  override async start(): Promise<void> {
    await super.start();
    this.base = await this.currentRevision();
    const publish = this.hub.publish.bind(this.hub);
    this.hub.publish = (event) => {
      this.revisions.push(event.revision);
      publish(event);
    };
  }
}

/** Far beyond what a test writes. */
const future = 1_000_000;

export function numberingOf(store: Store): Numbering {
  const { revisions, base } = store as NumberedStore;
  return {
    revisionOf(count) {
      if (count <= 0) return count === 0 ? base : 0;
      return revisions[count - 1] ?? (revisions.at(-1) ?? base) + future * (count - revisions.length);
    },
    countOf: (revision) => revisions.filter((each) => each <= revision).length,
  };
}
