// Replaces the database with a backup, while no server runs. In: the folder of a backup, dataDir, the journal of revocations. Out:
// the report. The old files are replaced only after everything is ready, and are moved aside, not deleted.
import { existsSync } from 'node:fs';
import { copyFile, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder, textOfFile, writeWhole } from '../../../apiserver/tls/secret-files.ts';
import type { Clock } from '../../../clock.ts';
import { type HeldDatabase, holdDatabase, raiseRevision } from '../../../store/sqlite/database-file.ts';
import { SqliteStore } from '../../../store/sqlite/sqlite-store.ts';
import {
  databasePath,
  makeDataFolder,
  readSecrets,
  replicaOf,
  revocationsName,
  type Secrets,
  tokenKeysFile,
} from '../../keys/folder/data-folder.ts';
import { type Digest, keyedDigest } from '../chain/chain.ts';
import { ChainFile, chainFiles } from '../chain/chain-file.ts';
import type { JournalEntry } from '../journal/journal.ts';
import { journalsIn, mergedText } from '../journal/several-journals.ts';
import {
  databaseName,
  fingerprintsOf,
  type Manifest,
  manifestName,
  readManifest,
  secretsName,
} from './backup-manifest.ts';
import { faultIn, type JournalState, type Known, knownSince } from './known-revocations.ts';
import { type Applied, putOver } from './put-over.ts';
import { auditedRestore } from './restore-audit.ts';
import { RestoreFault } from './restore-fault.ts';
import { digestOf } from './take-backup.ts';

export interface RestoreOptions {
  from: string;
  dataDir: string;
  /** Of the peppers and the own authorities; often dataDir. */
  secretsDir: string;
  /** Journals from elsewhere, the files of each with the oldest first; absent = the one in dataDir. */
  journal: readonly string[] | undefined;
  trustsKeys: boolean;
  clock: Clock;
}

export interface Restored extends Applied {
  madeAt: string;
  revision: number;
  journal: Known['journal'];
  /** The new path of the old database. */
  movedAside: string | undefined;
  /** Files of the backup that secretsDir did not have. */
  broughtBack: readonly string[];
}

/** Without a journal, the number of revisions since the backup is unknown. etcdutl skips as many for the same reason. */
const blindJump = 1_000_000_000;

export async function restore(options: RestoreOptions): Promise<Restored> {
  const { from, dataDir, secretsDir } = options;
  const manifest = await manifestIn(from);
  if (!existsSync(databasePath(dataDir)) && (await replicaOf(dataDir)) !== undefined)
    throw new RestoreFault('input', `${dataDir} belongs to a replica whose records are in a cluster`, {
      hint: 'restore with a dataDir of its own, then move the records with `hostward store migrate`',
    });
  await makeDataFolder(dataDir);
  const held = holdDatabase(databasePath(dataDir));
  try {
    const broughtBack = await bringBackSecrets(from, secretsDir, manifest).catch(refuse);
    const secrets = await fittingSecrets(secretsDir, manifest);
    return await auditedRestore({
      dataDir,
      digest: keyedDigest(secrets.auditKey),
      clock: options.clock,
      madeAt: manifest.madeAt,
      run: () => replaced(options, { manifest, held, secrets, broughtBack }),
      says: ({ keys, disabled, journal }) => `${keys} keys, ${disabled} disabled, journal ${journal.kind}`,
    });
  } finally {
    held.release();
  }
}

/** A file of dataDir that cannot be read or written is no bug: its sentence names the file and the way out. */
function refuse(cause: Error): never {
  throw new RestoreFault('environment', cause.message, { cause });
}

interface Ready {
  manifest: Manifest;
  held: HeldDatabase;
  secrets: Secrets;
  broughtBack: readonly string[];
}

async function replaced(options: RestoreOptions, { manifest, held, secrets, broughtBack }: Ready): Promise<Restored> {
  const { from, dataDir, secretsDir, clock } = options;
  const digest = keyedDigest(secrets.auditKey);
  const { journal: files } = options;
  const fault = files === undefined ? undefined : await bringJournals(files, { dataDir, digest });
  const there = await knownSince(manifest.revision, dataDir, digest);
  const known = fault === undefined ? there : { ...there, journal: fault };
  const ready = `${databasePath(dataDir)}.restoring`;
  await removeDatabase(ready);
  await copyFile(join(from, databaseName), ready);
  raiseRevision(ready, firstRevision(manifest, known, held));
  const applied = await applyTo(ready, known, options);
  // The state of direct tokens since the backup is unknown, so their signing keys are removed, which ends all of them.
  await rm(join(secretsDir, tokenKeysFile), { force: true, recursive: true }).catch(refuse);
  const stamp = clock.wallTime().toISOString().replace(/[:.]/g, '-');
  const movedAside = await takeItsPlace(ready, databasePath(dataDir), held, stamp);
  await goOnWithJournal({ dataDir, secrets, manifest, known, revision: applied.revision, clock, stamp });
  return { ...applied, madeAt: manifest.madeAt, journal: known.journal, movedAside, broughtBack };
}

async function manifestIn(from: string): Promise<Manifest> {
  const text = await textOfFile(join(from, manifestName));
  if (text === undefined) throw new RestoreFault('input', `${from} is no backup: it has no ${manifestName}`);
  const manifest = readManifest(text);
  if (manifest === undefined)
    throw new RestoreFault('input', `${join(from, manifestName)} is not one that this version can read`);
  for (const { name, sha256 } of manifest.files) {
    const path = join(from, name);
    const digest = await digestOf(path).catch(() => undefined);
    if (digest === undefined) throw new RestoreFault('input', `the backup is not whole: ${path} is missing`);
    if (digest !== sha256) throw new RestoreFault('input', `the backup is damaged: ${path} is not as it was written`);
  }
  return manifest;
}

