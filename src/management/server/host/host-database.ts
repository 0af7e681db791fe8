// The store on a cluster as the management API opens it: one process has dataDir, each replica has a name of its own in it, and the
// file there says which store it belongs to. A copy of the records is a SQLite file, as of the other store.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeFolder } from '../../../apiserver/tls/secret-files.ts';
import type { Clock, Timer } from '../../../clock.ts';
import { openCredentials } from '../../../cluster/credentials/credentials.ts';
import { openConnection } from '../../../cluster/wire/transport.ts';
import { type Lease, openLease } from '../../../cluster/write/lease.ts';
import type { KubernetesStoreSettings } from '../../../config/settings/management-settings.ts';
import type { Log } from '../../../log.ts';
import { createMetrics, type Metrics } from '../../../metrics.ts';
import { isRecord, parsedJson } from '../../../object/text/json.ts';
import { StoreFault } from '../../../store/errors.ts';
import type { HistoryLimits } from '../../../store/history-limits.ts';
import { KubernetesStore, type KubernetesStoreOptions } from '../../../store/kubernetes/kubernetes-store.ts';
import type { RoomOptions } from '../../../store/kubernetes/record-writer.ts';
import { raiseRevision } from '../../../store/sqlite/database-file.ts';
import { SqliteStore } from '../../../store/sqlite/sqlite-store.ts';
import type { StoredRecord } from '../../../store/store.ts';
import { sealsFor } from './host-seals.ts';
import { HostSecrets } from './host-secrets.ts';
import { OwnJournal } from './own-journal.ts';
import { type ReplicaFile, replicaIn, writeReplica } from './replica-file.ts';
import {
  type OtherReplica,
  type ReplicaWords,
  replicaRow,
  type Shared,
  type SharedStatus,
  wordsIn,
} from './shared-store.ts';

export interface HostDatabaseOptions {
  kubernetes: KubernetesStoreSettings;
  room: RoomOptions;
  folder: string;
  secretsFolder: string;
  history: Partial<HistoryLimits>;
  clock: Clock;
  log: Log;
  metrics: Metrics | undefined;
  isNewStore: boolean;
  /** The command that mends a host that was set back. */
  recovers: boolean;
  seals: boolean;
  environment: Readonly<Record<string, string | undefined>>;
}

interface Own {
  folder: string;
  lock: DatabaseSync;
  lease: Lease;
  /** Whether the host, which is open now, was set back while this replica did not run. */
  isOlder: () => Promise<boolean>;
}

/** Of a host that was set back. */
export const wayOutOfRollback =
  'the cluster was set back: stop every replica and run "hostward store recover", which keeps revoked keys dead';

const lockFile = 'replica.lock';
/** Who holds it removes what is over. */
const sweeperLease = 'hostward-sweeper';
/** A copy of the host that is put back after a crash is noticed if it is older. */
const rememberEveryMs = 10_000;
const busy = 5;

export class HostDatabase extends KubernetesStore {
  readonly shared: Shared;
  readonly #folder: string;
  readonly #replica: string;
  readonly #lease: Lease;
  readonly #lock: DatabaseSync;

