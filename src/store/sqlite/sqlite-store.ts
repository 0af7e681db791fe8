// The durable store: the texts of all records stay in the database, which its own thread reads and writes. Memory has the latest
// events and a line for each revision of the history. A change is on disk before it becomes visible
// or acknowledged. Writes that arrive during a commit share the next commit; only one batch commits at a time.
import { StoreFault } from '../errors.ts';
import { dueByAge, dueBySize } from '../history-limits.ts';
import type {
  ListResult,
  PageOptions,
  ReadResult,
  Store,
  StoredRecord,
  StoreEvent,
  UnreadableRevision,
  WriteResult,
} from '../store.ts';
import type { WatchedHistory } from '../watch-hub.ts';
import { type StoreOptions, WatchedStore } from '../watched-store.ts';
import { GatheredGets } from './gathered-gets.ts';
import { HistoryWindow } from './history-window.ts';
import type { ListedRow, LoggedWrite, LogWrite } from './sqlite-messages.ts';
import { SqliteThread } from './sqlite-thread.ts';
import { UnreadableRows } from './unreadable-rows.ts';

export interface SqliteStoreOptions extends StoreOptions {
  path: string;
  /** FULL (default): acknowledged writes survive a power loss. NORMAL: they survive only a crash of the process. */
  synchronous?: 'FULL' | 'NORMAL';
  /** URL of the database thread's code; a bundle passes the URL of its own copy. */
  workerUrl?: URL;
  /** Keeps the history that is too old until the first check of its age, for a reader that goes on where it stopped. */
  keepsHistoryAtStart?: boolean;
  /** Time to wait for another process that is ending to release the file. */
  lockTimeoutMs?: number;
}

/** Bounds the time of one commit, since all later writes wait for the commit. */
const maxBatchWrites = 1000;
const maxBatchChars = 4 * 1024 * 1024;
/** More waiting writes mean a bug or an attack; each write holds its value in memory. */
const maxQueuedWrites = 65_536;
const maxQueuedChars = 32 * 1024 * 1024;
/** Longer than a process that ends needs for its last writes, and short enough for a person who waits for a command. */
const defaultLockTimeoutMs = 2_000;

interface QueuedWrite {
  write: LogWrite;
  resolve: (result: WriteResult) => void;
  reject: (fault: unknown) => void;
}

export class SqliteStore extends WatchedStore implements Store {
  #thread: SqliteThread;
  readonly #gets: GatheredGets;
  #window = new HistoryWindow(0);
  /** The newest revision that readers may see. */
  #revision = 0;
  #queue: QueuedWrite[] = [];
  #queuedChars = 0;
  #isCommitting = false;
  #unreadable: UnreadableRows;
  #drained: (() => void) | undefined;
  #keepsHistoryAtStart: boolean;

  protected readonly history: WatchedHistory;

  constructor(options: SqliteStoreOptions) {
    super(options);
    const store = this;
    this.history = {
      get revision() {
        return store.#revision;
      },
      get compactedRevision() {
        return store.#window.compactedRevision;
      },
      eventsAfter: (after, prefix, most) =>
        this.hub.recent.eventsAfter(after, prefix, { ...most, upTo: this.#revision }) ??
        this.#thread.ask('events', { after, prefix, ...most }),
    };
    this.#keepsHistoryAtStart = options.keepsHistoryAtStart ?? false;
    this.#thread = new SqliteThread({
      url: options.workerUrl ?? new URL('./sqlite-worker.ts', import.meta.url),
      data: {
        path: options.path,
        synchronous: options.synchronous ?? 'FULL',
        maxRevisions: this.limits.maxRevisions,
        lockTimeoutMs: options.lockTimeoutMs ?? defaultLockTimeoutMs,
      },
    });
    this.#gets = new GatheredGets(this.#thread);
    this.#unreadable = new UnreadableRows(this.#thread, () => this.#window.compactedRevision);
  }

