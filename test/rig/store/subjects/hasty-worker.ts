// The database thread of the planted early acknowledgement: says that a commit is on disk, and writes it a little later.
import { DatabaseSync } from 'node:sqlite';

const latenessMs = 25;
const { exec, close } = DatabaseSync.prototype;
/** The transaction that was acknowledged and is still open. */
let late: { database: DatabaseSync; timer: NodeJS.Timeout } | undefined;

function writeNow(): void {
  if (late === undefined) return;
  const { database, timer } = late;
  late = undefined;
  clearTimeout(timer);
  exec.call(database, 'COMMIT');
}

DatabaseSync.prototype.exec = function (sql) {
  if (sql === 'BEGIN IMMEDIATE' && late !== undefined) return;
  if (sql === 'COMMIT') {
    late ??= { database: this, timer: setTimeout(writeNow, latenessMs) };
    return;
  }
  writeNow();
  exec.call(this, sql);
};

DatabaseSync.prototype.close = function () {
  writeNow();
  close.call(this);
};

await import('../../../../src/store/sqlite/sqlite-worker.ts');