  static async for(options: HostDatabaseOptions): Promise<HostDatabase> {
    const { kubernetes, room, folder, history, clock, log, metrics, environment, isNewStore, recovers } = options;
    const { secretsFolder, seals: mends } = options;
    await makeFolder(folder, 0o700);
    const lock = lockOf(join(folder, lockFile));
    try {
      const { replica, epoch, store, told, setBackIn } = await replicaIn(folder);
      const known = isNewStore || epoch === undefined ? undefined : { epoch, store, told };
      const { kubeconfig, namespace } = kubernetes;
      const opened = await openCredentials({ kubeconfig, environment });
      if (opened.kind === 'faults')
        throw new StoreFault(
          'STORE_OPEN_FAILED',
          `Cannot open the store: ${opened.faults.map(({ message, fix }) => `${message}; ${fix}`).join('; ')}`,
        );
      const { credentials } = opened;
      const connection = openConnection({ name: 'store', credentials, clock, log });
      const random = () => randomBytes(4).readUInt32LE() / 2 ** 32;
      const host = new HostSecrets({ connection, namespace, replica, clock, random, log });
      const lease = openLease({
        ...{ connection, namespace, name: sweeperLease, identity: replica, clock, random, log },
        metrics: metrics ?? createMetrics(),
      });
      const journal = new OwnJournal(folder);
      const isOlder = async () =>
        !recovers && (setBackIn === database.epoch || (!mends && known !== undefined && journal.isAheadOf(database)));
      const database: HostDatabase = new HostDatabase(
        {
          wentBack: (why) => void database.#rememberSetBack(why, log),
          about: () => JSON.stringify(database.#words()),
          ...{ host, replica, room, history, clock, isUsable, known, mends },
          seals: async () => {
            await journal.open(secretsFolder);
            return sealsFor(host, { secretsFolder, isFirst: known === undefined });
          },
          trusts: recovers || mends,
          isRevoked: (record, replaced) => journal.isRevoked(record, replaced),
          newEpoch: () => randomBytes(8).toString('hex'),
          unusable: (name, why) => say(log, name, why),
        },
        { folder, lock, lease, isOlder },
      );
      return database;
    } catch (error) {
      lock.close();
      throw error;
    }
  }

  readonly #isOlder: () => Promise<boolean>;
  readonly #told: (() => ReplicaWords)[] = [];
  #saidBefore: ReplicaWords = {};
  #timer: Timer | undefined;
  /** One at a time. */
  #remembering: Promise<void> = Promise.resolve();

  private constructor(options: KubernetesStoreOptions, { folder, lock, lease, isOlder }: Own) {
    super(options);
    this.#folder = folder;
    this.#replica = options.replica;
    this.#lock = lock;
    this.#lease = lease;
    this.#isOlder = isOlder;
    const sweeps = () => lease.isHeld();
    this.shared = {
      ...{ replica: options.replica, sweeps, status: () => this.#status(), others: () => this.#others() },
      epoch: () => this.epoch,
      tells: (words) => this.#told.push(words),
      saidBefore: () => this.#saidBefore,
    };
  }

  #words(): ReplicaWords {
    const { audit, journal } = this.#saidBefore;
    const lagMs = Number.isFinite(this.silentMs) ? Math.round(this.silentMs) : undefined;
    const own: ReplicaWords = { sweeps: this.#lease.isHeld(), ...(lagMs !== undefined && { lagMs }) };
    // Until a log is open, its end is the one that was known before.
    return Object.assign(own, audit && { audit }, journal && { journal }, ...this.#told.map((words) => words()));
  }

  #others(): OtherReplica[] {
    return this.replicas.live
      .filter(({ replica }) => replica !== this.#replica)
      .map(({ replica, about }) => ({ replica, words: wordsIn(about) }));
  }

  override get trouble(): string | undefined {
    const why = super.trouble;
    return this.wasSetBack ? `the store in ${this.place}: ${why}; ${wayOutOfRollback}` : why;
  }

  override async start(): Promise<void> {
    try {
      // The requests that follow report a host that does not answer.
      this.#saidBefore = wordsIn((await this.replicaRecord(this.#replica).catch(() => undefined)) ?? '');
      await super.start();
      if (await this.#isOlder())
        throw new StoreFault('STORE_ROLLED_BACK', `Cannot open the store in ${this.place}: ${wayOutOfRollback}`);
      await this.#remember();
      this.#rememberOften();
      this.#lease.start();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  override async stop(): Promise<void> {
    const isOpen = this.state === 'open';
    this.#timer?.cancel();
    await this.#lease.stop();
    await super.stop();
    if (isOpen && !this.wasSetBack) await this.#remember().catch(() => undefined);
    if (this.#lock.isOpen) this.#lock.close();
  }

  /** The revisions of the copy are its own; a restore goes on above ours. */
  async copyTo(path: string): Promise<void> {
    const revision = await this.currentRevision({ fresh: true });
    const copy = new SqliteStore({ clock: this.clock, path });
    await copy.start();
    try {
      const page = await this.list('', { atRevision: revision });
      if (page.kind !== 'page')
        throw new Error('copy the records: the store has compacted the revision that was being read; try again');
      await Promise.all(page.records.map(({ key, value }) => copy.write(key, { expect: 0, value })));
      await copy.writeSideValues(await this.sideValues(''));
    } finally {
      await copy.stop();
    }
    raiseRevision(path, revision);
  }

  override async beginEpoch(epoch: string, revision: number): Promise<void> {
    await super.beginEpoch(epoch, revision);
    await this.#remember();
  }

  override async endSealing(): Promise<void> {
    await super.endSealing();
    await this.#remember();
  }

  #status(): SharedStatus {
    const { live } = this.replicas;
    const { unusable, trouble, place, size, silentMs } = this;
    const [first] = unusable;
    const aside =
      first === undefined
        ? []
        : [
            `${unusable.size} records in ${place} are not believed and let nobody in; the first is ${first[0]}: ${first[1]}; the log names all, and \`hostward doctor\` says what to do`,
          ];
    return {
      ...{ place, replica: this.#replica },
      replicas: live.map((one) => replicaRow(one, one.replica === this.#replica ? Math.round(silentMs) : undefined)),
      isSealed: this.sealedAs !== undefined,
      aside: unusable.size,
      sweeper: live.find(({ about }) => wordsIn(about).sweeps === true)?.replica,
      lagMs: Math.round(silentMs),
      ...size,
      troubles: [...(trouble === undefined ? [] : [trouble]), ...aside],
    };
  }

  /** The host may rise above its former versions again, and then nothing shows what it has lost. */
  async #rememberSetBack(why: string, log: Log): Promise<void> {
    log.error({ component: 'management', why, remedy: wayOutOfRollback }, 'records of the store were set back');
    await this.#remember({ setBackIn: this.epoch }).catch((error: unknown) =>
      log.error({ component: 'management', error: String(error) }, 'state of this replica not written down'),
    );
  }

  #rememberOften(): void {
    this.#timer = this.clock.after(rememberEveryMs, () => {
      // The other writes to the folder report what is wrong with it.
      if (!this.wasSetBack) void this.#remember().catch(() => undefined);
      this.#rememberOften();
    });
  }

  async #remember(more: Partial<ReplicaFile> = {}): Promise<void> {
    const { epoch, sealedAs: store, told } = this;
    const known: ReplicaFile = { replica: this.#replica, epoch, told, ...(store !== undefined && { store }), ...more };
    this.#remembering = this.#remembering.catch(() => undefined).then(() => writeReplica(this.#folder, known));
    await this.#remembering;
  }
}

function say(log: Log, record: string, why: string | undefined): void {
  const about = { component: 'management', record };
  if (why === undefined) log.info(about, 'record of the store is good again');
  else log.error({ ...about, why }, 'record of the store left aside: it cannot be read or believed');
}

/** Two processes would write one audit log and one journal. */
function lockOf(path: string): DatabaseSync {
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(path, { timeout: 0 });
    lock.exec('PRAGMA locking_mode = EXCLUSIVE');
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    if (lock?.isOpen === true) lock.close();
    const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined;
    if (code !== busy) throw new StoreFault('STORE_OPEN_FAILED', `Cannot open "${path}": ${error}`, { cause: error });
    throw new StoreFault('STORE_LOCKED', `Cannot open "${path}": another process has locked it`, { cause: error });
  }
}

/** Readers rely on this: all values are JSON, and those of the objects of the API have a name. */
export function isUsable({ key, value }: StoredRecord): boolean {
  const content = parsedJson(value);
  if (!key.startsWith('/registry/')) return content !== undefined;
  return isRecord(content) && isRecord(content['metadata']) && typeof content['metadata']['name'] === 'string';
}
