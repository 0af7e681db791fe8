// Keeps a certificate authority in a folder, as `ca.crt` and `ca.key`, so that clients still trust the server after a restart.
// Creates the authority when both files are missing.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Authority, makeAuthority } from './certificates.ts';
import { textOf, writeWhole } from './secret-files.ts';

export async function authorityIn(folder: string, clusterName: string, now: Date): Promise<Authority> {
  const certPem = await textOf(join(folder, 'ca.crt'));
  const keyPem = await textOf(join(folder, 'ca.key'));
  if (certPem !== undefined && keyPem !== undefined) return { certPem, keyPem };
  if (certPem !== undefined || keyPem !== undefined) {
    throw new Error(`read the authority in ${folder}: want ca.crt and ca.key, found only one of them`);
  }
  const created = await makeAuthority(clusterName, now);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // The key comes first: after a crash between the two writes the next start finds one file and reports it.
  await writeWhole(join(folder, 'ca.key'), created.keyPem);
  await writeWhole(join(folder, 'ca.crt'), created.certPem);
  return created;
}
