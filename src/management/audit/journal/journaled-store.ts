// A store that writes the journal of revocations next to itself. In: a running store and a chain file. Out: the same store with two
// additions: a write is acknowledged only after its revocations are in the journal, and every revision is announced in the journal
// before it is used. While the journal cannot be written, all writes stop.
import { type Clock, pause, type Timer } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import { StoreFault } from '../../../store/errors.ts';
import { Follower } from '../../../store/follow/follower.ts';
import type { ListResult, PageOptions, Store, StoreEvent, WriteResult } from '../../../store/store.ts';
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
  /** Of a store that others write too. */
  begins?: () => Pick<Extract<JournalChange, { kind: 'begins' }>, 'replica' | 'others'>;
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
  readonly #followed: Follower;
  readonly #stop = new AbortController();
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
    const { store, clock, log } = options;
    this.#followed = new Follower({
      ...{ store, clock, log, prefix: '' },
      what: 'revocations',
      changed: (event) => this.#take(event),
      ends: () => {
        this.#fault = undefined;
        this.#settle(this.#covered);
      },
      resume: {
        after: () => this.#covered,
        // Revocations may be missing, and the journal says so.
        forgotten: () => this.#begin(),
        failed: (error) => this.#refuse(error),
      },
    });
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
    await this.#followed.start();
    this.#sayCoveredLater();
  }

  /** The store itself goes on. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#timer?.cancel();
    await this.#followed.stop();
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

  list(prefix: string, options?: PageOptions): Promise<ListResult> {
    return this.#store.list(prefix, options);
  }

  read(keys: readonly string[], atRevision: number) {
    return this.#store.read(keys, atRevision);
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
    await this.#append(revision, [{ uid: '', name: '', change: { kind: 'begins', ...this.#options.begins?.() } }]);
    // Set only after the line is written; otherwise a retry would skip it.
    this.#covered = revision;
    this.#written = revision;
  }

  /** All writes, until the journal can be written again. */
  #refuse(fault: unknown): void {
    this.#fault = fault;
    this.#settle(undefined, journalFault(fault));
  }

  async #take(event: StoreEvent): Promise<void> {
    const revoked = this.#revokedBy(event);
    for (;;) {
      try {
        if (revoked.length > 0) await this.#append(event.revision, revoked);
        this.#covered = event.revision;
        await this.#sayCoveredOften(event);
        this.#fault = undefined;
        this.#settle(event.revision);
        return;
      } catch (fault) {
        this.#options.log.error({ component: 'management', error: String(fault) }, 'revocation not written down');
        this.#refuse(fault);
      }
      if (this.#stop.signal.aborted) return;
      await pause(this.#options.clock, retryMs, this.#stop.signal);
      // The next attempt writes the same lines; a repeated line does no harm.
    }
  }

  /** A record that nobody can read revokes nothing that is not written down already, and must not stop all writes. */
  #revokedBy(event: StoreEvent): readonly Revoked[] {
    try {
      return this.#options.revokedBy(event);
    } catch (error) {
      const about = { component: 'management', key: event.key, error: String(error) };
      this.#options.log.error(about, 'record of the store left aside: it cannot be used');
      return [];
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

  async #sayCoveredOften({ value, previous }: StoreEvent): Promise<void> {
    this.#unwrittenChars += Math.max(value.length, previous?.length ?? 0);
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
