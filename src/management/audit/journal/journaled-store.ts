// A store that writes the journal of revocations next to itself. In: a running store and a chain file. Out: the same store with two
// additions: a write is acknowledged only after its revocations are in the journal, and every revision is announced in the journal
// before it is used. While the journal cannot be written, all writes stop.
import type { Clock, Timer } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import { StoreFault } from '../../../store/errors.ts';
import type { ListResult, Store, StoreEvent, StoreWatch, WriteResult } from '../../../store/store.ts';
import type { ChainFile } from '../chain/chain-file.ts';
import { fitting, type JournalChange, type JournalEntry } from './journal.ts';

/** The revocations of an event, without revision and time, which are added here. */
export type Revoked = Pick<JournalEntry, 'uid' | 'name' | 'change'>;

export interface JournalOptions {
  store: Store;
  file: ChainFile;
  clock: Clock;
  log: Log;
  revokedBy(event: StoreEvent): readonly Revoked[];
  /** What mends a store that is older than the journal. */
  remedy?: string;
}

/** Revisions that one line announces. A restore skips at most this many, and one line for so many writes costs nothing. */
const announcedRevisions = 10_000;
/**
 * The store forgets its history after five minutes or `maxHistoryBytes` of changes, and after a crash the journal goes on from its
 * last line. So it has a line within a fraction of either.
 */
const coveredEveryMs = 60_000;
const coveredEveryChars = 4 * 1024 * 1024;
const retryMs = 1_000;

interface Waiter {
  revision: number;
  resolve: () => void;
  reject: (fault: unknown) => void;
}

