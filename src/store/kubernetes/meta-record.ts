// The one record that says how revisions are numbered and whether records are sealed: read at start, and made for an empty store. Only a
// restore, a migration and the command that seals change it.
import { StoreFault } from '../errors.ts';
import type { HostRecords } from './records/host-records.ts';
import { metaData, metaName, type ReadRecord, readRecord, type StoreMeta } from './records/record-format.ts';
import type { IsRevoked } from './trust/last-seen.ts';
import type { Seals } from './trust/seals.ts';

/** What a replica knows of the store that it has used; undefined = it has used none. */
export interface KnownStore {
  epoch: string;
  /** The name in the seals of its records. */
  store?: string | undefined;
  /** How far this replica had read when it said so last. */
  told?: number | undefined;
}

/** What is known before the first list. */
export interface BeforeStart {
  /** Names this process among those that share the store, also after a restart. */
  replica: string;
  /** The store that this replica has used; absent = none. */
  known?: KnownStore | undefined;
  /** Believes every sealed record that is there at the start, as commands do that bring records back. */
  trusts?: boolean;
  /** What this replica itself knows of a record that was written after the last heartbeats; default: nothing. */
  isRevoked?: IsRevoked;
}

export interface EpochOptions {
  /** Epochs that replicas know and the store does not, because it was set back to before them. */
  former?: readonly string[];
  /** Of a recovery: see StoreMeta. No server starts in this epoch, and the recovery ends with the next one. */
  recoversFrom?: number;
}

/** A replica that was away for more restores and migrations is told that it belongs to another store. */
const mostEpochs = 50;

/** Without the journals of the others it disables all keys. */
export const wayOutOfSetBack =
  'stop every replica and run "hostward store recover" with --journals FOLDER for the dataDir of every other one, which keeps revoked keys dead';

/** Of a replica that runs. */
const halfDone =
  'its recovery has begun and not ended, and nothing of it is served until then; if "hostward store recover" was broken off, stop every replica and run it again with the same journals';

export class MetaRecord {
  readonly #host: HostRecords;
  readonly #newEpoch: () => string;
  #seals: Seals;
  #now: StoreMeta = { offset: 0, epoch: '', earlier: [] };
  /** Of a recovery that another process has begun. */
  #isHalfDone = false;
  #recovers = false;

  constructor(host: HostRecords, { newEpoch, seals }: { newEpoch: () => string; seals: Seals }) {
    this.#host = host;
    this.#newEpoch = newEpoch;
    this.#seals = seals;
  }

  get now(): StoreMeta {
    return this.#now;
  }

  get seals(): Seals {
    return this.#seals;
  }

