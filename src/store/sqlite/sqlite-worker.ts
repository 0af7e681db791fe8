// The database thread, which keeps slow disks from blocking the main event loop. In: messages. Out: an answer for each, for a write
// once it is on disk. One message is one transaction. The file is locked for this process and readable only by its owner, because
// the file may hold secrets.
import { chmodSync, closeSync, existsSync, fsyncSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { Gap, keyIndex, LogTable } from './log-table.ts';
import { SideTable, sideSchema } from './side-table.ts';
import type { FromWorker, OpenFailure, RequestKind, Requests, SqliteWorkerData, ToWorker } from './sqlite-messages.ts';
import { walFault } from './wal-check.ts';

const formatVersion = 1;
/** "Host" in ASCII, so that `file` can identify the database. */
const applicationId = 0x486f7374;
/** A checkpoint truncates the WAL to this size, so that one burst does not occupy the disk for ever. SQLite makes one every 4 MiB. */
const walSizeLimitBytes = 4 * 1024 * 1024;
/** Free pages that stay in the file for the next writes: 4 MiB. The others go back to the disk. */
const freePagesKept = 1024;
/** Pages that go back to the disk in one transaction: they delay the next commit by about ten milliseconds. */
const pagesPerStep = 512;
/** Pages that a backup copies at a time: reads and writes wait for two milliseconds or so. */
const pagesPerCopyStep = 512;
/** Hardly one of twenty copies begins within a transaction, so this many in a row do not. */
const mostCopyStarts = 1000;
/** Many times the size that a log reaches; a larger one would not fit into memory with the data. */
const largestCheckedLogBytes = 512 * 1024 * 1024;

const schema = `
  CREATE TABLE log (
    revision INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    value TEXT,
    create_revision INTEGER NOT NULL,
    written_at_ms INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE meta (name TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO meta VALUES ('compacted_revision', 0);
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${formatVersion};
`;

/** What `PRAGMA auto_vacuum` answers. */
const incremental = 2;

function serve(port: MessagePort, data: SqliteWorkerData): void {
  const tell = (message: FromWorker) => port.postMessage(message);
  let database: DatabaseSync;
  let answers: Answers;
  try {
    database = open(data);
    const compactedRevision = numberOf(database, "SELECT number FROM meta WHERE name = 'compacted_revision'");
    const newest = numberOf(database, 'SELECT max(revision) FROM log');
    const log = new LogTable(database, Math.max(newest, compactedRevision));
    const { revision } = log;
    answers = answersOf(database, log);
    tell({ kind: 'opened', revision, compactedRevision: Math.max(compactedRevision, revision - data.maxRevisions) });
  } catch (error) {
    tell({ kind: 'openFailed', ...failureOf(error) });
    port.close();
    return;
  }
  const shrink = shrinking(database);
  // A process that was killed may have left free pages.
  shrink();
  let copying: Promise<unknown> = Promise.resolve();
  const close = () => {
    database.close();
    port.close();
  };
  port.on('message', (message: ToWorker) => {
    if (message.kind === 'close') {
      void copying.then(close, close);
      return;
    }
    const { kind, id, ask } = message;
    const done = (answer: unknown) => tell({ kind: 'answer', id, answer });
    const failed = (error: unknown) => tell({ kind: 'failed', id, ...failureOf(error) });
    if (kind === 'copy') {
      copying = copying.then(() => copyTo(database, ask.path)).then(done, failed);
      return;
    }
    try {
      done((answers[kind] as (ask: unknown) => unknown)(ask));
      if (kind === 'forget') shrink();
    } catch (error) {
      failed(error);
    }
  });
}

type Answers = { [K in Exclude<RequestKind, 'copy'>]: (ask: Requests[K]['ask']) => Requests[K]['answer'] };

function answersOf(database: DatabaseSync, log: LogTable): Answers {
  const side = new SideTable(database);
  const remove = database.prepare('DELETE FROM log WHERE revision = ?');
  const setCompacted = database.prepare("UPDATE meta SET number = max(number, ?) WHERE name = 'compacted_revision'");
  return {
    commit: ({ writes, writtenAtMs }) => {
      const { revision } = log;
      try {
        return inTransaction(database, () => writes.map((write) => log.write(write, writtenAtMs)));
      } catch (error) {
        log.setBack(revision);
        throw error;
      }
    },
    get: ({ keys }) => ({ records: log.get(keys), revision: log.revision }),
    list: (range) => log.list(range),
    read: ({ keys, revision }) => log.read(keys, revision),
    events: (range) => log.events(range),
    window: ({ after }) => log.window(after),
    forget: ({ revisions, compactedRevision }) =>
      inTransaction(database, () => {
        setCompacted.run(compactedRevision);
        for (const revision of revisions) remove.run(revision);
        return undefined;
      }),
    leftovers: ({ afterKey, compactedRevision }) => log.leftovers(afterKey, compactedRevision),
    sideValues: (range) => side.values(range),
    side: ({ values }) => inTransaction(database, () => side.write(values)),
  };
}

function inTransaction<T>(database: DatabaseSync, run: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const done = run();
    database.exec('COMMIT');
    return done;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** Gives free pages back to the disk, between the commits. A step that fails leaves the file larger, and nothing else. */
function shrinking(database: DatabaseSync): () => void {
  let isPlanned = false;
  const step = () => {
    isPlanned = false;
    if (!database.isOpen) return;
    try {
      const free = numberOf(database, 'PRAGMA freelist_count') - freePagesKept;
      if (free <= 0) return;
      database.exec(`PRAGMA incremental_vacuum(${Math.min(free, pagesPerStep)})`);
      if (free > pagesPerStep) plan();
    } catch {
      // The next deletes try again.
    }
  };
  const plan = () => {
    if (isPlanned) return;
    isPlanned = true;
    setImmediate(step);
  };
  return plan;
}

/** All commits before it are in the copy, and perhaps some that come in the meantime: reads and writes go on between its steps. */
async function copyTo(database: DatabaseSync, path: string): Promise<undefined> {
  // SQLite would give the file a mode that others may read.
  closeSync(openSync(path, 'wx', 0o600));
  await copySteps(database, path);
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * The steps run in another thread. SQLite refuses one that falls into a transaction of this thread; Node tries it again, but for the first
 * one, after which it ends with the error code of success. Nothing is copied then.
 */
async function copySteps(database: DatabaseSync, path: string): Promise<void> {
  for (let starts = 1; ; starts++) {
    try {
      await backup(database, path, { rate: pagesPerCopyStep });
      return;
    } catch (error) {
      if (codeOf(error) !== sqliteOk || starts === mostCopyStarts) throw error;
    }
  }
}

function open(data: SqliteWorkerData): DatabaseSync {
  createFile(data.path);
  refuseDamagedLog(data.path);
  const database = new DatabaseSync(data.path, { timeout: data.lockTimeoutMs });
  // Exclusive must come before WAL: then SQLite holds the lock until close and needs no shared-memory file.
  database.exec('PRAGMA locking_mode = EXCLUSIVE');
  // Before anything is written: a file of another program must stay as it is.
  refuseForeign(database);
  // SQLite gives the log the mode of the database; an older log keeps its own.
  for (const file of [data.path, `${data.path}-wal`]) if (existsSync(file)) chmodSync(file, 0o600);
  // The first thing that is written to a new file; later it takes a rewrite of the whole file.
  if (numberOf(database, 'PRAGMA page_count') === 0) database.exec('PRAGMA auto_vacuum = INCREMENTAL');
  database.exec('PRAGMA journal_mode = WAL');
  database.exec(`PRAGMA synchronous = ${data.synchronous}`);
  database.exec(`PRAGMA journal_size_limit = ${walSizeLimitBytes}`);
  inTransaction(database, () => {
    const version = numberOf(database, 'PRAGMA user_version');
    if (version === 0) database.exec(schema);
    database.exec(sideSchema);
    database.exec(keyIndex);
  });
  if (numberOf(database, 'PRAGMA auto_vacuum') !== incremental) rewrite(database, data.path);
  return database;
}

/** A file of an earlier version, which never gave a page back. It works as it is too, so a full disk stops nothing. */
function rewrite(database: DatabaseSync, path: string): void {
  try {
    // The folder of the system for such files may be read-only; this one is not.
    database.exec('PRAGMA auto_vacuum = INCREMENTAL');
    database.exec(`PRAGMA temp_store_directory = '${dirname(path).replaceAll("'", "''")}'`);
    database.exec('VACUUM');
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // Tried again at the next start.
  } finally {
    database.exec("PRAGMA temp_store_directory = ''");
  }
}

function refuseForeign(database: DatabaseSync): void {
  const tables = numberOf(database, 'SELECT count(*) FROM sqlite_schema');
  const version = numberOf(database, 'PRAGMA user_version');
  if (tables > 0 && numberOf(database, 'PRAGMA application_id') !== applicationId)
    throw new Error(
      'the file is a database of another program, and stays as it is; move it away or name another folder',
    );
  if (version !== formatVersion && (tables > 0 || version !== 0))
    throw new Error(
      `wanted format ${formatVersion}, found format ${version}: start the version of Hostward that wrote it`,
    );
}

/** Throws only when no other process has the file open, which may be writing the log just now. */
function refuseDamagedLog(path: string): void {
  const log = `${path}-wal`;
  if (!existsSync(log) || statSync(log).size > largestCheckedLogBytes) return;
  const fault = walFault(readFileSync(log));
  if (fault === undefined) return;
  // A reader changes nothing, not even when it closes.
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    numberOf(database, 'SELECT count(*) FROM sqlite_schema');
  } finally {
    database.close();
  }
  throw new DamagedLog(fault);
}

class DamagedLog extends Error {
  readonly errcode = sqliteCorrupt;
}

function numberOf(database: DatabaseSync, query: string): number {
  return Number(Object.values(database.prepare(query).get() ?? {})[0]);
}

/** An existing file keeps its mode, because it may be that of another program. */
function createFile(path: string): void {
  if (existsSync(path) && !statSync(path).isFile())
    throw new Error('wanted a file, found a folder; move it away, and bring the file back from a backup');
  closeSync(openSync(path, 'a', 0o600));
  const folder = openSync(dirname(path), 'r');
  try {
    // Without this fsync a power loss may remove a new file's directory entry, and with it all acknowledged writes.
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Primary result codes of SQLite. */
const sqliteOk = 0;
const sqliteBusy = 5;
const sqliteCorrupt = 11;
const sqliteNotADatabase = 26;

function failureOf(error: unknown): { cause: OpenFailure; message: string } {
  const message = error instanceof Error ? error.message : String(error);
  const code = codeOf(error);
  if (code === sqliteBusy) return { cause: 'locked', message };
  if (code === sqliteCorrupt || code === sqliteNotADatabase || error instanceof Gap)
    return { cause: 'corrupt', message };
  return { cause: 'other', message };
}

function codeOf(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined;
}

if (parentPort !== null) serve(parentPort, workerData as SqliteWorkerData);
