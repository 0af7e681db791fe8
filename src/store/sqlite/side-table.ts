// The values next to the log, in a table of their own: read in byte order of their keys, written without a revision.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { beyondPrefix, firstBehind } from './key-range.ts';
import type { Requests, SideValue } from './sqlite-messages.ts';

/** Also created in files of earlier versions, which ignore this table. */
export const sideSchema =
  'CREATE TABLE IF NOT EXISTS side (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID';

export class SideTable {
  readonly #page: StatementSync;
  readonly #set: StatementSync;
  readonly #remove: StatementSync;

  constructor(database: DatabaseSync) {
    this.#page = database.prepare('SELECT key, value FROM side WHERE key >= ? AND key < ? ORDER BY key LIMIT ?');
    this.#page.setReturnArrays(true);
    this.#set = database.prepare('INSERT OR REPLACE INTO side VALUES (?, ?)');
    this.#remove = database.prepare('DELETE FROM side WHERE key = ?');
  }

  values({ prefix, afterKey, limit = -1 }: Requests['sideValues']['ask']): SideValue[] {
    return this.#page.all(firstBehind(prefix, afterKey), beyondPrefix(prefix), limit) as unknown as SideValue[];
  }

  write(values: readonly SideValue[]): undefined {
    for (const [key, value] of values) {
      if (value === null) this.#remove.run(key);
      else this.#set.run(key, value);
    }
  }
}
