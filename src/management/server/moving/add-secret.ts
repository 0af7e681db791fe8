// Adds a version to the secrets of a management API: a pepper, a key of the seals, or a key that signs direct tokens. What is there
// stays, because keys and records were made with it. In: settings. Out: what was added, which the replicas use when all of them have it.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { folderFault, textOfFile, writeWhole } from '../../../apiserver/tls/secret-files.ts';
import type { Clock } from '../../../clock.ts';
import { type ManagementServerSettings, secretsFolder } from '../../../config/settings/management-settings.ts';
import { holdDatabase } from '../../../store/sqlite/database-file.ts';
import { secretsName } from '../../audit/recovery/backup-manifest.ts';
import { RestoreFault } from '../../audit/recovery/restore-fault.ts';
import { shortKeyId, TokenKeys } from '../../credentials/tokens/token-keys.ts';
import { databasePath, readSecrets, secretBytes, tokenKeysFile } from '../../keys/folder/data-folder.ts';
import { maxPeppers } from '../../keys/secret/pepper.ts';

export const addedSecrets = ['pepper', 'token-key', 'seal-key'] as const;
export type AddedSecret = (typeof addedSecrets)[number];

export interface SecretAdded {
  file: string;
  /** A number, or the beginning of the id of a token key. */
  version: string;
  /** Versions that were there before, newest first. */
  kept: readonly string[];
}

export interface AddSecretOptions {
  server: ManagementServerSettings;
  what: AddedSecret;
  clock: Clock;
}

export async function addSecret({ server, what, clock }: AddSecretOptions): Promise<SecretAdded> {
  const folder = secretsFolder(server);
  if ((await readSecrets(folder)) === undefined)
    throw new RestoreFault('input', `there are no secrets in ${folder} yet`, {
      hint: 'the first start of a server makes them; check hostward.management.secretsDir',
    });
  // A server with a database file of its own keeps its secrets in memory, and would write its token keys over this one.
  const held = server.store?.kubernetes === undefined ? holdDatabase(databasePath(server.dataDir)) : undefined;
  try {
    if (what === 'token-key') return await addTokenKey(folder, clock.wallTime().getTime());
    return await addTo(folder, what === 'pepper' ? 'peppers' : 'sealKeys');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EROFS', 'EACCES', 'EPERM', 'ENOSPC', 'EDQUOT'].includes(code)) throw error;
    throw new RestoreFault('environment', folderFault(folder, error).message, {
      hint: 'where the folder is a mounted Secret, run this on a copy of its files, and put the changed file into the Secret',
    });
  } finally {
    held?.release();
  }
}

async function addTo(folder: string, list: 'peppers' | 'sealKeys'): Promise<SecretAdded> {
  const file = join(folder, secretsName);
  const content = JSON.parse((await textOfFile(file)) ?? '{}') as Record<string, unknown>;
  const there = (content[list] ?? []) as { version: number }[];
  if (list === 'peppers' && there.length >= maxPeppers)
    throw new RestoreFault('input', `${file} has ${there.length} peppers, and there may be ${maxPeppers}`, {
      hint: 'remove the oldest one from it when "hostward status" counts no key of it, then run this again',
    });
  // The first key of the seals is made from another secret, so no list has it.
  const version = 1 + Math.max(list === 'peppers' ? 0 : 1, ...there.map((one) => one.version));
  const added = { version, bytes: randomBytes(secretBytes).toString('base64') };
  await writeWhole(file, `${JSON.stringify({ ...content, [list]: [...there, added] }, undefined, 2)}\n`);
  const kept = there.map((one) => one.version).toSorted((a, b) => b - a);
  return { file, version: String(version), kept: (list === 'peppers' ? kept : [...kept, 1]).map(String) };
}

async function addTokenKey(folder: string, nowMs: number): Promise<SecretAdded> {
  const file = join(folder, tokenKeysFile);
  if (await TokenKeys.areAbsentIn(folder))
    throw new RestoreFault(
      'input',
      `there is no ${tokenKeysFile} in ${folder} yet; the first start of a server makes it`,
    );
  const keys = await TokenKeys.open(folder, nowMs);
  const before = keys.ids;
  await keys.rotate(nowMs);
  const [newest = ''] = keys.ids;
  if (before.includes(newest))
    throw new RestoreFault('input', `${file} has ${before.length} keys, and there may be no more`, {
      hint: 'old ones go by themselves when their last token has ended: try again in a day',
    });
  return { file, version: shortKeyId(newest), kept: before.map(shortKeyId) };
}
