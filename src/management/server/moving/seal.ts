// Seals all records of a store on a cluster, which an older version has written or whose key is to change. In: settings. Out: how many.
// What is there is believed, so nobody must serve the store, and a replica that still writes to it ends the attempt.
import type { Clock } from '../../../clock.ts';
import { type ManagementServerSettings, secretsFolder } from '../../../config/settings/management-settings.ts';
import type { Log } from '../../../log.ts';
import { RestoreFault } from '../../audit/recovery/restore-fault.ts';
import { readSecrets } from '../../keys/folder/data-folder.ts';
import { databaseFor } from '../host/database-for.ts';
import { HostDatabase } from '../host/host-database.ts';
import { inParallel, pagesOf } from './make-equal.ts';
import { mustBeAlone } from './must-be-alone.ts';

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

export async function sealStore(options: SealOptions): Promise<Sealed> {
  const { server, clock, log, environment, progress } = options;
  if ((await readSecrets(secretsFolder(server))) === undefined)
    throw new RestoreFault('input', `there are no secrets in ${secretsFolder(server)} to seal records with`);
  const database = await databaseFor({ server, clock, log, environment, seals: true });
  if (!(database instanceof HostDatabase))
    throw new RestoreFault('input', 'the configuration has no store in a cluster, and only such records are sealed');
  await database.start();
  try {
    await mustBeAlone(database, { clock, lost: 'what it writes from now on would have no seal' });
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
