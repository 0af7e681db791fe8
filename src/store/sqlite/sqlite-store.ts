// The durable store: keeps all readable data in memory, like the memory store, and writes every change to disk before the
// change becomes visible or acknowledged. Writes that arrive during a commit share the next commit. Only one batch commits at
// a time: a verdict may depend on earlier queued writes, so when a batch fails, all later writes fail too.
import { StoreFault } from '../errors.ts';
import { dueByAge, dueBySize } from '../history-limits.ts';
import type { WriteResult } from '../store.ts';
import { createRevisionOf, decide, eventOf, type Version } from '../timeline.ts';
import { TimelineStore, type TimelineStoreOptions } from '../timeline-store.ts';
import { LogReplay } from './log-replay.ts';
import type { LogRow } from './sqlite-messages.ts';
import { SqliteThread } from './sqlite-thread.ts';

export interface SqliteStoreOptions extends TimelineStoreOptions {
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
/**
 * Deletes in one transaction: they delay the next commit by about two milliseconds. While more than this many wait, writes wait
 * too, or a writer who is quicker than the deletes would fill the disk.
 */
const forgetsPerMessage = 500;
const defaultLockTimeoutMs = 5000;

interface QueuedWrite {
  /** Undefined for a refusal that depends on a queued write and must wait for the commit. */
  version: Version | undefined;
  result: WriteResult;
  resolve: (result: WriteResult) => void;
  reject: (fault: unknown) => void;
}

export class SqliteStore extends TimelineStore {
  #thread: SqliteThread;
  #queue: QueuedWrite[] = [];
  #queuedChars = 0;
  #isCommitting = false;
  /** The newest version of each key that is not on disk yet. */
  #unsaved = new Map<string, Version>();
  #lastAssigned = 0;
  #forgettable: number[] = [];
  #forgetting: Promise<void> | undefined;
  #drained: (() => void) | undefined;
  #keepsHistoryAtStart: boolean;

