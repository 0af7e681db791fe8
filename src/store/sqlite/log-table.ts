// The log in its table: decides writes, reads the present and the past by key order, and the history by revision. In: an open
// database. Out: rows as the store hands them out. Holds no text: what it reads goes to whoever asked.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { StoredRecord, StoreEvent } from '../store.ts';
import { beyondPrefix, firstBehind } from './key-range.ts';
import type {
  EventsRange,
  ListedRow,
  ListedRows,
  ListRange,
  LoggedWrite,
  LogWrite,
  WindowRow,
} from './sqlite-messages.ts';

/**
 * Earlier versions ignore this index. Its last column marks deletes, so that counts and the search for leftovers read no value. A
 * log of a million rows that lacks it gets it at its first start, in a few seconds.
 */
export const keyIndex = 'CREATE INDEX IF NOT EXISTS log_by_key ON log (key, revision, (value IS NULL))';

/** Up to so many rows behind a page are counted; a count of more would cost more than the page. */
const countedRows = 2_000;
/** Prefixes whose keys have been counted: the kinds that somebody has read page by page. */
const countedPrefixes = 50;
/**
 * Hundreds of clients may ask for pages at the same time, and each page lies in memory until its reader has a turn. Whoever holds more
 * anyway says so: each answer of the thread costs as much as ten records.
 */
const pageChars = 64 * 1024;
/** As one large object: a question about many keys brings no more into memory than a question about one. */
const readChars = 32 * 1024;
/** Places up to which somebody has read a long list; the page that goes on from there need not count again. */
const knownPlaces = 200;
const windowRows = 10_000;
const leftoverRows = 5_000;

type Row = [revision: number, value: string | null, createRevision: number];

export class LogTable {
  readonly #database: DatabaseSync;
  readonly #newest: StatementSync;
  readonly #before: StatementSync;
  readonly #append: StatementSync;
  readonly #page: StatementSync;
  readonly #counted: StatementSync;
  readonly #keys: StatementSync;
  readonly #history: StatementSync;
  /** Keys present now, by prefix: counted once, and kept up by each write. */
  readonly #present = new Map<string, number>();
  /** How many a walk has met up to a place at a revision. */
  readonly #walked = new Map<string, number>();
  /** What follows a place at a revision. */
  readonly #remaining = new Map<string, number>();
  #revision: number;

