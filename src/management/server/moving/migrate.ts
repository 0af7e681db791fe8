// Moves all records from the store of one configuration to the store of another one, while no server runs on either. In: the settings
// of both. Out: what was moved. The new store may be served only when it holds exactly what the old one held, and the old one never
// again unless everything is moved back.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, textOfFile } from '../../../apiserver/tls/secret-files.ts';
import type { Clock } from '../../../clock.ts';
import { type ManagementServerSettings, secretsFolder } from '../../../config/settings/management-settings.ts';
import type { Log } from '../../../log.ts';
import { raiseRevision } from '../../../store/sqlite/database-file.ts';
import { RestoreFault } from '../../audit/recovery/restore-fault.ts';
import { databasePath, proofKey, samePeppers } from '../../keys/folder/data-folder.ts';
import { type Database, databaseFor } from '../host/database-for.ts';
import { HostDatabase } from '../host/host-database.ts';
import { movedKey, movingKey } from '../host/store-marks.ts';
import { contentOf, makeEqual, type StoreContent } from './make-equal.ts';
import { mustBeAlone } from './must-be-alone.ts';

export interface MigrateOptions {
  from: ManagementServerSettings;
  to: ManagementServerSettings;
  clock: Clock;
  log: Log;
  environment: Readonly<Record<string, string | undefined>>;
  /** Records that are done. */
  progress(done: number): void;
}

export interface Migrated extends StoreContent {
  /** Every revision of the new store is above it. */
  revision: number;
}

/** The secrets that replicas share; what else lies in a dataDir belongs to one replica alone. */
const secretNames = /^(?:secrets\.json|token-keys\.json|ca\.(?:crt|key)|client-ca)$/;

export async function migrate(options: MigrateOptions): Promise<Migrated> {
  const from = await opened(options.from, options, true);
  try {
    const ended = await endedIn(from, options);
    if (ended !== undefined) return ended;
    await mustBeThere(from);
    await mustBeAlone(from, {
      clock: options.clock,
      lost: 'what it changes from now on would be missing in the new store',
    });
    // First, because records in a cluster are sealed with these secrets.
    await bringSecrets(secretsFolder(options.from), secretsFolder(options.to));
    const to = await opened(options.to, options, false);
    try {
      return await moved(from, to, options);
    } finally {
      await to.stop();
    }
  } finally {
    await from.stop();
  }
}

async function opened(
  server: ManagementServerSettings,
  { clock, log, environment }: MigrateOptions,
  isSource: boolean,
): Promise<Database> {
  const isFile = server.store?.kubernetes === undefined;
  if (isSource && isFile && !existsSync(databasePath(server.dataDir)))
    throw new RestoreFault('input', `there is no store to move in ${server.dataDir}`);
  await makeFolder(server.dataDir, 0o700);
  const database = await databaseFor({ server, clock, log, environment, isNewStore: !isSource, mayBeAlone: isSource });
  await database.start();
  return database;
}

async function moved(from: Database, to: Database, { progress, ...options }: MigrateOptions): Promise<Migrated> {
  const proof = await mustBeThere(from);
  await mustBeFree(to, proof);
  await to.write(movingKey, { expect: undefined, value: proof });
  const revision = await from.currentRevision({ fresh: true });
  const raised = await above(revision, to, options.to, options);
  try {
    await makeEqual(from, raised, progress);
    const [old, now] = [await contentOf(from), await contentOf(raised)];
    if (old.digest !== now.digest)
      throw new RestoreFault(
        'environment',
        `the new store has ${now.records} records that are not the ${old.records} of the old one; run the command again`,
      );
    // First the old one, so that a break between the two leaves none that can be served by mistake.
    await from.write(movedKey, { expect: undefined, value: JSON.stringify(nameOf(options.to)) });
    await takeMarksOff(raised);
    return { ...now, revision };
  } finally {
    if (raised !== to) await raised.stop();
  }
}

async function takeMarksOff(to: Database): Promise<void> {
  await to.write(movedKey, { expect: undefined, value: undefined });
  await to.write(movingKey, { expect: undefined, value: undefined });
}

/** Of an attempt that was broken off when it had compared both stores and marked the old one: no server starts on either. */
async function endedIn(from: Database, options: MigrateOptions): Promise<Migrated | undefined> {
  const { record: gone } = await from.get(movedKey);
  const { record: proof } = await from.get(proofKey);
  if (gone === undefined || gone.value !== JSON.stringify(nameOf(options.to))) return undefined;
  // One that is served is not open to us, and wants no end.
  const to = await opened(options.to, options, false).catch((error: { code?: string }) => {
    if (error.code !== 'STORE_LOCKED') throw error;
  });
  if (to === undefined) return undefined;
  try {
    const { record: moving } = await to.get(movingKey);
    if (moving === undefined || moving.value !== proof?.value) return undefined;
    await takeMarksOff(to);
    return { ...(await contentOf(to)), revision: await to.currentRevision({ fresh: true }) };
  } finally {
    await to.stop();
  }
}

/** What the secrets of its records are proved by. */
async function mustBeThere(from: Database): Promise<string> {
  const { record: gone } = await from.get(movedKey);
  if (gone !== undefined)
    throw new RestoreFault('input', `the records were moved already, to ${String(JSON.parse(gone.value))}`, {
      hint: 'start the servers with the configuration of --to',
      saysAll: true,
    });
  const { record: proof } = await from.get(proofKey);
  if (proof === undefined) throw new RestoreFault('input', 'the store that is to be moved has never been used');
  return proof.value;
}

/** A store that holds something else is left alone. */
async function mustBeFree(to: Database, proof: string): Promise<void> {
  const page = await to.list('', { limit: 1 });
  if (page.kind === 'page' && page.records.length === 0) return;
  const { record: moving } = await to.get(movingKey);
  const { record: wasMoved } = await to.get(movedKey);
  const { record: theirs } = await to.get(proofKey);
  if (moving?.value === proof || (wasMoved !== undefined && samePeppers(theirs?.value, proof))) return;
  throw new RestoreFault('input', 'the new store has records of its own, and they would be lost', {
    hint: 'name an empty namespace or dataDir',
  });
}

/** Clients that go on from a revision of the old store must list again. */
async function above(
  revision: number,
  to: Database,
  server: ManagementServerSettings,
  { clock, log, environment }: Omit<MigrateOptions, 'progress'>,
): Promise<Database> {
  if (to instanceof HostDatabase) {
    await to.beginEpoch(randomBytes(8).toString('hex'), revision);
    return to;
  }
  await to.stop();
  raiseRevision(databasePath(server.dataDir), revision);
  const again = await databaseFor({ server, clock, log, environment });
  await again.start();
  return again;
}

async function bringSecrets(from: string, to: string): Promise<void> {
  if (from === to) return;
  await makeFolder(to, 0o700);
  const [ours, theirs] = [await textOfFile(join(from, 'secrets.json')), await textOfFile(join(to, 'secrets.json'))];
  if (theirs !== undefined && theirs !== ours)
    throw new RestoreFault(
      'input',
      `the secrets in ${to} are not those in ${from}, and no key could be proved with them`,
    );
  for (const name of await readdir(from))
    if (secretNames.test(name)) await cp(join(from, name), join(to, name), { recursive: true, force: false });
}

function nameOf({ store, dataDir }: ManagementServerSettings): string {
  return store?.kubernetes === undefined ? dataDir : `namespace ${store.kubernetes.namespace}`;
}
