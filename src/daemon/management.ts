// Part of the front door: the management API beside the sync, or alone. In: the settings of the daemon. Out: something to start,
// ask and stop, which is nothing at all when the configuration has no management API.
import type { ClusterFault } from '../cluster/errors.ts';
import { messageOf } from '../cluster/errors.ts';
import type { Settings } from '../config/settings/settings.ts';
import type { ManagementApi } from '../management/server/management-api.ts';
import type { DaemonOptions } from './daemon-options.ts';
import type { ReadinessPart } from './operations-server.ts';

export class RunningManagement {
  readonly #options: DaemonOptions;
  #api: ManagementApi | undefined;
  #trouble: string | undefined;

  constructor(options: DaemonOptions) {
    this.#options = options;
  }

  /** Nothing is written in a dry run, and this API has nothing but writes to show. */
  async start({ management, managementServer }: Settings): Promise<readonly ClusterFault[]> {
    if (management === undefined || managementServer === undefined || this.#options.isDryRun) return [];
    const { clock, log, version, metrics } = this.#options;
    // A daemon that only syncs does without the memory of a server and a database.
    const { ManagementApi: Api } = await import('../management/server/management-api.ts');
    const api = new Api({ settings: management, server: managementServer, clock, log, version, metrics });
    try {
      await api.open();
      await api.serve();
      this.#api = api;
      return [];
    } catch (error) {
      await api.close();
      const message = `starting the management API: ${messageOf(error)}`;
      const fix = 'check hostward.management.listen and hostward.management.dataDir';
      return [{ code: 'MANAGEMENT_NOT_STARTED', message, fix }];
    }
  }

  /** Rejects when the new settings could not be written down. */
  async take({ management }: Settings): Promise<void> {
    if (this.#api === undefined || management === undefined) return;
    this.#trouble = 'a new configuration is being taken over';
    await this.#api.apply(management);
    this.#trouble = undefined;
  }

  /** Undefined when the configuration has no management API. */
  readiness({ management }: Settings): ReadinessPart | undefined {
    if (management === undefined) return undefined;
    if (this.#options.isDryRun) return { name: 'management', isReady: true, lines: ['management: off in a dry run'] };
    const isServing = this.#api?.isServing === true;
    const line = isServing ? `serving at ${this.#api?.url}` : 'not serving';
    const trouble = this.#trouble === undefined ? [] : [`management: ${this.#trouble}`];
    return { name: 'management', isReady: isServing, lines: [`management: ${line}`, ...trouble] };
  }

  status(): object | undefined {
    return this.#api?.isServing === true ? this.#api.status() : undefined;
  }

  async stop(): Promise<void> {
    await this.#api?.close();
  }
}
