// Which store the management API has, by its settings: a SQLite file in dataDir, or records in a namespace of a cluster. In: settings.
// Out: a store that is not started.
import type { Clock } from '../../../clock.ts';
import type { ManagementServerSettings } from '../../../config/settings/management-settings.ts';
import type { Log } from '../../../log.ts';
import { SqliteStore } from '../../../store/sqlite/sqlite-store.ts';
import type { Store } from '../../../store/store.ts';
import { databasePath } from '../../keys/folder/data-folder.ts';
import { HostDatabase } from './host-database.ts';

export interface Database extends Store {
  /** Into a SQLite file. */
  copyTo(path: string): Promise<void>;
  /** Why nothing that it knows may be believed. */
  readonly trouble?: string | undefined;
  /** Other processes write it too. */
  readonly isShared?: boolean;
}

export interface DatabaseOptions {
  server: ManagementServerSettings;
  clock: Clock;
  log: Log;
  environment?: Readonly<Record<string, string | undefined>>;
}

/**
 * Five hundred changes of the largest object, or twenty thousand of ordinary ones. It lies in memory and on the disk, and whoever has a
 * key can fill it.
 */
export const maxHistoryBytes = 16 * 1024 * 1024;

export async function databaseFor({ server, clock, log, environment = {} }: DatabaseOptions): Promise<Database> {
  const history = { maxBytes: maxHistoryBytes };
  const kubernetes = server.store?.kubernetes;
  if (kubernetes === undefined)
    return new SqliteStore({ clock, path: databasePath(server.dataDir), history, keepsHistoryAtStart: true });
  return HostDatabase.for({ kubernetes, folder: server.dataDir, history, clock, log, environment });
}
