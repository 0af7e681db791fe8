// Stores in files of a folder that goes with the file of tests; what a test opens ends with the test.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';
import { SqliteStore, type SqliteStoreOptions } from '../../../src/store/sqlite/sqlite-store.ts';
import { VirtualClock } from '../../virtual-clock.ts';

/** Call it at the top of a file of tests. */
export function folderOfTests(): { folder: string; newPath: () => string } {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-store-'));
  let fileCount = 0;
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return { folder, newPath: () => join(folder, `${fileCount++}.db`) };
}

export async function start(path: string, options: Partial<SqliteStoreOptions> = {}): Promise<SqliteStore> {
  const store = new SqliteStore({ clock: new VirtualClock(), path, lockTimeoutMs: 0, ...options });
  onTestFinished(() => store.stop());
  await store.start();
  return store;
}
