// The database thread, which keeps slow disks from blocking the main event loop. In: messages. Out: the log at start, and an
// answer once the rows of a message are on disk. One message is one transaction. The file is locked for this process and
// readable only by its owner, because the file may hold secrets. Must never decide whether a write is allowed.
import { chmodSync, closeSync, existsSync, fsyncSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { FromWorker, LogRow, SideValue, SqliteWorkerData, ToWorker } from './sqlite-messages.ts';
import { walFault } from './wal-check.ts';

const formatVersion = 1;
/** "Host" in ASCII, so that `file` can identify the database. */
const applicationId = 0x486f7374;
/** Rows in one message at start; the main loop reads such a message in about a millisecond. */
const rowsPerMessage = 500;
/** A checkpoint truncates the WAL to this size, so that one burst does not occupy the disk for ever. */
const walSizeLimitBytes = 64 * 1024 * 1024;
/** Many times the size that a log reaches; a larger one would not fit into memory beside the data. */
const largestCheckedLogBytes = 512 * 1024 * 1024;

/** Also created in files of earlier versions, which ignore this table. */
const sideSchema = 'CREATE TABLE IF NOT EXISTS side (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID';

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

interface Statements {
  append: StatementSync;
  remove: StatementSync;
  setCompacted: StatementSync;
  setSide: StatementSync;
  removeSide: StatementSync;
}

function serve(port: MessagePort, data: SqliteWorkerData): void {
  const answer = (message: FromWorker) => port.postMessage(message);
  let database: DatabaseSync;
  try {
    database = open(data);
    sendLog(database, answer);
  } catch (error) {
    answer({ kind: 'openFailed', ...openFailure(error) });
    port.close();
    return;
  }
  const statements: Statements = {
    append: database.prepare('INSERT INTO log VALUES (?, ?, ?, ?, ?)'),
    remove: database.prepare('DELETE FROM log WHERE revision = ?'),
    setCompacted: database.prepare("UPDATE meta SET number = ? WHERE name = 'compacted_revision'"),
    setSide: database.prepare('INSERT OR REPLACE INTO side VALUES (?, ?)'),
    removeSide: database.prepare('DELETE FROM side WHERE key = ?'),
  };
  port.on('message', (message: ToWorker) => {
    if (message.kind === 'close') {
      database.close();
      port.close();
      return;
    }
    try {
      if (message.kind === 'copy') copyTo(database, message.path);
      else inTransaction(database, () => carryOut(statements, message));
      answer({ kind: 'done', id: message.id });
    } catch (error) {
      answer({ kind: 'failed', id: message.id, message: error instanceof Error ? error.message : String(error) });
    }
  });
}

function carryOut(statements: Statements, message: Exclude<ToWorker, { kind: 'close' | 'copy' }>): void {
  switch (message.kind) {
    case 'commit':
      for (const row of message.rows) statements.append.run(...row);
      return;
    case 'forget':
      statements.setCompacted.run(message.compactedRevision);
      for (const revision of message.revisions) statements.remove.run(revision);
      return;
    case 'side':
      for (const [key, value] of message.values) {
        if (value === null) statements.removeSide.run(key);
        else statements.setSide.run(key, value);
      }
      return;
    default:
      message satisfies never;
  }
}

function inTransaction(database: DatabaseSync, run: () => void): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    run();
    database.exec('COMMIT');
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** All commits before it are in the copy, and none after it. */
function copyTo(database: DatabaseSync, path: string): void {
  // SQLite would give the file a mode that others may read.
  closeSync(openSync(path, 'wx', 0o600));
  database.prepare('VACUUM INTO ?').run(path);
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
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
  database.exec('PRAGMA journal_mode = WAL');
  database.exec(`PRAGMA synchronous = ${data.synchronous}`);
  database.exec(`PRAGMA journal_size_limit = ${walSizeLimitBytes}`);
  inTransaction(database, () => {
    const version = numberOf(database, 'PRAGMA user_version');
    if (version === 0) database.exec(schema);
    database.exec(sideSchema);
  });
  return database;
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

function sendLog(database: DatabaseSync, answer: (message: FromWorker) => void): void {
  const compacted = database.prepare("SELECT number FROM meta WHERE name = 'compacted_revision'").get()?.['number'];
  answer({ kind: 'opened', compactedRevision: Number(compacted) });
  const select = database.prepare(
    'SELECT revision, key, value, create_revision, written_at_ms FROM log ORDER BY revision',
  );
  let rows: LogRow[] = [];
  for (const row of select.iterate()) {
    rows.push([
      Number(row['revision']),
      String(row['key']),
      row['value'] === null ? null : String(row['value']),
      Number(row['create_revision']),
      Number(row['written_at_ms']),
    ]);
    if (rows.length === rowsPerMessage) {
      answer({ kind: 'rows', rows });
      rows = [];
    }
  }
  answer({ kind: 'rows', rows });
  const side = database.prepare('SELECT key, value FROM side');
  let values: SideValue[] = [];
  for (const row of side.iterate()) {
    values.push([String(row['key']), String(row['value'])]);
    if (values.length === rowsPerMessage) {
      answer({ kind: 'sideValues', values });
      values = [];
    }
  }
  answer({ kind: 'sideValues', values });
  answer({ kind: 'ready' });
}

/** Primary result codes of SQLite. */
const sqliteBusy = 5;
const sqliteCorrupt = 11;
const sqliteNotADatabase = 26;

function openFailure(error: unknown): { cause: 'locked' | 'corrupt' | 'other'; message: string } {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined;
  if (code === sqliteBusy) return { cause: 'locked', message };
  if (code === sqliteCorrupt || code === sqliteNotADatabase) return { cause: 'corrupt', message };
  return { cause: 'other', message };
}

if (parentPort !== null) serve(parentPort, workerData as SqliteWorkerData);