  async start(): Promise<void> {
    this.state = 'opening';
    try {
      const { revision, compactedRevision } = await this.#thread.start();
      this.#revision = revision;
      this.#window = new HistoryWindow(compactedRevision);
      await this.#readWindow(compactedRevision);
    } catch (error) {
      this.state = 'stopped';
      await this.#thread.stop();
      throw asOpenFault(error);
    }
    this.open();
    if (this.#keepsHistoryAtStart) this.#compactTo(dueBySize(this.#window, this.limits));
    else this.trim();
    this.#unreadable.start();
  }

  /** A consistent copy in a file that must not exist yet; reads and writes go on in the meantime. */
  async copyTo(path: string): Promise<void> {
    this.mustBeOpen('copy');
    await this.#thread.ask('copy', { path });
  }

  /** Writes the queue to disk before closing the file. */
  async stop(): Promise<void> {
    if (this.state !== 'open') return;
    this.close('stopping');
    if (this.#isCommitting) {
      await new Promise<void>((resolve) => {
        this.#drained = resolve;
      });
    }
    await this.#unreadable.stop();
    await this.#thread.stop();
    this.state = 'stopped';
  }

  async get(
    key: string,
    _options?: { fresh?: boolean },
  ): Promise<{ record: StoredRecord | undefined; revision: number }> {
    this.mustBeOpen('read');
    // No cache: it would answer sooner for a record that others read than for one that is not there, and so show which names exist.
    return this.#gets.get(key);
  }

  async list(
    prefix: string,
    { atRevision: revision = this.#revision, afterKey, limit, chars, isWalk = false }: PageOptions = {},
  ): Promise<ListResult> {
    this.mustBeOpen('list');
    const unreadable = this.#unreadableRevision(revision);
    if (unreadable !== undefined) return unreadable;
    const { rows, hasMore, remaining } = await this.#thread.ask('list', {
      ...{ prefix, revision, afterKey, limit, chars, isWalk },
    });
    return { kind: 'page', records: rows.map(recordOf), revision, hasMore, remaining };
  }

  async read(keys: readonly string[], atRevision: number): Promise<ReadResult> {
    this.mustBeOpen('read');
    const unreadable = this.#unreadableRevision(atRevision);
    if (unreadable !== undefined) return unreadable;
    const rows = await this.#thread.ask('read', { keys, revision: atRevision });
    return { kind: 'read', records: rows.map((row) => (row === null ? undefined : recordOf(row))) };
  }

  #unreadableRevision(revision: number): UnreadableRevision | undefined {
    const { compactedRevision } = this.#window;
    if (revision > this.#revision) return { kind: 'futureRevision', currentRevision: this.#revision };
    if (revision < compactedRevision) return { kind: 'compacted', compactedRevision };
    return undefined;
  }

