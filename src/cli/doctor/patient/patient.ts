// What the checks of one examination know and find out for each other: the options, the configuration, the clusters that answered.
// A check that needs a fact names the check that finds it, so that an absent fact is a bug.

import type { Permission } from '../../../cluster/permission.ts';
import type { ClusterConnection } from '../../../cluster/wire/connection.ts';
import type { Settings } from '../../../config/settings/settings.ts';
import { optionWords } from '../../../sync/report/attention/own-commands.ts';
import { ClusterClient, type Side } from '../../line/cluster-client.ts';
import { settingOptions } from '../../line/commands/options.ts';
import type { Context } from '../../line/context.ts';
import type { GoodConfiguration } from '../../line/load-settings.ts';
import type { Options } from '../../line/parse-arguments.ts';
import { programInPod } from '../../running/started-as.ts';
import { AskedCluster } from './asked-cluster.ts';
import type { Finding } from './finding.ts';
import type { Meeting } from './meet.ts';
import { Patience } from './patience.ts';
import type { StoredRecords } from './stored-records.ts';

/** The clusters that doctor asks more than once: both sides, and the one of the records. */
export type AskedSide = Side | 'records';

/** A cluster that has answered. */
export interface ReachedCluster extends Meeting {
  connection: ClusterConnection;
  client: ClusterClient;
}

/** The cluster that keeps the records of the management API. */
export type RecordsCluster = Pick<ReachedCluster, 'connection' | 'client'>;

/** A right that an account lacks; with names only on the objects of these names. */
export type LackedRight = Permission & { names?: readonly string[] };

/** On a namespace that may not exist, a Role cannot grant it. */
export const readNamespace: Permission = { verb: 'get', group: '', resource: 'namespaces', namespace: undefined };

export class Patient {
  readonly context: Context;
  readonly options: Options;
  readonly patience: Patience;
  /** Fires at Ctrl-C. */
  readonly stopping: AbortSignal;
  readonly #reached = new Map<Side, ReachedCluster>();
  #loaded: GoodConfiguration | undefined;
  #recordsCluster: RecordsCluster | undefined;
  #records: StoredRecords | undefined;
  /** Clusters that could not be asked at all, or answered no more. */
  readonly silent = new Set<AskedSide>();
  /** Those that answered at first and then no more, with the first question that got no answer. */
  readonly lost = new Map<AskedSide, string>();
  /** Where the pods of the account are, when it has no right in the host namespace, which is probably another one than meant. */
  homeInstead: string | undefined;
  /** What is to say of the namespace that the account was sent to. */
  notItsNamespace: Finding | undefined;
  /** Its kubeconfig leads to another cluster, whose rights say nothing. */
  isVirtualAnother = false;
  /** The host namespace was read, and is not being deleted. */
  hasSeenNamespace = false;
  /** Containers of Hostward in the values that vCluster runs with. */
  runningSidecars = 0;
  /** Of the pod that doctor runs in. */
  podNamespace: string | undefined;

  /** By side, with the account that lacks them. */
  readonly lacked = new Map<Side, { user: string | undefined; rights: LackedRight[] }>();

  constructor(context: Context, options: Options, stopping: AbortSignal) {
    this.context = context;
    this.options = options;
    this.stopping = stopping;
    this.patience = new Patience(context.clock, (line) => context.stderr.write(line));
  }

  get isBeforeInstallation(): boolean {
    return this.options.has('pre') || this.options.has('manifests');
  }

  /** Of what would be installed. */
  get hasManifests(): boolean {
    return this.options.has('manifests');
  }

  get loaded(): GoodConfiguration {
    if (this.#loaded === undefined) throw new Error('a check asks for the configuration before it is loaded');
    return this.#loaded;
  }

  get settings(): Settings {
    return this.loaded.settings;
  }

  /** False for a configuration of the management API alone. */
  get hasSync(): boolean {
    return this.#loaded !== undefined && this.settings.virtualClusterName !== '';
  }

  get isInPod(): boolean {
    return Boolean(this.context.environment['KUBERNETES_SERVICE_HOST']);
  }

  /** Where the pods of Hostward are. */
  get ownNamespace(): string {
    const meant = this.hasSync ? this.settings.hostNamespace : '';
    return this.podNamespace || this.homeInstead || meant || 'NAMESPACE';
  }

  /** A command of ours as the reader can type it: the image has none in its PATH, and a pod is entered from outside. */
  command(words: string): string {
    if (!this.isInPod) return `hostward ${words}`;
    const pod = this.context.environment['HOSTNAME'] ?? 'deploy/hostward';
    return `${programInPod({ namespace: this.ownNamespace, pod })} ${words}`;
  }

  /** The same for a command that reads this configuration: without it, status would ask the default port. */
  commandHere(name: string, more: readonly string[] = []): string {
    const options = settingOptions.flatMap(({ name: option }) =>
      this.options.texts(option).map((value) => optionWords({ option, value })),
    );
    return this.command([name, ...options, ...more].join(' '));
  }

  takeLacked(side: Side, user: string | undefined, rights: readonly LackedRight[]): void {
    const known = this.lacked.get(side)?.rights ?? [];
    this.lacked.set(side, { user, rights: [...known, ...rights] });
  }

  takeConfiguration(loaded: GoodConfiguration): void {
    this.#loaded = loaded;
  }

  reached(side: Side): ReachedCluster | undefined {
    return this.#reached.get(side);
  }

  cluster(side: Side): ReachedCluster {
    const cluster = this.reached(side);
    if (cluster === undefined) throw new Error(`a check asks the ${side} cluster before it has answered`);
    return cluster;
  }

  takeCluster(side: Side, meeting: Meeting, opened: ClusterConnection): void {
    const connection = this.#asked(side, opened);
    this.#reached.set(side, { ...meeting, connection, client: new ClusterClient(connection) });
  }

  takeRecordsCluster(opened: ClusterConnection): void {
    const connection = this.#asked('records', opened);
    this.#recordsCluster = { connection, client: new ClusterClient(connection) };
  }

  #asked(side: AskedSide, connection: ClusterConnection): AskedCluster {
    const silent = (why: string): void => {
      this.silent.add(side);
      this.lost.set(side, why);
    };
    return new AskedCluster(connection, { silent, stopping: this.stopping, patience: this.patience });
  }

  get recordsCluster(): RecordsCluster {
    if (this.#recordsCluster === undefined)
      throw new Error('a check asks the cluster of the records before it is known');
    return this.#recordsCluster;
  }

  takeRecords(records: StoredRecords): void {
    this.#records = records;
  }

  get records(): StoredRecords {
    if (this.#records === undefined) throw new Error('a check asks for the records before they are read');
    return this.#records;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#reached.values()].map(({ client }) => client.close()));
    await this.#recordsCluster?.client.close();
    this.#reached.clear();
  }
}