  constructor(database: DatabaseSync, revision: number) {
    this.#database = database;
    this.#revision = revision;
    const version = 'SELECT revision, value, create_revision FROM log WHERE key = ?';
    this.#newest = this.#rows(`${version} ORDER BY revision DESC LIMIT 1`);
    this.#before = this.#rows(`${version} AND revision < ? ORDER BY revision DESC LIMIT 1`);
    this.#append = database.prepare('INSERT INTO log VALUES (?, ?, ?, ?, ?)');
    const range = 'key >= ? AND key < ?';
    this.#page = this.#rows(
      `SELECT log.key, log.value, log.create_revision, log.revision
       FROM (SELECT max(revision) AS revision FROM log WHERE ${range} AND revision <= ? GROUP BY key) AS newest
       CROSS JOIN log ON log.revision = newest.revision WHERE log.value IS NOT NULL LIMIT ?`,
    );
    this.#counted = this.#rows(`SELECT count(*) FROM (SELECT 1 FROM log WHERE ${range} LIMIT ?)`);
    // Of each key SQLite takes the mark from the row with the highest revision.
    this.#keys = this.#rows(
      `SELECT count(*) FROM (SELECT max(revision), (value IS NULL) AS isDelete FROM log
       WHERE ${range} AND revision <= ? GROUP BY key) WHERE isDelete = 0`,
    );
    // The plus keeps SQLite from walking by key.
    this.#history = this.#rows(
      `SELECT revision, key, value, create_revision FROM log
       WHERE revision > ? AND +key >= ? AND +key < ? ORDER BY revision`,
    );
  }

  get revision(): number {
    return this.#revision;
  }

  /** Runs in a transaction; after a rollback the caller sets the revision back. */
  write([key, expect, value]: LogWrite, writtenAtMs: number): LoggedWrite {
    const newest = this.#newest.get(key) as Row | undefined;
    const current = recordOf(key, newest);
    const holds = expect === null || expect === (current?.revision ?? 0);
    if (!holds || (value === null && current === undefined))
      return { result: { ok: false, current, revision: this.#revision }, replaced: 0, previous: null };
    const revision = this.#revision + 1;
    const createRevision = current?.createRevision ?? revision;
    this.#append.run(revision, key, value, createRevision, writtenAtMs);
    this.#revision = revision;
    const more = (value === null ? 0 : 1) - (current === undefined ? 0 : 1);
    if (more !== 0)
      for (const [prefix, count] of this.#present) if (key.startsWith(prefix)) this.#present.set(prefix, count + more);
    return {
      result: { ok: true, revision, createRevision },
      replaced: newest?.[0] ?? 0,
      previous: current?.value ?? null,
    };
  }

  setBack(revision: number): void {
    this.#revision = revision;
    this.#present.clear();
    this.#walked.clear();
  }

  /** The first keys as they are now, null for what is absent. */
  get(keys: readonly string[]): (StoredRecord | null)[] {
    const records: (StoredRecord | null)[] = [];
    let chars = 0;
    for (const key of keys) {
      const record = recordOf(key, this.#newest.get(key) as Row | undefined);
      chars += record?.value.length ?? 0;
      if (records.length > 0 && chars > readChars) break;
      records.push(record ?? null);
    }
    return records;
  }

  list(range: ListRange): ListedRows {
    const { prefix, revision, afterKey, limit = 0, chars: most = pageChars } = range;
    const isPage = limit > 0;
    const bounds = [firstBehind(prefix, afterKey), beyondPrefix(prefix)] as const;
    const found = this.#page.iterate(...bounds, revision, isPage ? limit + 1 : -1);
    const rows: ListedRow[] = [];
    let chars = 0;
    let hasMore = false;
    for (const row of found as unknown as Iterable<ListedRow>) {
      hasMore = isPage && (rows.length === limit || chars >= most);
      if (hasMore) break;
      rows.push(row);
      chars += row[1].length;
    }
    if (range.isWalk) this.#noteWalk(range, rows, hasMore);
    const remaining = () => (range.isWalk ? undefined : this.#remainingAfter(range, rows));
    return { rows, hasMore, remaining: hasMore ? remaining() : 0 };
  }

  /** The versions of the first keys at a revision, null for what is absent. */
  read(keys: readonly string[], revision: number): (ListedRow | null)[] {
    const rows: (ListedRow | null)[] = [];
    let chars = 0;
    for (const key of keys) {
      const found = this.#before.get(key, revision + 1) as Row | undefined;
      const value = found?.[1] ?? null;
      chars += value?.length ?? 0;
      if (rows.length > 0 && chars > readChars) break;
      rows.push(found === undefined || value === null ? null : [key, value, found[2], found[0]]);
    }
    return rows;
  }

  /** The next changes of a prefix, and the revision up to which there are no others. */
  events({ after, prefix, count, bytes }: EventsRange): { events: StoreEvent[]; upTo: number } {
    const events: StoreEvent[] = [];
    let read = 0;
    const rows = this.#history.iterate(after, prefix, beyondPrefix(prefix)) as unknown as Iterable<
      [revision: number, key: string, value: string | null, createRevision: number]
    >;
    for (const [revision, key, value, createRevision] of rows) {
      const previous = (this.#before.get(key, revision) as Row | undefined)?.[1] ?? undefined;
      read += (value?.length ?? 0) + (previous?.length ?? 0);
      if (events.length > 0 && (events.length === count || read > bytes))
        return { events, upTo: (events.at(-1) as StoreEvent).revision };
      const type = value === null ? 'delete' : 'put';
      events.push({ type, key, revision, value: value ?? previous ?? '', previous, createRevision });
    }
    return { events, upTo: Math.max(after, this.#revision) };
  }

  /** This store numbers its log without gaps, so a gap means damage. */
  window(after: number): WindowRow[] {
    const rows = this.#rows(
      `SELECT revision, value IS NULL, written_at_ms, coalesce(replaced, 0),
         (SELECT octet_length(value) + octet_length(key) FROM log WHERE revision = replaced)
       FROM (SELECT *, (SELECT max(older.revision) FROM log AS older
           WHERE older.key = log.key AND older.revision < log.revision) AS replaced
         FROM log WHERE revision > ? ORDER BY revision LIMIT ${windowRows})`,
    ).all(after) as unknown as [number, number, number, number, number | null][];
    return rows.map(([revision, isDelete, writtenAtMs, replaced, bytes], index): WindowRow => {
      const expected = after + index + 1;
      if (revision !== expected) throw new Gap(`Cannot replay revision ${revision}: wanted ${expected}`);
      return [isDelete === 1, replaced, bytes ?? 0, writtenAtMs];
    });
  }

  /** Rows that nobody can read: at the compacted revision a newer one of the same key is before them, or they are deletes. */
  leftovers(afterKey: string, compactedRevision: number): { revisions: number[]; next?: string } {
    const rows = this.#rows(
      `SELECT key, revision, (value IS NULL) FROM log WHERE key > ? ORDER BY key, revision LIMIT ${leftoverRows}`,
    ).all(afterKey) as unknown as [key: string, revision: number, isDelete: number][];
    const isWhole = rows.length < leftoverRows;
    const last = rows.at(-1)?.[0];
    // The versions of the last key may go on behind this part.
    const isOneKey = rows[0]?.[0] === last;
    const part = isWhole || isOneKey ? rows : rows.filter(([key]) => key !== last);
    const revisions: number[] = [];
    for (const [index, [key, revision, isDelete]] of part.entries()) {
      if (revision > compactedRevision) continue;
      const [nextKey, nextRevision] = part[index + 1] ?? [];
      const isReplaced = nextKey === key && (nextRevision as number) <= compactedRevision;
      if (isReplaced || isDelete === 1) revisions.push(revision);
    }
    const next = part.at(-1)?.[0];
    return isWhole || next === undefined ? { revisions } : { revisions, next };
  }

  /** Whoever has walked to the end has counted for those who ask. */
  #noteWalk({ prefix, revision, afterKey }: ListRange, rows: ListedRow[], hasMore: boolean): void {
    const from = placeOf(prefix, revision, afterKey ?? '');
    const before = afterKey === undefined ? 0 : this.#walked.get(from);
    this.#walked.delete(from);
    if (before === undefined) return;
    const last = rows.at(-1)?.[0] ?? '';
    const count = before + rows.length;
    if (hasMore) keepLatest(this.#walked, placeOf(prefix, revision, last), count, knownPlaces);
    else if (revision === this.#revision) keepLatest(this.#present, prefix, count, countedPrefixes);
  }

  /** Undefined where only a count of all keys could say it: a wrong number is worse than none. */
  #remainingAfter({ prefix, revision, afterKey }: ListRange, rows: ListedRow[]): number | undefined {
    const [last] = rows.at(-1) as ListedRow;
    const place = (key: string) => placeOf(prefix, revision, key);
    const before = afterKey === undefined ? this.#presentAt(prefix, revision) : this.#remaining.get(place(afterKey));
    const remaining = before === undefined ? this.#fewBehind(last, prefix, revision) : before - rows.length;
    if (afterKey !== undefined) this.#remaining.delete(place(afterKey));
    if (remaining !== undefined) keepLatest(this.#remaining, place(last), remaining, knownPlaces);
    return remaining;
  }

  #presentAt(prefix: string, revision: number): number | undefined {
    if (revision !== this.#revision) return undefined;
    const known = this.#present.get(prefix);
    const count = known ?? this.#count([prefix, beyondPrefix(prefix)], revision);
    keepLatest(this.#present, prefix, count, countedPrefixes);
    return count;
  }

  #fewBehind(last: string, prefix: string, revision: number): number | undefined {
    const range = [firstBehind(prefix, last), beyondPrefix(prefix)] as const;
    const [rows] = this.#counted.get(...range, countedRows) as unknown as [number];
    return rows < countedRows ? this.#count(range, revision) : undefined;
  }

  #count(range: readonly [string | Uint8Array, string | Uint8Array], revision: number): number {
    return (this.#keys.get(...range, revision) as unknown as [number])[0];
  }

  #rows(query: string): StatementSync {
    const statement = this.#database.prepare(query);
    statement.setReturnArrays(true);
    return statement;
  }
}

function placeOf(prefix: string, revision: number, key: string): string {
  return `${prefix} ${revision} ${key}`;
}

function keepLatest(map: Map<string, number>, key: string, value: number, most: number): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= most) break;
    map.delete(oldest);
  }
}

/** Damage that SQLite does not see. */
export class Gap extends Error {}

function recordOf(key: string, row: Row | undefined): StoredRecord | undefined {
  if (row === undefined) return undefined;
  const [revision, value, createRevision] = row;
  return value === null ? undefined : { key, value, createRevision, revision };
}
