// A certificate authority that outlives the process: `ca.crt` and `ca.key` in a folder, made when they are not there. A client
// that trusts the authority goes on trusting it after a restart.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Authority, makeAuthority } from './certificates.ts';

export async function authorityIn(folder: string, clusterName: string, now: Date): Promise<Authority> {
  const certPem = await textOf(join(folder, 'ca.crt'));
  const keyPem = await textOf(join(folder, 'ca.key'));
  if (certPem !== undefined && keyPem !== undefined) return { certPem, keyPem };
  if (certPem !== undefined || keyPem !== undefined) {
    throw new Error(`read the authority in ${folder}: want ca.crt and ca.key, only one of them is there`);
  }
  const made = await makeAuthority(clusterName, now);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // The key is complete before its certificate is there: a crash between the two is found out at the next start.
  await writeWhole(join(folder, 'ca.key'), made.keyPem);
  await writeWhole(join(folder, 'ca.crt'), made.certPem);
  return made;
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Never half a file, and readable by its owner alone. */
async function writeWhole(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 });
  await rename(`${path}.new`, path);
}
