// Keeps a certificate authority in a folder, as `ca.crt` and `ca.key`, so that clients still trust the server after a restart.
// Creates the authority when both files are missing.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pause, systemClock } from '../../clock.ts';
import { type Authority, makeAuthority } from './certificates.ts';
import { folderFault, makeFolder, textOfFile, writeOnce } from './secret-files.ts';

export async function authorityIn(folder: string, clusterName: string, now: Date): Promise<Authority> {
  const certPem = await textOfFile(join(folder, 'ca.crt'));
  const keyPem = await textOfFile(join(folder, 'ca.key'));
  if (certPem !== undefined && keyPem !== undefined) {
    const fault = pairFault(certPem, keyPem);
    if (fault === undefined) return { certPem, keyPem };
    throw new Error(`read the authority in ${folder}: ${fault}; ${wayOut}`);
  }
  if (keyPem !== undefined && (await isYoung(join(folder, 'ca.key'), now))) return authorityOfOther(folder, keyPem);
  if (certPem !== undefined || keyPem !== undefined) {
    const there = certPem === undefined ? 'ca.key' : 'ca.crt';
    throw new Error(`read the authority in ${folder}: wanted ca.crt and ca.key, found ${there} alone; ${wayOut}`);
  }
  const created = await makeAuthority(clusterName, now);
  try {
    await makeFolder(folder, 0o700);
    // The key comes first: after a crash between the two writes the next start finds one file and reports it.
    const keyThere = await writeOnce(join(folder, 'ca.key'), created.keyPem);
    // Another replica makes an authority in the same folder.
    if (keyThere !== created.keyPem) return await authorityOfOther(folder, keyThere);
    await writeOnce(join(folder, 'ca.crt'), created.certPem);
  } catch (error) {
    throw folderFault(folder, error);
  }
  return created;
}

/** Another replica may be between its two writes; after a crash nobody is. */
async function isYoung(path: string, now: Date): Promise<boolean> {
  const { mtimeMs } = await stat(path);
  return Math.abs(now.getTime() - mtimeMs) < youngMs;
}

const youngMs = 5_000;

/** It writes its certificate next. */
async function authorityOfOther(folder: string, keyPem: string): Promise<Authority> {
  for (let attempt = 1; attempt <= mostLooks; attempt++) {
    const certPem = await textOfFile(join(folder, 'ca.crt'));
    if (certPem !== undefined) return { certPem, keyPem };
    await pause(systemClock, lookEveryMs);
  }
  throw new Error(`read the authority in ${folder}: wanted ca.crt and ca.key, found ca.key alone; ${wayOut}`);
}

const lookEveryMs = 50;
const mostLooks = 40;

const wayOut =
  'bring both back from a backup, or move both away for a new authority, which every client must then be told to trust';

/** Names the file and its fault, which the parsers do not. */
function pairFault(certPem: string, keyPem: string): string | undefined {
  const certificate = parsed(() => new X509Certificate(certPem));
  if (certificate === undefined) return 'ca.crt is no certificate in PEM';
  const key = parsed(() => createPrivateKey(keyPem));
  if (key === undefined) return 'ca.key is no private key in PEM';
  return certificate.checkPrivateKey(key) ? undefined : 'ca.key is not the key of ca.crt';
}

function parsed<Value>(parse: () => Value): Value | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}
