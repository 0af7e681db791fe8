// The management API as one thing to open, serve, ask and close; here the other rooms are put together. In: settings, a clock, a log,
// a folder. Out: an HTTPS server of access keys and instances, its readiness and status, and keys made on the machine itself. It can
// be opened without being served, for commands that work on the folder of a server that does not run.
// Must never decide about a right, a scope or a credential: it asks the rooms that do.

import { CallerLimits, type Held, type Limit } from '../../apiserver/limits/caller-limits.ts';
import type { LoopShares } from '../../apiserver/limits/loop-time.ts';
import { UnprovenConnections } from '../../apiserver/limits/unproven-connections.ts';
import type { ApiServer } from '../../apiserver/server.ts';
import { fromSetting } from '../../apiserver/wire/listen.ts';
import type { Clock, Timer } from '../../clock.ts';
import {
  type ManagementServerSettings,
  type ManagementSettings,
  secretsFolder,
} from '../../config/settings/management-settings.ts';
import { parseListen } from '../../config/settings/text-rules.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { serviceUnavailable } from '../../object/meta/status.ts';
import { type BackupSource, type BackupTaken, takeBackup } from '../audit/recovery/take-backup.ts';
import type { Issuing } from '../credentials/credentials.ts';
import { Kubeconfigs } from '../credentials/issue/kubeconfigs.ts';
import { makeOwnKey } from '../credentials/issue/make-key.ts';
import { endOfRevocations } from '../credentials/tokens/revocation-kind.ts';
import { ExpiredKeys, GraceChore } from '../keys/key-chores.ts';
import { SaidLeavers } from '../keys/life/leavers.ts';
import { IngressListener } from '../proxy/ingress-listener.ts';
import { openProxy } from '../proxy/proxy.ts';
import { maxHeaderBytes } from '../proxy/sender.ts';
import { apiServerOf, servingCertificate } from './api-server.ts';
import { LocalSocket, type SocketOwner } from './commands/local-socket.ts';
import { type Database, databaseFor, sweepingOf } from './host/database-for.ts';
import { SweepingCollector } from './host/sweeping-collector.ts';
import { declareMetrics, type OpenManagement, statusOf } from './management-status.ts';
import { closeParts, type OpenParts, openParts } from './open-parts.ts';
import { TakingOver } from './taking-over.ts';
import { type WriteAttempt, WriteCheck, writeAttempt } from './write-check.ts';

export interface ManagementOptions {
  /** Replaces the SQLite file in dataDir. */
  database?: Database;
  settings: ManagementSettings;
  server: ManagementServerSettings;
  clock: Clock;
  log: Log;
  /** The version of the program, for /version. */
  version: string;
  /** Exec plugins of the clusters' kubeconfigs inherit it; default empty. */
  environment?: Readonly<Record<string, string | undefined>>;
  /** What one key and all keys may hold open, and use of the loop; a test makes it small, and a benchmark with few keys lifts it. */
  callerLimits?: Partial<Readonly<Record<Held, Limit>>>;
  loopShares?: LoopShares;
  /** Replaces the write to the disk by which readiness looks; a test makes it fail. */
  writeAttempt?: WriteAttempt;
  /** The registry for the metrics of the API, which GET /metrics answers; absent = no metrics. */
  metrics?: Metrics;
}

/** Streams of a key end within a second after the key. */
const streamCheckMs = 400;

export class ManagementApi {
  readonly #options: ManagementOptions;
  readonly #unproven: UnprovenConnections;
  readonly #limits: CallerLimits;
  readonly #leavers: SaidLeavers;
  #settings: ManagementSettings;
  #running: OpenManagement | undefined;
  #garbageCollector: SweepingCollector | undefined;
  #localSocket: LocalSocket | undefined;
  #expired: ExpiredKeys | undefined;
  #streamCheck: Timer | undefined;
  #writes: WriteCheck | undefined;
  #taking: TakingOver | undefined;
  #caPem = '';
  #isServing = false;

  constructor(options: ManagementOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#unproven = new UnprovenConnections(options);
    this.#limits = new CallerLimits(options.callerLimits);
    this.#leavers = new SaidLeavers(options);
  }

