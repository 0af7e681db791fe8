// Goes on with a store on a cluster that was set back to an older state, as after a restore of etcd. In: settings, the journals of all
// replicas. Out: what was done. A new epoch puts every revision above all that were given out, and what was revoked since is
// revoked again; without a whole journal every key is disabled, as by a restore.
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../clock.ts';
import { type ManagementServerSettings, secretsFolder } from '../../../config/settings/management-settings.ts';
import type { Log } from '../../../log.ts';
import { keyedDigest, lostEnd } from '../../audit/chain/chain.ts';
import { coveredFrom, headOf, type JournalFiles } from '../../audit/journal/several-journals.ts';
import { journalFiles, type Known, knownIn, knownTogether } from '../../audit/recovery/known-revocations.ts';
import { type Applied, putOver } from '../../audit/recovery/put-over.ts';
import { RestoreFault } from '../../audit/recovery/restore-fault.ts';
import { readSecrets } from '../../keys/folder/data-folder.ts';
import { databaseFor } from '../host/database-for.ts';
import { HostDatabase } from '../host/host-database.ts';
import { knownReplicaIn } from '../host/replica-file.ts';
import { type ReplicaWords, wordsIn } from '../host/shared-store.ts';
import { mustBeAlone } from './must-be-alone.ts';

export interface RecoverOptions {
  server: ManagementServerSettings;
  /** Folders with the journals of the other replicas. */
  others: readonly string[];
  trustsKeys: boolean;
  /** Also while replicas run. */
  isForced?: boolean;
  /** Only says what it would do: a key that is disabled for want of a journal stays so when the journal is found. */
  isDryRun?: boolean;
  clock: Clock;
  log: Log;
  environment: Readonly<Record<string, string | undefined>>;
}

/** `judged`: nothing was changed. */
export type Recovered = Judged & ({ kind: 'judged' } | ({ kind: 'done'; revision: number } & Applied));

interface Judged {
  /** Where the host was when this began. */
  foundAt: number;
  /** `until`: when its last line was written; what was revoked later is not in it. */
  journals: { folder: string; journal: Known['journal'] | { kind: 'cut' }; until: string | undefined }[];
  /** Replicas that the store knows, and whose journal is in none of the folders. */
  missing: string[];
  /** No revocation can be unknown. */
  knowsAll: boolean;
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
    const lost = 'what it revokes from now on would be missing here';
    const hint = 'stop every replica and run this again, or add --force';
    if (options.isForced !== true) await mustBeAlone(database, { clock, lost, hint });
    const foundAt = await database.currentRevision({ fresh: true });
    const folders = [server.dataDir, ...others];
    const digest = keyedDigest(secrets.auditKey);
    const { words } = database.replicas;
    const files = await Promise.all(folders.map(journalFiles));
    // Records may come back that are older than the host is, as from a backup of the namespace: so every line counts.
    const known = await Promise.all(files.map((one) => knownIn(one, 0, digest)));
    const replicas = await Promise.all(folders.map((folder) => knownReplicaIn(folder).catch(() => undefined)));
    const missing = missingOf(
      withJournal(words),
      replicas.map((one) => one?.replica),
    );
    const from = coveredFrom(files, digest);
    const isLate = from === undefined || from > database.writtenUpTo;
    const journals = folders.map((folder, at) => {
      const { journal, until } = known[at] as Known;
      const told = wordsIn(words.get(replicas[at]?.replica ?? '') ?? '').journal;
      const isCut = lostEnd('journal', headOf(files[at] as JournalFiles, digest), told) !== undefined;
      return { folder, journal: stateOf(journal, { isCut, isLate }), until };
    });
    const knowsAll = missing.length === 0 && journals.every(({ journal }) => journal.kind === 'whole');
    // Of the first attempt, if one was broken off: so this one ends as that would have ended.
    const { writtenUpTo: recoversFrom } = database;
    const highest = Math.max(recoversFrom, ...known.map(({ highestRevision }) => highestRevision));
    const former = replicas.flatMap((replica) => replica?.epoch ?? []);
    const all = knownTogether(known as [Known, ...Known[]]);
    const disablesKeys = !options.trustsKeys && !knowsAll;
    const found = { foundAt, journals, missing, knowsAll };
    if (options.isDryRun === true) return { kind: 'judged', ...found };
    try {
      const above = knowsAll ? highest : highest + blindJump;
      await database.beginEpoch(newEpoch(), above, { former, recoversFrom });
      const applied = await putOver(database, all, { disablesKeys, isComplete: knowsAll, blindFrom: recoversFrom });
      // Until this write no server starts.
      await database.beginEpoch(newEpoch(), above);
      const revision = await database.currentRevision({ fresh: true });
      return { kind: 'done', ...applied, ...found, revision };
    } catch (cause) {
      throw unfinished(cause, disablesKeys);
    }
  } finally {
    await database.stop();
  }
}

const newEpoch = () => randomBytes(8).toString('hex');

/** Some records are written already, and nobody can say which. */
function unfinished(cause: unknown, disablesKeys: boolean): RestoreFault {
  const why = cause instanceof Error ? cause.message : String(cause);
  const what = disablesKeys
    ? 'the recovery is not finished, and some keys are disabled already'
    : 'the recovery is not finished';
  return new RestoreFault('environment', `${what}: ${why}`, {
    cause,
    saysAll: true,
    hint: 'look whether the cluster answers, and run it again with the same journals; no server starts until it has ended',
  });
}

/** A replica that never got so far as to open its logs has no journal. A version before this one reported its audit log alone. */
function withJournal(words: ReadonlyMap<string, string>): string[] {
  const hasLogs = ({ audit, journal }: ReplicaWords) => audit !== undefined || journal !== undefined;
  return [...words].filter(([, about]) => hasLogs(wordsIn(about))).map(([replica]) => replica);
}

/** `alone`: since the first revision, which none reaches. `isCut`: the store has seen later lines. `isLate`: all together begin too late. */
function stateOf(
  alone: Known['journal'],
  { isCut, isLate }: { isCut: boolean; isLate: boolean },
): Recovered['journals'][number]['journal'] {
  if (alone.kind === 'absent' || alone.kind === 'broken') return alone;
  if (isCut) return { kind: 'cut' };
  return isLate ? alone : { kind: 'whole' };
}

/** A copy of a journal alone does not say whose it is, so as many replicas may have theirs among such copies. */
function missingOf(replicas: readonly string[], given: readonly (string | undefined)[]): string[] {
  const missing = replicas.filter((replica) => !given.includes(replica)).sort();
  const unnamed = given.filter((replica) => replica === undefined).length;
  return missing.length <= unnamed ? [] : missing;
}
