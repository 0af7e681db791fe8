// A certificate and its key that another program renews, one file after the other, at another time on each replica.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { CertificateFiles, type ServingPair } from '../../../src/apiserver/tls/certificate-files.ts';
import { makeAuthority } from '../../../src/apiserver/tls/certificates.ts';
import type { Log } from '../../../src/log.ts';
import { VirtualClock } from '../../virtual-clock.ts';

it('stay in use until both files are of the new pair, whichever comes first, and their fault is said once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-renewed-'));
  const paths = { certificate: join(folder, 'tls.crt'), key: join(folder, 'tls.key') };
  const [old, next, last] = (await Promise.all(['a', 'b', 'c'].map((name) => makeAuthority(name, new Date())))) as [
    ServingPair,
    ServingPair,
    ServingPair,
  ];
  const put = (pair: Partial<ServingPair>) => {
    if (pair.certPem !== undefined) writeFileSync(paths.certificate, pair.certPem);
    if (pair.keyPem !== undefined) writeFileSync(paths.key, pair.keyPem);
  };
  put(old);
  const clock = new VirtualClock();
  const used: ServingPair[] = [];
  const said: string[] = [];
  const note = (_: object, message: string) => void said.push(message);
  const log = { info: note, error: note } as unknown as Log;
  const files = new CertificateFiles({ paths, current: old, clock, log, changed: (pair) => used.push(pair) });
  onTestFinished(() => {
    files.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  /** The look is over when the next one is due. */
  const look = async () => {
    await clock.advance(10_000);
    await expect.poll(() => clock.pendingTimers).toBe(1);
  };

  put({ certPem: next.certPem });
  for (let times = 0; times < 3; times++) await look();
  expect([used, said]).toEqual([[], ['certificate not reloaded']]);
  put({ keyPem: next.keyPem });
  await look();
  expect(used).toEqual([next]);
  put({ keyPem: last.keyPem });
  await look();
  rmSync(paths.certificate);
  await look();
  expect(used).toEqual([next]);
  put({ certPem: last.certPem });
  await look();
  expect(used).toEqual([next, last]);
});
