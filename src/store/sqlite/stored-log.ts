// Reads the log of a database for the start of a store, in small parts: a log that an attack has filled must not lie in memory
// twice. In: an open database. Out: the messages of the start.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { FromWorker, LogRow, SideValue } from './sqlite-messages.ts';

/** Rows in one message; the main loop reads such a message in about a millisecond. */
const rowsPerMessage = 500;
const charsPerMessage = 1024 * 1024;

/** The messages of the start, each made when it is asked for. */
export function* storedLog(database: DatabaseSync, maxHistoryBytes: number): Generator<FromWorker, void> {
  yield { kind: 'opened', compactedRevision: oldestReadable(database, maxHistoryBytes) };
  const rows = database.prepare(
    'SELECT revision, key, value, create_revision, written_at_ms FROM log ORDER BY revision',
  );
  for (const part of parts(rows, logRowOf)) yield { kind: 'rows', rows: part };
  const side = database.prepare('SELECT key, value FROM side');
  for (const part of parts(side, sideValueOf)) yield { kind: 'sideValues', values: part };
  yield { kind: 'ready' };
}

/** Judges by lengths alone, because the values of a history that an attack has written may not fit into memory. */
function oldestReadable(database: DatabaseSync, maxHistoryBytes: number): number {
  const compacted = numberOf(database, "SELECT number FROM meta WHERE name = 'compacted_revision'");
  const newestFirst = database.prepare(
    'SELECT revision, key, octet_length(value) AS bytes FROM log WHERE revision > ? ORDER BY revision DESC',
  );
  const replaced = new Set<string>();
  let historyBytes = 0;
  for (const row of newestFirst.iterate(compacted)) {
    const key = String(row['key']);
    if (replaced.has(key)) historyBytes += Number(row['bytes']);
    replaced.add(key);
    if (historyBytes > maxHistoryBytes) return Number(row['revision']);
  }
  return compacted;
}

type Row = Record<string, unknown>;

function logRowOf(row: Row): LogRow {
  const { revision, key, value, create_revision: created, written_at_ms: writtenAtMs } = row;
  return [Number(revision), String(key), value === null ? null : String(value), Number(created), Number(writtenAtMs)];
}

function sideValueOf({ key, value }: Row): SideValue {
  return [String(key), String(value)];
}

/** Also one empty part, for a table without rows. */
function* parts<T>(query: StatementSync, of: (row: Row) => T): Generator<T[]> {
  let part: T[] = [];
  let chars = 0;
  for (const row of query.iterate()) {
    part.push(of(row));
    chars += String(row['value'] ?? '').length;
    if (part.length < rowsPerMessage && chars < charsPerMessage) continue;
    yield part;
    part = [];
    chars = 0;
  }
  yield part;
}

export function numberOf(database: DatabaseSync, query: string): number {
  return Number(Object.values(database.prepare(query).get() ?? {})[0]);
}
