// Follows the records below a prefix, however often the watch of them is lost: what is there, every change, and all of it again after a
// loss. A store that cannot be read is asked again with growing pauses. In: a store. Out: records, changes, and how long the owner
// has been behind. Must never end because of one record that its owner cannot take, nor end the process.

import { type Clock, pause } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { backOffMs } from '../../pace/back-off.ts';
import type { Store, StoredRecord, StoreEvent, StoreWatch } from '../store.ts';
import { pagesOf } from './pages.ts';

export type FollowedStore = Pick<Store, 'currentRevision' | 'list' | 'watch'>;

export interface FollowerOptions {
  store: FollowedStore;
  prefix: string;
  /** What the records are, for messages. */
  what: string;
  clock: Clock;
  log: Log;
  /** All records follow, one by one: at the start, and after each loss. */
  begins?(): void;
  found?(record: StoredRecord): void | Promise<void>;
  /** Every record was found. */
  ends?(): void;
  changed(event: StoreEvent): void | Promise<void>;
  /** For an owner that goes on where it stopped instead of reading all records. */
  resume?: Resume;
}

export interface Resume {
  /** The owner wants every change after this revision. */
  after(): number;
  /** The store has forgotten some of them; after() may be a later one now. */
  forgotten(): Promise<void>;
  /** Nothing can be followed, until ends(). */
  failed(error: unknown): void;
}

/** A store answers from memory or from a disk of this machine. */
const pauses = { firstMs: 100, mostMs: 2_000 };
/** Records that are read between two turns of the event loop. */
const pageRecords = 500;

export class Follower {
  readonly #options: FollowerOptions;
  readonly #stop = new AbortController();
  #watch: StoreWatch | undefined;
  /** The revision at which the records are still to be read. */
  #unread: number | undefined;
  #running: Promise<void> = Promise.resolve();
  /** Since when the owner may lack changes. */
  #lostMs: number | undefined;
  #failures = 0;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** Resolves when the owner has everything that is there. */
  async start(): Promise<void> {
    await this.open();
    this.follow();
  }

  /** As start(); changes since then are reported from follow() on. */
  async open(): Promise<void> {
    await this.#openWatch();
    await this.#read();
  }

  /** Does not wait until the records are read. */
  async startUnread(): Promise<void> {
    await this.#openWatch();
    this.follow();
  }

  follow(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#watch?.close();
    await this.#running;
  }

  get what(): string {
    return this.#options.what;
  }

  /** For how long the owner may have lacked changes. */
  get behindMs(): number {
    return this.#lostMs === undefined ? 0 : this.#options.clock.now() - this.#lostMs;
  }

  /** The owner has had every change up to this revision, or has it in the next turn. */
  has(revision: number): boolean {
    return this.#lostMs === undefined && this.#watch?.ended === 'open' && this.#watch.upTo >= revision;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        const watch = this.#watch ?? (await this.#openWatch());
        if (await this.#read()) this.#caughtUp();
        for await (const batch of watch.events())
          for (const event of batch) {
            const taking = this.#take(event);
            // An owner that does not wait has a change before its writer has the answer.
            if (taking !== undefined) await taking;
          }
        if (watch.ended === 'closed') return;
        this.#lose();
      } catch (error) {
        await this.#failed(error);
      }
    }
  }

  async #openWatch(): Promise<StoreWatch> {
    const { store, prefix, what, resume } = this.#options;
    const after = async () => resume?.after() ?? store.currentRevision();
    let revision = await after();
    let watch = await store.watch(prefix, revision);
    if (!('events' in watch) && resume !== undefined) {
      await resume.forgotten();
      revision = await after();
      watch = await store.watch(prefix, revision);
    }
    if (!('events' in watch))
      throw new Error(`watch the ${what}: want a watch after revision ${revision}, the store has forgotten it`);
    this.#watch = watch;
    this.#unread = revision;
    // A stop while this watch was being opened could not close it.
    if (this.#stop.signal.aborted) watch.close();
    return watch;
  }

  /** False when the watch was lost in the meantime. */
  async #read(): Promise<boolean> {
    const { store, prefix, begins, found, ends } = this.#options;
    const revision = this.#unread;
    if (revision === undefined) return true;
    begins?.();
    for await (const records of found === undefined ? [] : pagesOf(store, prefix, { revision, limit: pageRecords }))
      for (const record of records) {
        if (this.#watch?.ended !== 'open') return false;
        const taking = this.#guard(record.key, () => found?.(record));
        if (taking !== undefined) await taking;
      }
    this.#unread = undefined;
    ends?.();
    return true;
  }

  #take(event: StoreEvent): void | Promise<void> {
    return this.#guard(event.key, () => this.#options.changed(event));
  }

  /** One record that its owner cannot take must not keep all others from it. */
  #guard(key: string, take: () => void | Promise<void>): void | Promise<void> {
    const failed = (error: unknown) => {
      const about = { component: 'store', key, error: String(error) };
      this.#options.log.error(about, 'record of the store left aside: it cannot be used');
    };
    try {
      return take()?.catch(failed);
    } catch (error) {
      failed(error);
    }
  }

  #lose(): void {
    this.#lostMs ??= this.#options.clock.now();
    this.#watch?.close();
    this.#watch = undefined;
    this.#unread = undefined;
  }

  async #failed(error: unknown): Promise<void> {
    this.#lose();
    const { clock, log, what, resume } = this.#options;
    if (this.#stop.signal.aborted) return;
    this.#failures++;
    if (this.#failures === 1)
      log.error({ component: 'store', what, error: String(error) }, 'records of the store not followed');
    resume?.failed(error);
    await pause(clock, backOffMs(this.#failures, pauses), this.#stop.signal);
  }

  #caughtUp(): void {
    if (this.#failures > 0)
      this.#options.log.info({ component: 'store', what: this.#options.what }, 'records of the store followed again');
    this.#failures = 0;
    this.#lostMs = undefined;
  }
}

/** An owner that has been behind for so long must not be asked. */
const mostBehindMs = 5_000;

/** The followers of one store, whose owners decide together who is let in. */
export class Followers {
  readonly #parts: { store: FollowedStore; clock: Clock; log: Log };
  readonly #all = new Set<Follower>();

  constructor(parts: { store: FollowedStore; clock: Clock; log: Log }) {
    this.#parts = parts;
  }

  of(options: Omit<FollowerOptions, 'store' | 'clock' | 'log'>): Follower {
    const follower = new Follower({ ...this.#parts, ...options });
    this.#all.add(follower);
    return follower;
  }

  /** False while one of them may lack a change up to this revision. */
  have(revision: number): boolean {
    return [...this.#all].every((follower) => follower.has(revision));
  }

  /** Why what their owners know must not be believed; undefined while they have all but the changes of the last seconds. */
  get trouble(): string | undefined {
    for (const { behindMs, what } of this.#all)
      if (behindMs > mostBehindMs)
        return `the ${what} in the store have not been followed for ${Math.round(behindMs / 1000)} s; the log says why`;
    return undefined;
  }
}
