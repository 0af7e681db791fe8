// Keeps the one connection to the cluster behind a direct endpoint, with the credentials of a kubeconfig or of the pod. In: the
// settings. Out: the upstream for the cluster and its spaces, or a Status with the reason why it cannot be used.
import { StatusFault } from '../../../apiserver/request/status-fault.ts';
import type { Clock } from '../../../clock.ts';
import { openCredentials } from '../../../cluster/credentials/credentials.ts';
import { RawConnection } from '../../../cluster/wire/raw-connection.ts';
import type { DirectSettings } from '../../../config/settings/management-settings.ts';
import type { Log } from '../../../log.ts';
import { serviceUnavailable, soonSeconds } from '../../../object/meta/status.ts';
import type { Upstream } from '../forward/forward.ts';

export interface DirectUpstreamOptions {
  settings: Pick<DirectSettings, 'cluster' | 'kubeconfig'>;
  /** Exec plugins of the kubeconfig inherit it. */
  environment: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  log: Log;
}

/** A kubeconfig that is written later is found at the first request after this time. */
const retryMs = 1_000;

export class DirectUpstream {
  readonly #options: DirectUpstreamOptions;
  #upstream: Upstream | undefined;
  #triedMs: number | undefined;

  constructor(options: DirectUpstreamOptions) {
    this.#options = options;
  }

  async upstreamOf(): Promise<Upstream> {
    const { settings, clock } = this.#options;
    const isDue = this.#triedMs === undefined || clock.now() - this.#triedMs >= retryMs;
    if (this.#upstream === undefined && isDue) await this.open();
    if (this.#upstream !== undefined) return this.#upstream;
    const message = `the kubeconfig of cluster ${settings.cluster} cannot be used; the log of the endpoint says why`;
    throw new StatusFault(serviceUnavailable(message, soonSeconds));
  }

  /** The start opens it as well, so that faults are in the log at once. */
  async open(): Promise<void> {
    const { settings, environment, clock, log } = this.#options;
    this.#triedMs = clock.now();
    const name = `cluster ${settings.cluster}`;
    const result = await openCredentials({ kubeconfig: settings.kubeconfig, environment });
    if (result.kind === 'faults') {
      const faults = result.faults.map(({ message }) => message);
      log.error({ component: 'direct', upstream: name, faults }, 'kubeconfig cannot be used');
      return;
    }
    const connection = new RawConnection({ name, credentials: result.credentials, clock, log });
    const mendRights = `hostward upstream-rbac --cluster ${settings.cluster} --config FILE >rights.yaml && kubectl --kubeconfig ADMIN-THERE apply -f rights.yaml`;
    this.#upstream = { name, connection, mendRights };
  }

  close(): void {
    this.#upstream?.connection.close();
  }
}
