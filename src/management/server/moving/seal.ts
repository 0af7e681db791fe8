// Seals all records of a store on a cluster, which an older version has written or whose key is to change. In: settings. Out: how many.
// What is there is believed, so nobody must serve the store, and a replica that still writes to it ends the attempt.
import { type Clock, pause } from '../../../clock.ts';
import { type ManagementServerSettings, secretsFolder } from '../../../config/settings/management-settings.ts';
import type { Log } from '../../../log.ts';
import { RestoreFault } from '../../audit/recovery/restore-fault.ts';
import { readSecrets } from '../../keys/folder/data-folder.ts';
import { databaseFor } from '../host/database-for.ts';
import { HostDatabase } from '../host/host-database.ts';
import { inParallel, pagesOf } from './make-equal.ts';

export interface SealOptions {
  server: ManagementServerSettings;
  clock: Clock;
  log: Log;
  environment: Readonly<Record<string, string | undefined>>;
  /** Records that are done. */
  progress(done: number): void;
}

export interface Sealed {
  records: number;
  /** Records that are left as they were, because nobody can read them. */
  aside: number;
}

/** A replica that runs shows in that time that it does. */
const twoBeatsMs = 5_000;

export async function sealStore(options: SealOptions): Promise<Sealed> {
  const { server, clock, log, environment, progress } = options;
  if ((await readSecrets(secretsFolder(server))) === undefined)
    throw new RestoreFault('input', `there are no secrets in ${secretsFolder(server)} to seal records with`);
  const database = await databaseFor({ server, clock, log, environment, seals: true });
  if (!(database instanceof HostDatabase))
    throw new RestoreFault('input', 'the configuration has no store in a cluster, and only such records are sealed');
  await database.start();
  try {
    const before = database.replicas.beats;
    await pause(clock, twoBeatsMs);
    const isRunning = ([replica, beat]: [string, number]) =>
      replica !== database.shared.replica && beat !== before.get(replica);
    const running = [...database.replicas.beats].filter(isRunning);
    if (running.length > 0)
      throw new RestoreFault('input', `a replica still uses the store: ${running.map(([replica]) => replica)}`, {
        hint: 'stop every server first',
      });
    database.beginSealing();
    let records = 0;
    for await (const page of pagesOf(database))
      await inParallel(page, async ({ key, value, revision }) => {
        const written = await database.write(key, { expect: revision, value });
        if (!written.ok) throw new Error(`seal "${key}": another program writes to the store; stop it and try again`);
        progress(++records);
      });
    await database.endSealing();
    return { records, aside: database.unusable.size };
  } finally {
    await database.stop();
  }
}