export class JournaledStore implements Store {
  readonly #options: JournalOptions;
  readonly #store: Store;
  #watch: StoreWatch | undefined;
  #following: Promise<void> = Promise.resolve();
  #isStopped = false;
  /** Everything up to this revision is in the journal, as far as it revokes something. */
  #covered = 0;
  /** The last revision that a line announces. */
  #written = 0;
  /** Values since that line. */
  #unwrittenChars = 0;
  #ceiling = 0;
  #announcing: Promise<void> | undefined;
  #highest = 0;
  #inFlight = 0;
  /** Why the journal cannot be written at the moment. */
  #fault: unknown;
  #waiters: Waiter[] = [];
  #timer: Timer | undefined;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.#store = options.store;
  }

  /** The store runs already, and the file too. */
  async start(): Promise<void> {
    const { file, remedy = 'bring it back with "hostward restore", which keeps revoked keys dead' } = this.#options;
    this.#highest = await this.#store.currentRevision();
    const last = file.last?.['revision'];
    if (typeof last === 'number' && last > this.#highest)
      throw new Error(
        `read the journal of revocations: want the database at revision ${last} or later, it is at ${this.#highest}: it is older than the journal; ${remedy}`,
      );
    if (typeof last === 'number') this.#covered = last;
    else await this.#begin();
    this.#written = this.#covered;
    await this.#announce();
    this.#watch = await this.#open();
    this.#following = this.#follow();
    this.#sayCoveredLater();
  }

  /** The store itself goes on. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#watch?.close();
    await this.#following;
    if (this.#fault === undefined) await this.#sayCovered().catch(() => undefined);
    this.#settle(undefined, new Error('the journal of revocations is closed'));
  }

  async write(key: string, change: { expect: number | undefined; value: string | undefined }): Promise<WriteResult> {
    if (this.#fault !== undefined) throw journalFault(this.#fault);
    this.#inFlight++;
    try {
      if (this.#highest + this.#inFlight > this.#ceiling - announcedRevisions / 2) await this.#announceMore();
      const result = await this.#store.write(key, change);
      this.#highest = Math.max(this.#highest, result.revision);
      // A new object revokes nothing, so its write need not wait.
      if (result.ok && change.expect !== 0) await this.#reached(result.revision);
      return result;
    } finally {
      this.#inFlight--;
    }
  }

  currentRevision(options?: { fresh?: boolean }): Promise<number> {
    return this.#store.currentRevision(options);
  }

  get(key: string, options?: { fresh?: boolean }) {
    return this.#store.get(key, options);
  }

  list(prefix: string, options?: { atRevision?: number; afterKey?: string; limit?: number }): Promise<ListResult> {
    return this.#store.list(prefix, options);
  }

  watch(prefix: string, afterRevision: number) {
    return this.#store.watch(prefix, afterRevision);
  }

  compact(upToRevision: number): Promise<void> {
    return this.#store.compact(upToRevision);
  }

  sideValues(prefix: string, options?: { afterKey?: string; limit?: number }): Promise<Map<string, string>> {
    return this.#store.sideValues(prefix, options);
  }

  writeSideValues(changes: ReadonlyMap<string, string | undefined>): Promise<void> {
    return this.#store.writeSideValues(changes);
  }

  async #begin(): Promise<void> {
    const revision = await this.#store.currentRevision();
    await this.#append(revision, [{ uid: '', name: '', change: { kind: 'begins' } }]);
    // Set only after the line is written; otherwise a retry would skip it.
    this.#covered = revision;
    this.#written = revision;
  }

  async #open(): Promise<StoreWatch> {
    let watch = await this.#store.watch('', this.#covered);
    if (!('events' in watch)) {
      // The watch missed events, so revocations may be missing.
      await this.#begin();
      watch = await this.#store.watch('', this.#covered);
    }
    if ('events' in watch) return watch;
    throw new Error('watch the store: want a watch from now on, the store has forgotten now');
  }

  async #follow(): Promise<void> {
    for (;;) {
      const watch = this.#watch;
      if (watch === undefined) return;
      for await (const batch of watch.events()) {
        await this.#take(batch);
        if (this.#isStopped && this.#fault !== undefined) return;
      }
      if (this.#isStopped || watch.ended === 'closed') return;
      this.#watch = await this.#reopen();
    }
  }

  /** Tries again until the journal says that revocations may be missing; all writes are refused in the meantime. */
  async #reopen(): Promise<StoreWatch | undefined> {
    while (!this.#isStopped) {
      try {
        const watch = await this.#open();
        this.#fault = undefined;
        this.#settle(this.#covered);
        if (this.#isStopped) watch.close();
        return watch;
      } catch (fault) {
        await this.#failed(fault, 'revocations not followed');
      }
    }
    return undefined;
  }

  /** Refuses all writes until the next attempt has worked, and waits until it is due. */
  async #failed(fault: unknown, message: string): Promise<void> {
    this.#fault = fault;
    this.#options.log.error({ component: 'management', error: String(fault) }, message);
    this.#settle(undefined, journalFault(fault));
    if (this.#isStopped) return;
    await new Promise<void>((resolve) => {
      this.#options.clock.after(retryMs, resolve);
    });
  }

  async #take(batch: readonly StoreEvent[]): Promise<void> {
    const upTo = batch.at(-1)?.revision ?? this.#covered;
    for (;;) {
      try {
        for (const event of batch) {
          const revoked = this.#options.revokedBy(event);
          if (revoked.length > 0) await this.#append(event.revision, revoked);
        }
        this.#covered = upTo;
        await this.#sayCoveredOften(batch);
        this.#fault = undefined;
        this.#settle(upTo);
        return;
      } catch (fault) {
        await this.#failed(fault, 'revocation not written down');
      }
      if (this.#isStopped) return;
      // The next attempt writes the same lines; a repeated line does no harm.
    }
  }

  #reached(revision: number): Promise<void> {
    if (revision <= this.#covered) return Promise.resolve();
    if (this.#fault !== undefined) return Promise.reject(journalFault(this.#fault));
    return new Promise((resolve, reject) => {
      this.#waiters.push({ revision, resolve, reject });
    });
  }

  #settle(upTo: number | undefined, fault?: unknown): void {
    if (this.#waiters.length === 0) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) {
      if (fault !== undefined) waiter.reject(fault);
      else if (waiter.revision <= (upTo ?? 0)) waiter.resolve();
      else this.#waiters.push(waiter);
    }
  }

  async #append(revision: number, revoked: readonly Revoked[]): Promise<void> {
    const time = this.#options.clock.wallTime().toISOString();
    const entries = revoked.map((one): JournalEntry => fitting({ revision, time, ...one }));
    await Promise.all(entries.map((entry) => this.#options.file.append(entry)));
    this.#written = Math.max(this.#written, revision);
    this.#unwrittenChars = 0;
  }

  async #sayCoveredOften(batch: readonly StoreEvent[]): Promise<void> {
    for (const { value, previous } of batch) this.#unwrittenChars += Math.max(value.length, previous?.length ?? 0);
    if (this.#unwrittenChars > coveredEveryChars) await this.#sayCovered();
  }

  /** Waits only when the announced revisions are used up. */
  async #announceMore(): Promise<void> {
    this.#announcing ??= this.#announce().finally(() => {
      this.#announcing = undefined;
    });
    const announcing = this.#announcing.catch((fault: unknown) => {
      throw journalFault(fault);
    });
    if (this.#highest + this.#inFlight > this.#ceiling) await announcing;
    else announcing.catch(() => undefined);
  }

  async #announce(): Promise<void> {
    const ceiling = this.#highest + this.#inFlight + announcedRevisions;
    await this.#say({ kind: 'ceiling', ceiling });
    this.#ceiling = ceiling;
  }

  async #sayCovered(): Promise<void> {
    if (this.#covered > this.#written) await this.#say({ kind: 'covered' });
  }

  #say(change: JournalChange): Promise<void> {
    return this.#append(this.#covered, [{ uid: '', name: '', change }]);
  }

  #sayCoveredLater(): void {
    this.#timer = this.#options.clock.after(coveredEveryMs, () => {
      void this.#sayCovered().catch(() => undefined);
      this.#sayCoveredLater();
    });
  }
}

function journalFault(cause: unknown): StoreFault {
  return new StoreFault('STORE_WRITE_FAILED', 'Cannot write: the journal of revocations cannot be written', { cause });
}
