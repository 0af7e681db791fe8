// Goes on with a store on a cluster that was set back to an older state, as after a restore of etcd. In: settings, the journals of all
// replicas. Out: what was done. A new epoch puts every revision above all that were given out, and what was revoked since is
// revoked again; without a whole journal every key is disabled, as by a restore.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '../../../clock.ts';
import { type ManagementServerSettings, secretsFolder } from '../../../config/settings/management-settings.ts';
import type { Log } from '../../../log.ts';
import { type Digest, keyedDigest, readLine } from '../../audit/chain/chain.ts';
import { chainFiles, lastLineOf } from '../../audit/chain/chain-file.ts';
import { type Known, knownSince, knownTogether } from '../../audit/recovery/known-revocations.ts';
import { type Applied, putOver } from '../../audit/recovery/put-over.ts';
import { RestoreFault } from '../../audit/recovery/restore-fault.ts';
import { readSecrets, replicaOf, revocationsName } from '../../keys/folder/data-folder.ts';
import { databaseFor } from '../host/database-for.ts';
import { HostDatabase } from '../host/host-database.ts';
import { type ReplicaWords, wordsIn } from '../host/shared-store.ts';

export interface RecoverOptions {
  server: ManagementServerSettings;
  /** Folders with the journals of the other replicas. */
  others: readonly string[];
  trustsKeys: boolean;
  clock: Clock;
  log: Log;
  environment: Readonly<Record<string, string | undefined>>;
}

export interface Recovered extends Applied {
  /** Where the host was when this began. */
  foundAt: number;
  revision: number;
  /** `until`: when its last line was written; what was revoked later is not in it. */
  journals: { folder: string; journal: Known['journal'] | { kind: 'cut' }; until: string | undefined }[];
  /** Replicas that the store knows, and whose journal is in none of the folders. */
  missing: string[];
}

/** Without a journal the number of revisions since then is unknown. */
const blindJump = 1_000_000_000;

export async function recover(options: RecoverOptions): Promise<Recovered> {
  const { server, others, clock, log, environment } = options;
  const secrets = await readSecrets(secretsFolder(server));
  if (secrets === undefined)
    throw new RestoreFault(
      'input',
      `there are no secrets in ${secretsFolder(server)}, and without them no journal can be read`,
    );
  const database = await databaseFor({ server, clock, log, environment, recovers: true });
  if (!(database instanceof HostDatabase))
    throw new RestoreFault('input', 'the configuration has no store in a cluster', {
      hint: 'a database file is brought back with "hostward restore FOLDER"',
    });
  await database.start();
  try {
    const foundAt = await database.currentRevision({ fresh: true });
    const folders = [server.dataDir, ...others];
    const digest = keyedDigest(secrets.auditKey);
    const known = await Promise.all(folders.map((folder) => everythingIn(folder, foundAt, digest)));
    const missing = missingOf(withJournal(database.replicas.words), await Promise.all(folders.map(replicaOf)));
    const cut = await Promise.all(folders.map((folder) => isCut(folder, database.replicas.words, digest)));
    const isWhole =
      missing.length === 0 && !cut.includes(true) && known.every(({ journal }) => journal.kind === 'whole');
    const highest = Math.max(foundAt, ...known.map(({ highestRevision }) => highestRevision));
    await database.beginEpoch(randomBytes(8).toString('hex'), isWhole ? highest : highest + blindJump);
    const together = knownTogether(known as [Known, ...Known[]]);
    const applied = await putOver(database, together, { disablesKeys: !options.trustsKeys, isComplete: isWhole });
    const revision = await database.currentRevision({ fresh: true });
    const journals = folders.map((folder, at) => {
      const { journal, until } = known[at] as Known;
      return { folder, journal: cut[at] === true ? { kind: 'cut' as const } : journal, until };
    });
    return { ...applied, foundAt, revision, journals, missing };
  } finally {
    await database.stop();
  }
}

/** A replica that never got so far as to open its logs has no journal. A version before this one reported its audit log alone. */
function withJournal(words: ReadonlyMap<string, string>): string[] {
  const hasLogs = ({ audit, journal }: ReplicaWords) => audit !== undefined || journal !== undefined;
  return [...words].filter(([, about]) => hasLogs(wordsIn(about))).map(([replica]) => replica);
}

/** It ends before the line that its replica had reported to the store: it is an old copy, or its end was lost. */
async function isCut(folder: string, words: ReadonlyMap<string, string>, digest: Digest): Promise<boolean> {
  const told = wordsIn(words.get((await replicaOf(folder)) ?? '') ?? '').journal;
  const last = (await chainFiles(folder, revocationsName)).at(-1);
  if (told === undefined || last === undefined) return false;
  const end = readLine((await lastLineOf(join(folder, last))) ?? '', digest);
  return end !== undefined && end.seq < told.line;
}

/** A copy of a journal alone does not say whose it is, so as many replicas may have theirs among such copies. */
function missingOf(replicas: readonly string[], given: readonly (string | undefined)[]): string[] {
  const missing = replicas.filter((replica) => !given.includes(replica)).sort();
  const unnamed = given.filter((replica) => replica === undefined).length;
  return missing.length <= unnamed ? [] : missing;
}

/** Records may come back that are older than the host is, as from a backup of the namespace: so every line counts. */
async function everythingIn(folder: string, foundAt: number, digest: Digest): Promise<Known> {
  const { journal } = await knownSince(foundAt, folder, digest);
  return { ...(await knownSince(0, folder, digest)), journal };
}