  async write(key: string, change: { expect: number | undefined; value: string | undefined }): Promise<WriteResult> {
    this.mustBeOpen('write');
    if (this.#queue.length >= maxQueuedWrites || this.#queuedChars >= maxQueuedChars) {
      throw new StoreFault('STORE_OVERLOADED', `Cannot write: ${this.#queue.length} writes are waiting for the disk`);
    }
    const write: LogWrite = [key, change.expect ?? null, change.value ?? null];
    return new Promise((resolve, reject) => {
      this.#queue.push({ write, resolve, reject });
      this.#queuedChars += charsOf(write);
      if (!this.#isCommitting) {
        this.#isCommitting = true;
        // All writes of this turn of the loop share the first commit: those of requests that came at once are ready one after the other.
        setImmediate(() => void this.#commitQueue());
      }
    });
  }

  async sideValues(
    prefix: string,
    { afterKey, limit }: { afterKey?: string; limit?: number } = {},
  ): Promise<Map<string, string>> {
    this.mustBeOpen('read');
    return new Map((await this.#thread.ask('sideValues', { prefix, afterKey, limit })) as [string, string][]);
  }

  async writeSideValues(changes: ReadonlyMap<string, string | undefined>): Promise<void> {
    this.mustBeOpen('write');
    await this.#thread.ask('side', { values: [...changes].map(([key, value]) => [key, value ?? null]) });
  }

  async compact(upToRevision: number): Promise<void> {
    this.mustBeOpen('compact');
    this.#compactTo(Math.min(upToRevision, this.#revision));
    await this.#unreadable.forgotten;
  }

  async #readWindow(compactedRevision: number): Promise<void> {
    const sinceWall = this.clock.now() - this.clock.wallTime().getTime();
    let lastAtMs = Number.NEGATIVE_INFINITY;
    for (let after = compactedRevision; after < this.#revision; ) {
      const rows = await this.#thread.ask('window', { after });
      for (const [isDelete, replaced, replacedBytes, writtenAtMs] of rows) {
        // The wall clock may jump back between two rows, but the window requires that times never decrease.
        lastAtMs = Math.max(lastAtMs, Math.min(writtenAtMs + sinceWall, this.clock.now()));
        this.#window.add({ atMs: lastAtMs, replacedBytes, replaced, isDelete });
      }
      after += rows.length;
    }
  }

  /** Commits until the queue is empty. Only this loop may make writes visible, or readers could see uncommitted data. */
  async #commitQueue(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#takeBatch();
      const writtenAtMs = this.clock.wallTime().getTime();
      let written: LoggedWrite[];
      try {
        written = await this.#thread.ask('commit', { writes: batch.map(({ write }) => write), writtenAtMs });
      } catch (fault) {
        for (const { reject } of batch) reject(fault);
        continue;
      }
      this.#makeVisible(batch, written);
      for (const [index, { resolve }] of batch.entries()) resolve((written[index] as LoggedWrite).result);
      this.trim();
      if (this.#unreadable.areMany) await this.#unreadable.forgotten;
    }
    this.#isCommitting = false;
    this.#drained?.();
  }

  #takeBatch(): QueuedWrite[] {
    let count = 0;
    let chars = 0;
    for (const { write } of this.#queue) {
      const more = charsOf(write);
      if (count === maxBatchWrites || (count > 0 && chars + more > maxBatchChars)) break;
      count++;
      chars += more;
    }
    this.#queuedChars -= chars;
    return this.#queue.splice(0, count);
  }

  #makeVisible(batch: readonly QueuedWrite[], written: readonly LoggedWrite[]): void {
    const atMs = this.clock.now();
    const events: StoreEvent[] = [];
    for (const [index, { write }] of batch.entries()) {
      const { result, replaced, previous: before } = written[index] as LoggedWrite;
      if (!result.ok) continue;
      const [key, , value] = write;
      const { revision, createRevision } = result;
      const previous = before ?? undefined;
      const replacedBytes = previous === undefined ? 0 : Buffer.byteLength(previous) + key.length;
      this.#window.add({ atMs, replacedBytes, replaced, isDelete: value === null });
      this.#revision = revision;
      const type = value === null ? 'delete' : 'put';
      events.push({ type, key, revision, value: value ?? previous ?? '', previous, createRevision });
    }
    this.hub.publish(...events);
  }

  protected trim(): void {
    this.#compactTo(dueBySize(this.#window, this.limits) ?? dueByAge(this.#window, this.limits, this.clock.now()));
  }

  #compactTo(revision: number | undefined): void {
    if (revision !== undefined) this.#unreadable.forget(this.#window.compact(revision));
  }
}

function recordOf([key, value, createRevision, revision]: ListedRow): StoredRecord {
  return { key, value, createRevision, revision };
}

function charsOf([, , value]: LogWrite): number {
  return value?.length ?? 0;
}

/** What the thread cannot read at the start makes the file unusable. */
function asOpenFault(error: unknown): unknown {
  if (!(error instanceof StoreFault) || error.code !== 'STORE_CORRUPT') return error;
  return new StoreFault(error.code, error.message.replace('Cannot read', 'Cannot open'), { cause: error });
}