/** A file that secretsDir still has is kept, because it may have changed since the backup, for example by a new pepper. */
async function bringBackSecrets(from: string, secretsDir: string, { files }: Manifest): Promise<string[]> {
  const brought: string[] = [];
  for (const { name } of files) {
    const path = join(secretsDir, name);
    if (name === databaseName || name === tokenKeysFile || (await textOfFile(path)) !== undefined) continue;
    await makeFolder(dirname(path), 0o700);
    await writeWhole(path, await readFile(join(from, name), 'utf8'));
    brought.push(name);
  }
  return brought;
}

async function fittingSecrets(secretsDir: string, { peppers }: Manifest): Promise<Secrets> {
  const path = join(secretsDir, secretsName);
  const secrets = await readSecrets(secretsDir).catch((cause: Error) => {
    const hint = `move ${path} away; when the backup has one, it is taken`;
    throw new RestoreFault('environment', cause.message, { cause, hint });
  });
  if (secrets === undefined)
    throw new RestoreFault(
      'input',
      `${secretsName} is neither in the backup nor in ${secretsDir}, and without it no key can be proved`,
      {
        hint: `put the ${secretsName} of the server that made the backup into ${secretsDir}`,
      },
    );
  const there = new Map(fingerprintsOf(secrets.peppers.versions).map((one) => [one.version, one.fingerprint]));
  const isFitting = peppers.every(({ version, fingerprint }) => there.get(version) === fingerprint);
  if (isFitting) return secrets;
  throw new RestoreFault('input', `${path} is of another server: no key of the backup could be proved with it`, {
    hint: `move ${path} away; when the backup has the right one, it is taken`,
  });
}

/** Returns why they say too little, if one of several is damaged. The one in dataDir then says what all of them say. */
async function bringJournals(
  names: readonly string[],
  { dataDir, digest }: { dataDir: string; digest: Digest },
): Promise<JournalState | undefined> {
  const there = await chainFiles(dataDir, revocationsName);
  if (there.length > 0)
    throw new RestoreFault(
      'input',
      `${join(dataDir, there[0] as string)} is a journal already, so --journal is one too many`,
      {
        hint: 'leave --journal out, or move the other journal away',
      },
    );
  const read = names.map(async (name) => ({ name, text: await readFile(name, 'utf8') }));
  const files = await Promise.all(read).catch(refuse);
  const journals = journalsIn(files, digest);
  const isOne = journals.length === 1;
  const faults = isOne ? [] : await Promise.all(journals.map((journal) => faultIn(journal, digest)));
  const fault = faults.find((one) => one !== undefined);
  const text = isOne
    ? files.map((file) => file.text).join('')
    : mergedText(journals, { digest, isWhole: fault === undefined });
  await writeWhole(join(dataDir, `${revocationsName}.log`), text);
  return fault;
}

function firstRevision({ revision }: Manifest, known: Known, held: HeldDatabase): number {
  const highest = Math.max(revision, known.highestRevision, held.revision);
  return known.journal.kind === 'whole' ? highest : highest + blindJump;
}

async function applyTo(
  path: string,
  known: Known,
  { clock, trustsKeys }: RestoreOptions,
): Promise<Applied & { revision: number }> {
  const store = new SqliteStore({ clock, path });
  await store.start();
  try {
    const applied = await putOver(store, known, { disablesKeys: known.journal.kind !== 'whole' && !trustsKeys });
    return { ...applied, revision: await store.currentRevision() };
  } finally {
    await store.stop();
  }
}

/** Returns the new path of the old database. */
async function takeItsPlace(
  ready: string,
  path: string,
  held: HeldDatabase,
  stamp: string,
): Promise<string | undefined> {
  // SQLite folds its log into the file when the last process closes it, so that the file is whole by itself.
  held.release();
  const aside = `${path}.before-${stamp}`;
  for (const ending of ['', '-wal', '-shm']) await rename(path + ending, aside + ending).catch(ignoreAbsent);
  await rename(ready, path);
  return (await digestOf(aside).catch(() => undefined)) === undefined ? undefined : aside;
}

async function goOnWithJournal(of: {
  dataDir: string;
  secrets: Secrets;
  manifest: Manifest;
  known: Known;
  revision: number;
  clock: Clock;
  stamp: string;
}): Promise<void> {
  const { dataDir, known, revision, clock, manifest, stamp } = of;
  if (known.journal.kind === 'broken')
    for (const name of await chainFiles(dataDir, revocationsName))
      await rename(join(dataDir, name), join(dataDir, `${name}.broken-${stamp}`));
  const file = new ChainFile({ folder: dataDir, name: revocationsName, digest: keyedDigest(of.secrets.auditKey) });
  await file.start();
  try {
    const isWhole = known.journal.kind === 'whole';
    const change: JournalEntry['change'] = isWhole ? { kind: 'restored', from: manifest.revision } : { kind: 'begins' };
    const entry: JournalEntry = { revision, time: clock.wallTime().toISOString(), uid: '', name: '', change };
    await file.append(entry);
  } finally {
    await file.stop();
  }
}

async function removeDatabase(path: string): Promise<void> {
  for (const ending of ['', '-wal', '-shm']) await rm(path + ending, { force: true });
}

function ignoreAbsent(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
