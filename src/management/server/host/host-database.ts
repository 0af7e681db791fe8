// The store on a cluster as the management API opens it: one process has dataDir, each replica has a name of its own in it, and the
// file there says which store it belongs to. A copy of the records is a SQLite file, as of the other store.
import { randomBytes } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { makeFolder } from '../../../apiserver/tls/secret-files.ts';
import type { Clock, Timer } from '../../../clock.ts';
import type { KubernetesStoreSettings } from '../../../config/settings/management-settings.ts';
import type { Log } from '../../../log.ts';
import type { Metrics } from '../../../metrics.ts';
import { isRecord, parsedJson } from '../../../object/text/json.ts';
import { StoreFault } from '../../../store/errors.ts';
import type { HistoryLimits } from '../../../store/history-limits.ts';
import { KubernetesStore } from '../../../store/kubernetes/kubernetes-store.ts';
import { type EpochOptions, wayOutOfSetBack } from '../../../store/kubernetes/meta-record.ts';
import { wordsOf } from '../../../store/kubernetes/own-record.ts';
import type { RoomOptions } from '../../../store/kubernetes/record-writer.ts';
import type { KubernetesStoreOptions } from '../../../store/kubernetes/store-options.ts';
import { raiseRevision } from '../../../store/sqlite/database-file.ts';
import { SqliteStore } from '../../../store/sqlite/sqlite-store.ts';
import type { StoredRecord } from '../../../store/store.ts';
import { type HostParts, openHostParts } from './host-parts.ts';
import { sealsFor } from './host-seals.ts';
import { heardToWrite } from './known-replicas.ts';
import { OwnJournal } from './own-journal.ts';
import { logAside } from './records/hidden-records.ts';
import { lockOf, type ReplicaFile, replicaIn, writeReplica } from './replica-file.ts';
import {
  journalLines,
  type OtherReplica,
  type ReplicaWords,
  type Shared,
  type SharedStatus,
  sharedStatus,
  wordsIn,
} from './shared-store.ts';
import { movedKey, movedWord } from './store-marks.ts';

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
  mayBeAlone: boolean;
  /** The command that mends a host that was set back. */
  recovers: boolean;
  seals: boolean;
  environment: Readonly<Record<string, string | undefined>>;
}

interface Own extends HostParts {
  folder: string;
  lock: DatabaseSync;
  /** The folder has never seen a store. */
  isNew: boolean;
}

/** Of a host that was set back. */
export const wayOutOfRollback = `the cluster was set back: ${wayOutOfSetBack}`;

/** A copy of the host that is put back after a crash is noticed if it is older. */
const rememberEveryMs = 10_000;
/** Three heartbeats of a replica of a version that does not answer a new one at once. */
const companyWithinMs = 6_000;

export class HostDatabase extends KubernetesStore {
  readonly shared: Shared;
  readonly #folder: string;
  readonly #replica: string;
  readonly #lock: DatabaseSync;
  readonly #parts: HostParts;
  readonly #isNew: boolean;
  /** Not while a recovery has not begun its epoch: what was remembered before may be all that shows that the host was set back. */
  #remembers: boolean;