  /** Locks the folder against other processes until it is closed. */
  async open(): Promise<void> {
    const { server, clock, log } = this.#options;
    const database = this.#options.database ?? (await databaseFor(this.#options));
    const settings = () => this.#settings;
    const kinds = () => this.#running?.api.kit.catalog.kinds ?? [];
    const revocationsLost = () => this.#running?.api.endWatchesWhere(endOfRevocations);
    const { dataDir: folder, baseURL } = server;
    const stored = {
      ...{ folder, secretsFolder: secretsFolder(server), baseURL, settings, kinds },
      revocationsLost,
    };
    const parts = await openParts({ ...stored, clock, log, database });
    try {
      const kubeconfigs = this.#kubeconfigsOf(parts);
      await kubeconfigs.open();
      const { environment = {} } = this.#options;
      const proxy = openProxy(parts, { clock, log, environment });
      this.#running = { ...parts, kubeconfigs, proxy, api: await this.#apiOf(parts, { kubeconfigs, proxy }) };
    } catch (error) {
      await closeParts(parts, log);
      throw error;
    }
  }

  async #apiOf(
    parts: OpenParts,
    { kubeconfigs, proxy }: Pick<OpenManagement, 'kubeconfigs' | 'proxy'>,
  ): Promise<ApiServer> {
    const { server, clock, log, version, metrics } = this.#options;
    const { host, port } = parseListen(server.listen) as { host: string; port: number };
    const { tls, caPem } = await servingCertificate(host, server, clock.wallTime());
    this.#caPem = caPem;
    return apiServerOf(parts, {
      kubeconfigs,
      proxy,
      unproven: this.#unproven,
      limits: this.#limits,
      loopShares: this.#options.loopShares,
      osUserOf: (request) => this.#localSocket?.osUserOf(request),
      isReady: () => this.#isServing,
      writeTrouble: () => this.writeTrouble,
      storeTrouble: () => storeTrouble(parts),
      backUp: (folder, withSecrets) => this.backUp(folder, withSecrets),
      at: { host, port, tls },
      clock,
      log,
      version,
      metrics,
    });
  }

  #kubeconfigsOf(parts: OpenParts): Kubeconfigs {
    const { server, clock, log, environment = {} } = this.#options;
    const access = {
      settings: () => parts.ruling?.settings ?? this.#settings,
      caPem: () => this.#caPem,
      kit: () => this.#need().api.kit,
    };
    return new Kubeconfigs({ ...parts, ...access, clock, log, environment, server });
  }

  async serve(): Promise<void> {
    const { api, book, key, world, kubeconfigs, proxy, database } = this.#need();
    const { clock, log, metrics, server } = this.#options;
    await api.start().catch(fromSetting('hostward.management.listen'));
    const [kit, sweeping] = [api.kit, sweepingOf(database)];
    this.#expired = new ExpiredKeys(kit, key, book, world, sweeping);
    this.#garbageCollector = new SweepingCollector({ kit, chore: new GraceChore(kit, key), sweeping, clock, log });
    await this.#garbageCollector.start();
    this.#expired.start();
    const listener = { server: api, unproven: this.#unproven, clock, log };
    await kubeconfigs.start((parts) => new IngressListener({ ...parts, ...listener }));
    this.#checkStreams();
    this.#leavers.look(this.#need());
    const attempt = this.#options.writeAttempt ?? writeAttempt(server.dataDir, database);
    this.#writes = new WriteCheck({ clock, log, metrics, attempt, isInCluster: server.store !== undefined });
    this.#writes.start();
    proxy.look();
    await this.openLocalSocket();
    this.#isServing = true;
    const { ruling, people } = this.#need();
    this.#taking = ruling && new TakingOver({ ruling, people, log, done: () => this.#settingsTaken() });
    if (metrics !== undefined)
      declareMetrics(metrics, this.#need(), { unproven: this.#unproven, limits: this.#limits });
    log.info({ component: 'management', url: api.url }, 'management API started');
  }

  /** For commands on this machine. Without the socket, the server still serves all other clients. */
  async openLocalSocket(owner: SocketOwner = 'daemon'): Promise<void> {
    const { server, log } = this.#options;
    const { handler } = this.#need().api;
    this.#localSocket = new LocalSocket({ folder: server.dataDir, owner, handler, maxHeaderBytes });
    await this.#localSocket.openIfShort(log);
  }

  #checkStreams(): void {
    this.#need().issuing.ledger.passTime();
    this.#endStreams();
    this.#streamCheck = this.#options.clock.after(streamCheckMs, () => this.#checkStreams());
  }

  /** Ends the streams of callers whose credential has ended or whose rights have changed; all in an outage, which changes nothing. */
  #endStreams(): void {
    const { api, callers, proxy } = this.#need();
    const trouble = storeTrouble(this.#need());
    const endOf = trouble === undefined ? callers.endOf.bind(callers) : () => serviceUnavailable(trouble);
    if (trouble === undefined) api.endWatchesWhere(endOf);
    else api.endWatches();
    proxy.endWhere(endOf);
  }

  async close(): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    this.#isServing = false;
    this.#streamCheck?.cancel();
    await this.#taking?.stop();
    await this.#writes?.stop();
    await this.#localSocket?.close();
    await this.#expired?.stop();
    await running.proxy.stop();
    await running.api.stop();
    await running.kubeconfigs.stop();
    await this.#garbageCollector?.stop();
    await closeParts(running, this.#options.log);
    this.#running = undefined;
  }

  /** New members, projects and limits apply from the next request on. Streams end where the caller's view has changed. */
  async apply(settings: ManagementSettings): Promise<void> {
    this.#settings = settings;
    const { people, ruling } = this.#need();
    await ruling?.take(settings);
    if (this.#taking !== undefined) return this.#taking.now();
    await people.take(ruling?.settings ?? settings);
    await this.#settingsTaken();
  }

  async #settingsTaken(): Promise<void> {
    const { issuing, proxy } = this.#need();
    await this.#expired?.remove();
    issuing.ledger.reviewAll();
    this.#endStreams();
    this.#leavers.look(this.#need());
    proxy.look();
  }

  /** Makes a key on this machine, as an administrator; the answer holds its value. */
  async createKey(submitted: object): Promise<KubeObject> {
    const { api, callers, key, audit } = this.#need();
    return makeOwnKey({ kit: api.kit, kind: key, user: callers.programFor('hostward'), audit }, submitted);
  }

  /** Writes a backup into a new folder of this machine. */
  backUp(folder: string, withSecrets: boolean): Promise<BackupTaken> {
    const { database, peppers } = this.#need();
    const { server, clock } = this.#options;
    const source: BackupSource = {
      secretsDir: secretsFolder(server),
      copyDatabase: (path) => database.copyTo(path),
      currentRevision: () => database.currentRevision(),
      peppers: peppers.versions,
      now: clock.wallTime(),
    };
    return takeBackup(source, folder, withSecrets);
  }

  /** For `hostward status`. */
  status() {
    return statusOf(this.#need(), { notes: this.notes, now: this.#options.clock.wallTime() });
  }

  get url(): string {
    return this.#need().api.url;
  }
  get port(): number {
    return this.#need().api.port;
  }

  /** Empty when the certificate comes from files. */
  get caPem(): string {
    return this.#caPem;
  }
  get issuing(): Issuing {
    return this.#need().issuing;
  }

  /** Why no change can be stored; undefined while changes can be. */
  get writeTrouble(): string | undefined {
    return (this.#running && storeTrouble(this.#running)) ?? this.#writes?.trouble;
  }

  /** What somebody must mend while requests are answered. */
  get notes(): readonly string[] {
    const { ruling, versions } = this.#running ?? {};
    return [ruling?.trouble, versions?.difference, this.#taking?.trouble].filter((note) => note !== undefined);
  }

  get isServing(): boolean {
    return this.#isServing;
  }

  #need(): OpenManagement {
    if (this.#running === undefined) throw new Error('use the management API: want it open, it is closed');
    return this.#running;
  }
}

/** Why nothing that is known here may be believed. */
function storeTrouble({ database, followers, versions }: OpenParts): string | undefined {
  return database.trouble ?? followers.trouble ?? versions?.trouble;
}
