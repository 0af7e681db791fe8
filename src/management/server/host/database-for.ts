// Which store the management API has, by its settings: a SQLite file in dataDir, or records in a namespace of a cluster. In: settings.
// Out: a store that is not started.
import type { Clock } from '../../../clock.ts';
import { type ManagementServerSettings, secretsFolder } from '../../../config/settings/management-settings.ts';
import type { Log } from '../../../log.ts';
import type { Metrics } from '../../../metrics.ts';
import { SqliteStore } from '../../../store/sqlite/sqlite-store.ts';
import type { Store } from '../../../store/store.ts';
import { issuesPrefix } from '../../credentials/certificates/issue-book.ts';
import { sharedLinesPrefix } from '../../credentials/tokens/shared-lines.ts';
import { keyPrefix } from '../../keys/book/key-book.ts';
import { suppliedPrefix } from '../../keys/book/supplied-values.ts';
import { databasePath } from '../../keys/folder/data-folder.ts';
import type { Sweeping } from '../../keys/key-chores.ts';
import { HostDatabase } from './host-database.ts';
import type { Shared } from './shared-store.ts';

export interface Database extends Store {
  /** Into a SQLite file. */
  copyTo(path: string): Promise<void>;
  /** Why nothing that it knows may be believed. */
  readonly trouble?: string | undefined;
  /** Other processes write it too; absent = this one has it for itself. */
  readonly shared?: Shared;
}

/** A host has other work than ours. */
const deletesPerSecond = 20;

export function sweepingOf({ shared }: Database): Sweeping | undefined {
  return shared && { mayAct: () => shared.sweeps(), deletesPerSecond };
}

export interface DatabaseOptions {
  server: ManagementServerSettings;
  clock: Clock;
  log: Log;
  metrics?: Metrics | undefined;
  /** Whatever this replica has used before: the records come from elsewhere. */
  isNewStore?: boolean;
  /** Also opens a store whose replicas do not run, with a folder that knows nothing of it: nobody is let in. */
  mayBeAlone?: boolean;
  /** Also opens a store on a cluster that was set back. */
  recovers?: boolean;
  /** Also opens a store whose records are to be sealed. */
  seals?: boolean;
  environment?: Readonly<Record<string, string | undefined>>;
}

/**
 * Five hundred changes of the largest object, or twenty thousand of ordinary ones. The history is on the disk, or in memory when the
 * records are in a cluster, and whoever has a key can fill it.
 */
export const maxHistoryBytes = 16 * 1024 * 1024;

export async function databaseFor(options: DatabaseOptions): Promise<Database> {
  const {
    server,
    clock,
    log,
    metrics,
    environment = {},
    isNewStore = false,
    mayBeAlone = false,
    recovers = false,
    seals = false,
  } = options;
  const history = { maxBytes: maxHistoryBytes };
  const { store } = server;
  if (store?.kubernetes === undefined)
    return new SqliteStore({ clock, path: databasePath(server.dataDir), history, keepsHistoryAtStart: true });
  const { kubernetes, maxRecords: records, maxBytes: bytes } = store;
  return HostDatabase.for({
    kubernetes,
    room: { most: { records, bytes }, isLimited },
    folder: server.dataDir,
    secretsFolder: secretsFolder(server),
    history,
    clock,
    log,
    metrics,
    environment,
    isNewStore,
    mayBeAlone,
    recovers,
    seals,
  });
}

/** A full store must start with a configuration that names more people. */
const byClients = [keyPrefix, suppliedPrefix, issuesPrefix, sharedLinesPrefix];

function isLimited(key: string): boolean {
  return byClients.some((prefix) => key.startsWith(prefix));
}
