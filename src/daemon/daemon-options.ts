// What the front door wires together and commands only use: the daemon as they see it.
import type { Clock } from '../clock.ts';
import type { ClusterFault } from '../cluster/errors.ts';
import type { Settings } from '../config/settings/settings.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { LoadedPatches } from './load-patches.ts';
import type { OperationsAnswers } from './operations-server.ts';

export interface DaemonOptions {
  settings: Settings;
  /** None by default. */
  patches?: LoadedPatches;
  /** The whole daemon, no write. */
  isDryRun: boolean;
  /** For how long a start waits for a cluster that cannot be reached yet; not at all by default. */
  waitMs?: number;
  log: Log;
  clock: Clock;
  random: () => number;
  metrics: Metrics;
  environment: Readonly<Record<string, string | undefined>>;
  version: string;
  /** The Node that the sandbox process is started with: this one. Needed where there are patches. */
  nodePath?: string;
}

export type Started = { kind: 'started' } | { kind: 'faults'; faults: readonly ClusterFault[] };

export interface Daemon extends Omit<OperationsAnswers, 'metrics'> {
  /** Reaches both clusters and begins; faults of the set-up come back, first lists may still be under way. */
  start(): Promise<Started>;
  /** Takes no more work, finishes or abandons what it has within 5 s, gives the lease back. */
  stop(): Promise<void>;
  /** A new configuration; what cannot change while running is named and left as it was. */
  apply(settings: Settings, patches?: LoadedPatches): { needsRestart: readonly string[] };
  /** Resolves when the daemon ends by itself, with why: a lost watch that no retry will bring back. */
  readonly ended: Promise<string>;
}

export interface Rooms {
  assembleDaemon(options: DaemonOptions): Daemon;
}

/** Loaded when a command needs them: most commands never touch a cluster. */
export type LoadRooms = () => Promise<Rooms>;
