// Part of the front door: the way to both clusters. In: where the credentials are, and for how long a cluster that is not
// up yet may keep us waiting. Out: two connections whose servers have said who they are, or every fault of both at once.

import { pause } from '../clock.ts';
import { openCredentials } from '../cluster/credentials/credentials.ts';
import type { ClusterFault } from '../cluster/errors.ts';
import type { Connection } from '../cluster/wire/connection.ts';
import { probe } from '../cluster/wire/probe.ts';
import { openConnection } from '../cluster/wire/transport.ts';
import type { Settings } from '../config/settings/settings.ts';
import type { DaemonOptions } from './daemon-options.ts';

export type Reached =
  | { kind: 'reached'; virtual: Connection; host: Connection }
  | { kind: 'faults'; faults: readonly ClusterFault[] };

/** The first try comes soon, as most API servers are up within seconds; later ones find it without much delay. */
const firstPauseMs = 250;
const longestPauseMs = 5_000;

interface Way {
  readonly name: 'virtual' | 'host';
  readonly kubeconfig: string | undefined;
  connection: Connection | undefined;
  version: string | undefined;
  /** Why the last try came to nothing. */
  trouble: string | undefined;
}

type Options = Pick<DaemonOptions, 'environment' | 'clock' | 'random' | 'log' | 'version' | 'waitMs'>;

export class Clusters {
  readonly #options: Options;
  readonly #ways: readonly [Way, Way];
  readonly #seenWarnings = new Set<string>();
  readonly #stopping = new AbortController();
  #isTrying = false;

  constructor(options: Options, settings: Pick<Settings, 'virtualKubeconfig' | 'hostKubeconfig'>) {
    const way = (name: Way['name'], kubeconfig: string | undefined): Way => {
      return { name, kubeconfig, connection: undefined, version: undefined, trouble: undefined };
    };
    this.#options = options;
    this.#ways = [way('virtual', settings.virtualKubeconfig), way('host', settings.hostKubeconfig)];
  }

  get versions(): { virtual: string; host: string } {
    const [virtual, host] = this.#ways;
    return { virtual: virtual.version ?? '', host: host.version ?? '' };
  }

  /** Undefined until both clusters were reached. */
  get connections(): { virtual: Connection; host: Connection } | undefined {
    const [virtual, host] = this.#ways;
    if (virtual.version === undefined || host.version === undefined) return undefined;
    return { virtual: virtual.connection as Connection, host: host.connection as Connection };
  }

  /** What a start waits for; none when it does not wait. */
  get troubles(): readonly string[] {
    if (!this.#isTrying) return [];
    return this.#ways.flatMap(({ trouble }) => trouble ?? []);
  }

  /** The same by cluster. */
  get unreached(): readonly { cluster: Way['name']; message: string }[] {
    if (!this.#isTrying) return [];
    return this.#ways.flatMap(({ name, trouble }) => (trouble ? { cluster: name, message: trouble } : []));
  }

  async reach(): Promise<Reached> {
    this.#isTrying = true;
    try {
      return await this.#tryUntilReached();
    } finally {
      this.#isTrying = false;
    }
  }

  async #tryUntilReached(): Promise<Reached> {
    const { clock, random, waitMs = 0 } = this.#options;
    const { signal } = this.#stopping;
    const endMs = clock.now() + waitMs;
    const told = new Set<string>();
    for (let attempt = 0; ; attempt++) {
      const faults = (await Promise.all(this.#ways.map((way) => this.#try(way)))).flat();
      const reached = this.connections;
      if (reached !== undefined && faults.length === 0) {
        if (told.size > 0) this.#options.log.info({ component: 'main' }, 'both clusters are reached');
        return { kind: 'reached', ...reached };
      }
      const leftMs = endMs - clock.now();
      if (leftMs <= 0 || signal.aborted || !faults.every((fault) => fault.mayPass)) return { kind: 'faults', faults };
      this.#tell(faults, told, waitMs);
      const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(attempt, 10)) * (0.75 + random() / 4);
      await pause(clock, Math.min(pauseMs, leftMs), signal);
    }
  }

  /** A side that was reached is not asked again. */
  async #try(way: Way): Promise<readonly ClusterFault[]> {
    if (way.version !== undefined) return [];
    // Both kubeconfigs may name the same file, and an address alone does not tell which of the two it is.
    const reaching = (fault: ClusterFault): ClusterFault => ({
      ...fault,
      message: `reaching the ${way.name} cluster: ${fault.message}`,
    });
    const faults = (await this.#faultsOf(way)).map(reaching);
    way.trouble = faults.length === 0 ? undefined : faults.map(({ message }) => message).join('; ');
    return faults;
  }

  async #faultsOf(way: Way): Promise<readonly ClusterFault[]> {
    const { environment, clock, log, version } = this.#options;
    if (way.connection === undefined) {
      const opened = await openCredentials({ kubeconfig: way.kubeconfig, environment });
      if (opened.kind === 'faults') return opened.faults;
      if (this.#stopping.signal.aborted) return [];
      const { name } = way;
      const { credentials } = opened;
      way.connection = openConnection({ name, credentials, clock, log, seenWarnings: this.#seenWarnings, version });
    }
    const result = await probe(way.connection);
    if (result.kind === 'faults') return result.faults;
    way.version = result.version;
    return [];
  }

  #tell(faults: readonly ClusterFault[], told: Set<string>, waitMs: number): void {
    for (const { message, fix } of faults) {
      if (told.has(message)) continue;
      told.add(message);
      const waitSeconds = Math.round(waitMs / 1000);
      this.#options.log.warn({ component: 'main', trouble: message, fix, waitSeconds }, 'waiting for a cluster');
    }
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#ways.map(({ connection }) => connection?.close()));
  }
}