  constructor(options: SqliteStoreOptions) {
    super(options);
    const { maxBytes } = this.limits;
    this.#keepsHistoryAtStart = options.keepsHistoryAtStart ?? false;
    this.#thread = new SqliteThread({
      url: options.workerUrl ?? new URL('./sqlite-worker.ts', import.meta.url),
      data: {
        path: options.path,
        synchronous: options.synchronous ?? 'FULL',
        maxHistoryBytes: maxBytes,
        lockTimeoutMs: options.lockTimeoutMs ?? defaultLockTimeoutMs,
      },
    });
  }

  async start(): Promise<void> {
    this.state = 'opening';
    const sinceWall = this.clock.now() - this.clock.wallTime().getTime();
    const replay = new LogReplay((writtenAtMs) => Math.min(writtenAtMs + sinceWall, this.clock.now()));
    try {
      await this.#thread.start(replay);
      replay.finish();
    } catch (error) {
      this.state = 'stopped';
      await this.#thread.stop();
      throw error;
    }
    this.timeline = replay.timeline;
    this.setSideValues(replay.side.map(([key, value]) => [key, value ?? undefined] as const));
    this.#lastAssigned = replay.timeline.revision;
    this.open();
    if (replay.leftovers.length > 0) this.#forget(replay.leftovers);
    if (this.#keepsHistoryAtStart) this.#compactTo(dueBySize(this.timeline, this.limits));
    else this.trim();
  }

  /** A consistent copy in a file that must not exist yet; writes wait until it is made. */
  async copyTo(path: string): Promise<void> {
    this.mustBeOpen('copy');
    await this.#thread.copy(path);
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
    await this.#forgetting;
    await this.#thread.stop();
    this.state = 'stopped';
  }

  async write(key: string, change: { expect: number | undefined; value: string | undefined }): Promise<WriteResult> {
    this.mustBeOpen('write');
    if (this.#queue.length >= maxQueuedWrites || this.#queuedChars >= maxQueuedChars) {
      throw new StoreFault('STORE_OVERLOADED', `Cannot write: ${this.#queue.length} writes are waiting for the disk`);
    }
    const unsaved = this.#unsaved.get(key);
    const stamp = { revision: this.#lastAssigned + 1, atMs: this.clock.now() };
    const verdict = decide(unsaved ?? this.timeline.newest(key), { key, ...change }, stamp);
    if (verdict.kind === 'refuse') {
      // A refusal carries the current value, and a client must not see a value that a crash could still lose.
      if (unsaved === undefined) return { ...verdict.result, revision: this.timeline.revision };
      return this.#enqueue(undefined, verdict.result);
    }
    this.#lastAssigned = stamp.revision;
    this.#unsaved.set(key, verdict.version);
    const createRevision = createRevisionOf(verdict.version);
    return this.#enqueue(verdict.version, { ok: true, revision: stamp.revision, createRevision });
  }

  async writeSideValues(changes: ReadonlyMap<string, string | undefined>): Promise<void> {
    this.mustBeOpen('write');
    await this.#thread.writeSide([...changes].map(([key, value]) => [key, value ?? null]));
    this.setSideValues(changes);
  }

  async compact(upToRevision: number): Promise<void> {
    this.mustBeOpen('compact');
    this.#forget(this.timeline.compact(upToRevision));
    await this.#forgetting;
  }

  #enqueue(version: Version | undefined, result: WriteResult): Promise<WriteResult> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ version, result, resolve, reject });
      this.#queuedChars += charsOf(version);
      if (!this.#isCommitting) {
        this.#isCommitting = true;
        // Starts after the current turn, so that all writes of the turn share the first commit.
        queueMicrotask(() => void this.#commitQueue());
      }
    });
  }

  /** Commits until the queue is empty. Only this loop may make writes visible, or readers could see uncommitted data. */
  async #commitQueue(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#takeBatch();
      const rows = this.#rowsOf(batch);
      try {
        if (rows.length > 0) await this.#thread.commit(rows);
      } catch (fault) {
        this.#failAll([...batch, ...this.#queue], fault);
        continue;
      }
      for (const { version } of batch) if (version !== undefined) this.#makeVisible(version);
      for (const { resolve, result } of batch) resolve(result);
      this.trim();
      if (this.#forgettable.length > forgetsPerMessage) await this.#forgetting;
    }
    this.#isCommitting = false;
    this.#drained?.();
  }

  #takeBatch(): QueuedWrite[] {
    let count = 0;
    let chars = 0;
    for (const { version } of this.#queue) {
      const more = charsOf(version);
      if (count === maxBatchWrites || (count > 0 && chars + more > maxBatchChars)) break;
      count++;
      chars += more;
    }
    this.#queuedChars -= chars;
    return this.#queue.splice(0, count);
  }

  #rowsOf(batch: QueuedWrite[]): LogRow[] {
    const writtenAtMs = this.clock.wallTime().getTime();
    const rows: LogRow[] = [];
    for (const { version } of batch) {
      if (version === undefined) continue;
      const { revision, key, record } = version;
      rows.push([revision, key, record?.value ?? null, createRevisionOf(version), writtenAtMs]);
    }
    return rows;
  }

  #makeVisible(version: Version): void {
    if (this.#unsaved.get(version.key) === version) this.#unsaved.delete(version.key);
    this.timeline.apply(version);
    this.hub.publish(eventOf(version));
  }

  #failAll(writes: QueuedWrite[], fault: unknown): void {
    this.#queue = [];
    this.#queuedChars = 0;
    this.#unsaved.clear();
    this.#lastAssigned = this.timeline.revision;
    for (const { reject } of writes) reject(fault);
  }

  protected trim(): void {
    this.#compactTo(dueBySize(this.timeline, this.limits) ?? dueByAge(this.timeline, this.limits, this.clock.now()));
  }

  #compactTo(revision: number | undefined): void {
    if (revision !== undefined) this.#forget(this.timeline.compact(revision));
  }

  /** Deletes in small pieces, one at a time, so that commits are not delayed. */
  #forget(revisions: number[]): void {
    for (const revision of revisions) this.#forgettable.push(revision);
    this.#forgetting ??= this.#forgetAll().finally(() => {
      this.#forgetting = undefined;
    });
  }

  async #forgetAll(): Promise<void> {
    do {
      const piece = this.#forgettable.splice(0, forgetsPerMessage);
      // After a failure the next start deletes the remaining rows; until then they only cost space.
      await this.#thread.forget(piece, this.timeline.compactedRevision).catch(() => undefined);
    } while (this.#forgettable.length > 0);
  }
}

function charsOf(version: Version | undefined): number {
  return version?.record?.value.length ?? 0;
}
