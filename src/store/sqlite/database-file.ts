// The file of a store that nobody serves, for a restore: is it free, how far did it get, and a jump over revisions that were used
// already. In: a path. Must never run at the same time as an open store of the same file.
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { StoreFault } from '../errors.ts';

export interface HeldDatabase {
  /** The highest revision that it has seen; 0 for a file that is no database any more. */
  revision: number;
  release(): void;
}

/** Primary result code of SQLite. */
const sqliteBusy = 5;

/** Keeps every other process from opening the file; throws STORE_LOCKED when one has it open. */
export function holdDatabase(path: string): HeldDatabase {
  // SQLite would make the file.
  if (!existsSync(path)) return { revision: 0, release: () => undefined };
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    database.exec('BEGIN EXCLUSIVE');
    const held = database;
    const release = () => {
      if (held.isOpen) held.close();
    };
    return { revision: revisionIn(held), release };
  } catch (error) {
    if (database?.isOpen === true) database.close();
    const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined;
    if (code === sqliteBusy)
      throw new StoreFault('STORE_LOCKED', `Cannot open "${path}": another process has locked it`, { cause: error });
    // A damaged file is the reason for a restore, and no server can have it open.
    return { revision: 0, release: () => undefined };
  }
}

/** The next write gets a revision above this one, and readers that go on from an older one must list again. */
export function raiseRevision(path: string, revision: number): void {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database
      .prepare("UPDATE meta SET number = ? WHERE name = 'compacted_revision' AND number < ?")
      .run(revision, revision);
  } finally {
    database.close();
  }
}

function revisionIn(database: DatabaseSync): number {
  const log = database.prepare('SELECT max(revision) AS revision FROM log').get()?.['revision'];
  const compacted = database.prepare("SELECT number FROM meta WHERE name = 'compacted_revision'").get()?.['number'];
  return Math.max(Number(log ?? 0), Number(compacted ?? 0));
}
