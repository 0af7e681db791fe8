import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeAuthority, makeServingCertificate } from '../../../src/apiserver/tls/certificates.ts';
import { makeFolder } from '../../../src/apiserver/tls/secret-files.ts';
import { loadConfiguration } from '../../../src/config/load/load.ts';
import { RunningManagement } from '../../../src/daemon/management.ts';
import type { DaemonOptions } from '../../../src/daemon/options/daemon-options.ts';
import { silentLog } from '../../../src/log.ts';
import { ManagementApi } from '../../../src/management/server/server.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const folder = mkdtempSync(join(tmpdir(), 'start-faults-'));
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string) => join(folder, name);
writeFileSync(at('file'), 'no PEM');
mkdirSync(at('folder'));
execFileSync('mkfifo', [at('pipe')]);
beforeAll(async () => {
  const now = new Date();
  const authority = await makeAuthority('c', now);
  for (const name of ['one', 'two']) {
    const { certPem, keyPem } = await makeServingCertificate('c', ['localhost'], now, authority);
    writeFileSync(at(`${name}.crt`), certPem);
    writeFileSync(at(`${name}.key`), keyPem);
  }
});

/** The sentence with which the daemon ends. */
async function faultOf(block: object): Promise<string> {
  const text = JSON.stringify({ hostward: { management: { listen: '127.0.0.1:0', dataDir: at('data'), ...block } } });
  const loaded = loadConfiguration({ files: [{ name: 'f.yaml', text }] });
  if (loaded.kind === 'faults') throw new Error(JSON.stringify(loaded.faults));
  const management = new RunningManagement({
    clock: new VirtualClock(),
    log: silentLog,
    version: '1',
    metrics: new Registry(),
    environment: {},
    isDryRun: false,
    createManagement: async (options) => new ManagementApi(options),
  } as Partial<DaemonOptions> as DaemonOptions);
  const faults = await management.start(loaded.settings);
  await management.stop();
  return faults.map(({ message, fix }) => `${message.replaceAll(`${folder}/`, '')}; ${fix}`).join('\n');
}

const tls = (certificate: string, key: string) => ({ tls: { certificate: at(certificate), key: at(key) } });
const said = (setting: string, why: string) =>
  `starting the management API: hostward.management.${setting}: ${why}; correct hostward.management.${setting}, or what it names`;

describe('a management API that cannot start', () => {
  it.each([
    ['tls.certificate', tls('gone', 'one.key'), 'read "gone": there is no such file'],
    ['tls.key', tls('one.crt', 'gone'), 'read "gone": there is no such file'],
    ['tls.key', tls('one.crt', 'folder'), 'read "folder": it is a directory, not a file'],
    // Waiting for the pipe would not end with SIGTERM either.
    ['tls.certificate', tls('pipe', 'one.key'), 'read "pipe": it is a named pipe, not a file'],
    ['tls.certificate', tls('file', 'one.key'), 'read "file": wanted a certificate in PEM, found a text without PEM'],
    ['tls.key', tls('one.crt', 'file'), 'read "file": wanted a private key in PEM, found a text without PEM'],
    ['tls.key', tls('one.crt', 'two.key'), 'read "two.key": wanted the key of "one.crt", found another'],
    ['tls.key', tls('one.crt', 'one.crt'), 'read "one.crt": wanted a private key in PEM, found a certificate'],
    ['dataDir', { dataDir: at('file') }, 'cannot write in "file": it is a file, not a folder'],
    ['dataDir', { dataDir: at('file/below') }, 'cannot write in "file/below": a part of the path is a file'],
    ['dataDir', { dataDir: '/proc/x' }, 'cannot write in "/proc/x": the system makes no folder there'],
    ['dataDir', { dataDir: '/proc/x/y' }, 'cannot write in "/proc/x/y": the system makes no folder there'],
  ])('names the setting %s: %j', async (setting, block, why) => {
    expect(await faultOf(block)).toBe(said(setting, why));
  });
});

describe('a folder with its parents', () => {
  it('is made, may be there already, and is made once by several at a time', async () => {
    const path = at('a/b/c');
    await Promise.all([makeFolder(path, 0o700), makeFolder(path, 0o700), makeFolder(at('a/b'), 0o700)]);
    await makeFolder(path, 0o700);
    writeFileSync(join(path, 'x'), '');
  });
});
