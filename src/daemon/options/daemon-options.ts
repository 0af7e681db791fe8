// The daemon as the commands see it: the options it needs, and the interface it offers.

import type { Clock } from '../../clock.ts';
import type { ClusterFault } from '../../cluster/errors.ts';
import type { SocketOpener } from '../../cluster/wire/pools.ts';
import type { ManagementServerSettings, ManagementSettings } from '../../config/settings/management-settings.ts';
import type { Settings } from '../../config/settings/settings.ts';
import type { SandboxSetup } from '../../expression/realm/harness.ts';
import type { Sandbox } from '../../expression/sandbox/sandbox.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { PageFacts } from '../../sync/report/look/page-facts.ts';
import type { OperationsAnswers } from '../operations/operations-server.ts';
import type { LoadedPatches } from './load-patches.ts';

export interface DaemonOptions {
  settings: Settings;
  /** Compiled patches; without them objects are only translated. */
  patches?: LoadedPatches;
  /** Runs the whole daemon without a single write. */
  isDryRun: boolean;
  /** How long a start waits for a cluster that cannot be reached yet; 0 by default. */
  waitMs?: number;
  log: Log;
  clock: Clock;
  random: () => number;
  metrics: Metrics;
  environment: Readonly<Record<string, string | undefined>>;
  version: string;
  /** Path of the Node program that starts the sandbox process; needed when there are patches. */
  nodePath?: string;
  /** Open the sockets to the clusters, in place of TCP and TLS. */
  connectors?: Readonly<Record<'virtual' | 'host', SocketOpener>>;
  /** Opens the sandbox, in place of a process. */
  openSandbox?: (setup: SandboxSetup) => Sandbox;
  /** Makes the management API when the configuration has one. */
  createManagement?: CreateManagement;
}

export interface ManagementInput extends Pick<DaemonOptions, 'clock' | 'log' | 'version' | 'metrics' | 'environment'> {
  settings: ManagementSettings;
  server: ManagementServerSettings;
}

/** The management API as the daemon sees it. */
export interface ManagementService {
  open(): Promise<void>;
  serve(): Promise<void>;
  apply(settings: ManagementSettings): Promise<void>;
  close(): Promise<void>;
  readonly isServing: boolean;
  /** Why no change can be stored. */
  readonly writeTrouble?: string | undefined;
  /** What somebody must mend while requests are answered. */
  readonly notes?: readonly string[];
  readonly url: string;
  /** `troubles`: what somebody must mend, in sentences. */
  status(): object & { troubles?: readonly string[] };
}

export type CreateManagement = (options: ManagementInput) => Promise<ManagementService>;

export type Started = { kind: 'started' } | { kind: 'faults'; faults: readonly ClusterFault[] };

export interface Daemon extends Omit<OperationsAnswers, 'metrics'> {
  /** Reaches both clusters and begins to sync. Returns faults of the set-up; the first lists may still be loading. */
  start(): Promise<Started>;
  /** Takes no more work, finishes or abandons running work within 5 s, and releases the lease. */
  stop(): Promise<void>;
  /**
   * Applies a new configuration. Settings that need a restart keep their old values and are named in the result. `inForce` tells whether the
   * rest has come into force: patches need a new sandbox and rights are asked for, and the old configuration counts until then.
   */
  apply(settings: Settings, patches?: LoadedPatches): { needsRestart: readonly string[]; inForce: Promise<boolean> };
  /** What pages ask in addition to the status. */
  readonly pageFacts: PageFacts;
  /** Reads both kubeconfigs at once. */
  rereadKubeconfigs(): void;
  /** Resolves with the reason when the daemon cannot go on by itself. */
  readonly ended: Promise<string>;
}

export interface DaemonModule {
  assembleDaemon(options: DaemonOptions): Daemon;
}

/** Loads the code of the daemon on demand, because most commands never touch a cluster. */
export type LoadDaemon = () => Promise<DaemonModule>;