  static async for(options: HostDatabaseOptions): Promise<HostDatabase> {
    const { kubernetes, room, folder, history, clock, log, metrics, environment, isNewStore, recovers } = options;
    const { secretsFolder, seals: mends, mayBeAlone } = options;
    await makeFolder(folder, 0o700);
    const lock = lockOf(folder);
    try {
      const { replica, epoch, store, told, setBackIn } = await replicaIn(folder);
      const known = isNewStore || epoch === undefined ? undefined : { epoch, store, told };
      const parts = await openHostParts({ kubernetes, replica, clock, log, metrics, environment });
      const { host } = parts;
      const journal = new OwnJournal(folder);
      const hasSeenLater: KubernetesStoreOptions['hasSeenLater'] = async (found) =>
        !recovers && (setBackIn === found.epoch || (!mends && known !== undefined && journal.isAheadOf(found)));
      const database: HostDatabase = new HostDatabase(
        {
          wentBack: (why) => void database.#rememberSetBack(why, log),
          about: () => JSON.stringify(database.#words()),
          ...{ host, replica, room, history, clock, isUsable, known, mends, recovers, hasSeenLater },
          seals: async () => {
            await journal.open(secretsFolder);
            return sealsFor(host, { secretsFolder, isFirst: known === undefined });
          },
          trusts: recovers || mends,
          // The journal counts in the revisions of a store that is gone.
          isRevoked: (record, replaced) => !isNewStore && journal.isRevoked(record, replaced),
          newEpoch: () => randomBytes(8).toString('hex'),
          unusable: (name, why, { gone }) => logAside(log, name, { why, gone }),
        },
        {
          ...parts,
          ...{ folder, lock },
          isNew: epoch === undefined && !isNewStore && !mayBeAlone && !recovers && !mends,
        },
      );
      return database;
    } catch (error) {
      lock.close();
      throw error;
    }
  }

  readonly #told: (() => ReplicaWords)[] = [];
  #saidBefore: ReplicaWords = {};
  #timer: Timer | undefined;
  /** One at a time. */
  #remembering: Promise<void> = Promise.resolve();

  private constructor(options: KubernetesStoreOptions, { folder, lock, isNew, ...parts }: Own) {
    super(options);
    this.#folder = folder;
    this.#parts = parts;
    this.#isNew = isNew;
    this.#remembers = options.recovers !== true;
    this.#replica = options.replica;
    this.#lock = lock;
    const sweeps = () => parts.lease.isHeld();
    this.shared = {
      ...{ replica: options.replica, sweeps, status: () => this.#status(), others: () => this.#others() },
      epoch: () => this.epoch,
      journals: () => journalLines(this.replicas.words, options.replica),
      tells: (words) => this.#told.push(words),
      saidBefore: () => this.#saidBefore,
    };
  }

  #words(): ReplicaWords {
    const { audit, journal } = this.#saidBefore;
    const lagMs = Number.isFinite(this.silentMs) ? Math.round(this.silentMs) : undefined;
    const own: ReplicaWords = { sweeps: this.#parts.lease.isHeld(), ...(lagMs !== undefined && { lagMs }) };
    // Until a log is open, its end is the one that was known before.
    return Object.assign(own, audit && { audit }, journal && { journal }, ...this.#told.map((words) => words()));
  }

  #others(): OtherReplica[] {
    return this.replicas.live
      .filter(({ replica }) => replica !== this.#replica)
      .map(({ replica, about }) => ({ replica, words: wordsIn(about) }));
  }

  /** A folder of no replica knows nothing of what was revoked, so somebody must be here who does. */
  async #mustHaveCompany(): Promise<void> {
    if (Object.keys(this.shared.journals()).length === 0) return;
    const isWanted = (_: string, { journal }: ReplicaWords) => journal !== undefined;
    const found = await heardToWrite(this.replicas, { isWanted, withinMs: companyWithinMs, clock: this.clock });
    if (found === undefined)
      throw new StoreFault(
        'STORE_OPEN_FAILED',
        `Cannot open the store in ${this.place}: ${this.#folder} is empty and no other replica runs, so nobody here knows which keys were revoked; start a replica that has its dataDir first, or run "hostward store recover --journals FOLDER" with what is left of theirs`,
      );
  }

  override get trouble(): string | undefined {
    const moved = this.timeline.newest(movedKey)?.record;
    if (moved !== undefined) return `the store in ${this.place}: ${movedWord(moved.value)}`;
    const why = super.trouble;
    return this.wasSetBack ? `the store in ${this.place}: ${why}; ${wayOutOfRollback}` : why;
  }

  override async start(): Promise<void> {
    const { host, lease, hidden, rights } = this.#parts;
    try {
      // Nothing else shows that the end of a log was lost, and the first heartbeat writes over it.
      this.#saidBefore = wordsIn(await rights.explain(wordsOf(host, this.#replica)));
      await rights.open();
      await rights.explain(super.start());
      if (this.#isNew) await this.#mustHaveCompany();
      await this.#remember();
      this.#rememberOften();
      lease.start();
      hidden.start();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  override async stop(): Promise<void> {
    const isOpen = this.state === 'open';
    this.#timer?.cancel();
    const { hidden, lease, rights } = this.#parts;
    await hidden.stop();
    await lease.stop();
    await rights.stop();
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

  override async beginEpoch(epoch: string, revision: number, options?: EpochOptions): Promise<void> {
    await super.beginEpoch(epoch, revision, options);
    this.#remembers = true;
    await this.#remember();
  }

  override async endSealing(): Promise<void> {
    await super.endSealing();
    await this.#remember();
  }

  #status(): SharedStatus {
    const { host, hidden, rights } = this.#parts;
    return sharedStatus(this, { replica: this.#replica, hidden, marked: host.marked, rights });
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
    if (!this.#remembers) return;
    const { epoch, sealedAs: store, told } = this;
    const known: ReplicaFile = { replica: this.#replica, epoch, told, ...(store !== undefined && { store }), ...more };
    this.#remembering = this.#remembering.catch(() => undefined).then(() => writeReplica(this.#folder, known));
    await this.#remembering;
  }
}

/** Readers rely on this: all values are JSON, and those of the objects of the API have a name. */
export function isUsable({ key, value }: StoredRecord): boolean {
  const content = parsedJson(value);
  if (!key.startsWith('/registry/')) return content !== undefined;
  return isRecord(content) && isRecord(content['metadata']) && typeof content['metadata']['name'] === 'string';
}