  /** A store that is made here is sealed, if there are keys for it. `recovers`: one that was set back is opened. */
  async open(known: KnownStore | undefined, seals: Seals, { recovers }: { recovers: boolean }): Promise<void> {
    this.#seals = seals;
    this.#now = (await this.#read()) ?? (await this.#made(known));
    const { epoch, earlier, store } = this.#now;
    if (known !== undefined && epoch !== known.epoch && !earlier.includes(known.epoch)) {
      // The seal names a store for all its epochs.
      if (known.store === undefined || known.store !== store)
        throw this.#anotherStore('the store there is another one');
      if (!recovers) throw this.notKnown('the cluster was set back to before its last recovery or migration');
    }
    if (known?.store !== undefined && store !== known.store)
      throw this.#refused('it was sealed and is not any more: somebody has edited it');
    this.#recovers = recovers;
    if (this.#now.recoversFrom !== undefined && !recovers)
      throw this.notKnown('a recovery of it has begun and not ended');
    seals.useStore(store);
  }

  /** Why nothing of the store may be believed: perhaps only a part of what was revoked is revoked again. */
  get trouble(): string | undefined {
    return this.#isHalfDone ? `the store in ${this.#host.place}: ${halfDone}` : undefined;
  }

  /** Whether all revisions change with it. One that is not believed, or of an epoch that is over, says nothing. */
  isNews(read: ReadRecord): boolean {
    if (read.kind !== 'meta') return false;
    const { epoch, offset, earlier, store, recoversFrom } = read.meta;
    const now = this.#now;
    if (this.#seals.isSealed && epoch !== now.epoch && !earlier.includes(now.epoch)) return false;
    const isSame = epoch === now.epoch && offset === now.offset && store === now.store;
    return !isSame || recoversFrom !== now.recoversFrom;
  }

  /** True if it is news, and a list must come. A recovery that begins is believed at once, and its end with that list. */
  hear(read: ReadRecord): boolean {
    if (read.kind !== 'meta' || !this.isNews(read)) return false;
    if (read.meta.recoversFrom !== undefined) this.#isHalfDone = !this.#recovers;
    return true;
  }

  /** With a list of all records, because it numbers them. */
  take(read: ReadRecord): void {
    if (read.kind !== 'meta' || !this.isNews(read)) return;
    this.#now = read.meta;
    this.#isHalfDone = read.meta.recoversFrom !== undefined && !this.#recovers;
    if (!this.#seals.isSealed) this.#seals.useStore(read.meta.store);
  }

  /** From memory, after somebody has deleted it. */
  async makeAgain(): Promise<void> {
    await this.#host.create(metaName, this.#seals.applied(metaName, metaData(this.#now)));
  }

  beginEpoch(epoch: string, offset: number, { former = [], recoversFrom }: EpochOptions): Promise<void> {
    const earlier = [...new Set([...this.#now.earlier, this.#now.epoch, ...former])].slice(-mostEpochs);
    const { recoversFrom: _, ...now } = this.#now;
    return this.#write({ ...now, offset, epoch, earlier, ...(recoversFrom !== undefined && { recoversFrom }) });
  }

  beginSealing(): void {
    if (!this.#seals.hasKeys) throw this.#refused('there are no secrets to seal records with');
    this.#seals.beginSealing(this.#now.store ?? this.#newEpoch());
  }

  async endSealing(): Promise<string> {
    const store = this.#seals.endSealing();
    await this.#write({ ...this.#now, store });
    return store;
  }

  async #made(known: KnownStore | undefined): Promise<StoreMeta> {
    if (known !== undefined) throw this.#anotherStore('no store is there');
    const epoch = this.#newEpoch();
    const meta: StoreMeta = { offset: 0, epoch, earlier: [], ...(this.#seals.hasKeys && { store: epoch }) };
    this.#seals.useStore(meta.store);
    const made = await this.#host.create(metaName, this.#seals.applied(metaName, metaData(meta)));
    if (made.kind === 'written') return meta;
    // Another replica was first.
    this.#seals.useStore(undefined);
    const theirs = await this.#read();
    if (theirs === undefined) throw this.#corrupt('it was deleted again at once');
    return theirs;
  }

  /** Undefined for an empty store. */
  async #read(): Promise<StoreMeta | undefined> {
    const record = await this.#host.get(metaName);
    if (record === undefined) return undefined;
    const read = readRecord(record, 0);
    if (read.kind !== 'meta') throw this.#corrupt(read.kind === 'unusable' ? read.why : 'it is another record');
    const forged = this.#seals.fault(record);
    if (forged === undefined) return read.meta;
    if (!this.#seals.hasKeys)
      throw this.#refused('it is sealed, and the secrets are missing; bring secretsDir back from a backup');
    throw this.#refused(`${forged}; the secrets belong to another server, or the record was edited`);
  }

  async #write(meta: StoreMeta): Promise<void> {
    const written = await this.#host.replace(metaName, this.#seals.applied(metaName, metaData(meta)), undefined);
    if (written.kind !== 'written')
      throw new StoreFault('STORE_WRITE_FAILED', `Cannot change record "${metaName}": ${written.kind}`);
  }

  /** A start on an empty namespace would forget every key, and revive them all when the right one is back. */
  #anotherStore(what: string): StoreFault {
    return new StoreFault(
      'STORE_OPEN_FAILED',
      `Cannot open the store in ${this.#host.place}: this replica has used a store there, and ${what}; correct the kubeconfig and the namespace, or bring the records back with "hostward restore"`,
    );
  }

  /** Of a store that has sealed records and is not sealed itself. */
  strayed(): StoreFault {
    return this.#refused(
      'it has no seal and some records have; run "hostward store seal" again if it was broken off, else put that record back from a backup',
    );
  }

  /** Of a store whose newest records nobody can tell from older ones. */
  notKnown(why: string): StoreFault {
    return new StoreFault(
      'STORE_ROLLED_BACK',
      `Cannot open the store in ${this.#host.place}: ${why}; ${wayOutOfSetBack}`,
    );
  }

  #refused(why: string): StoreFault {
    return new StoreFault(
      'STORE_OPEN_FAILED',
      `Cannot open the store in ${this.#host.place}: record "${metaName}": ${why}`,
    );
  }

  #corrupt(why: string): StoreFault {
    return new StoreFault(
      'STORE_CORRUPT',
      `Cannot open the store in ${this.#host.place}: record "${metaName}": ${why}`,
    );
  }
}
