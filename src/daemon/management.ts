// Part of the front door: the management API together with the sync, or alone. In: the settings of the daemon. Out: something to start,
// ask and stop; without a management API in the configuration every answer is empty. It must never know the room of the API itself:
// both are on one floor, and the command line hands the one to the other.
import { NamedFileFault } from '../apiserver/tls/secret-files.ts';
import { isListenFault } from '../apiserver/wire/listen.ts';
import type { ClusterFault } from '../cluster/errors.ts';
import { messageOf } from '../cluster/errors.ts';
import type { Settings } from '../config/settings/settings.ts';
import { settingNaming } from '../config/settings/table/named-files.ts';
import { StoreFault } from '../store/errors.ts';
import type { ReadinessPart } from './operations/operations-server.ts';
import type { DaemonOptions, ManagementService } from './options/daemon-options.ts';
import { holdNursery } from './process/hold-nursery.ts';

const place = ['hostward', 'management'];

export class RunningManagement {
  readonly #options: DaemonOptions;
  #api: ManagementService | undefined;
  #trouble: string | undefined;

  constructor(options: DaemonOptions) {
    this.#options = options;
  }

  /** Nothing is written in a dry run, and this API has nothing but writes to show. */
  async start({ management, managementServer }: Settings): Promise<readonly ClusterFault[]> {
    if (management === undefined || managementServer === undefined || this.#options.isDryRun) return [];
    const { clock, log, version, metrics, environment } = this.#options;
    const { createManagement } = this.#options;
    if (createManagement === undefined) throw new Error('start the management API: want a function that makes it');
    const api = await createManagement({
      settings: management,
      server: managementServer,
      clock,
      log,
      version,
      metrics,
      environment,
    });
    const letGrow = holdNursery();
    try {
      await api.open();
      await api.serve();
      this.#api = api;
      return [];
    } catch (error) {
      await api.close();
      // The command line names the address, its setting and the cause.
      if (isListenFault(error)) throw error;
      const setting =
        error instanceof NamedFileFault && settingNaming(error.file, managementServer, place, error.member);
      const message = `starting the management API: ${setting ? `${setting}: ` : ''}${wholeMessageOf(error)}`;
      const fix = setting ? `correct ${setting}, or what it names` : fixOf(error, managementServer);
      return [{ code: 'MANAGEMENT_NOT_STARTED', message, fix }];
    } finally {
      letGrow();
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
    const { writeTrouble, notes = [] } = this.#api ?? {};
    const troubles = [this.#trouble, writeTrouble, ...notes].filter((each) => each !== undefined);
    const trouble = troubles.map((each) => `management: ${each}`);
    return {
      name: 'management',
      isReady: isServing && writeTrouble === undefined,
      lines: [`management: ${line}`, ...trouble],
    };
  }

  status(): (object & { troubles?: readonly string[] }) | undefined {
    return this.#api?.isServing === true ? this.#api.status() : undefined;
  }

  async stop(): Promise<void> {
    await this.#api?.close();
  }
}

function fixOf(error: unknown, { store }: NonNullable<Settings['managementServer']>): string {
  if (error instanceof StoreFault && error.code === 'STORE_LOCKED')
    return 'end the other process, or give this one a hostward.management.dataDir of its own; nothing is damaged';
  return store?.kubernetes === undefined
    ? 'check hostward.management.dataDir; `hostward docs bad-days` tells how to bring its files back'
    : 'check hostward.management.store.kubernetes, secretsDir and dataDir; `hostward doctor` looks at each, `hostward docs replicas` tells the rest';
}

/** The store's sentence ends with what mends it, so it is not cut, as other people's text is. */
function wholeMessageOf(error: unknown): string {
  if (!(error instanceof StoreFault)) return messageOf(error);
  return error.cause === undefined ? error.message : `${error.message}: ${messageOf(error.cause)}`;
}
