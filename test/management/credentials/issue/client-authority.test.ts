import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { makeAuthority } from '../../../../src/apiserver/tls/certificates.ts';
import { systemClock } from '../../../../src/clock.ts';
import { ClientAuthority } from '../../../../src/management/credentials/certificates/client-authority.ts';

it('is read again after a moment in which its two files were of different ages', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-client-ca-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [old, next] = await Promise.all(['old', 'next'].map((name) => makeAuthority(name, new Date())));
  mkdirSync(join(folder, 'client-ca'));
  writeFileSync(join(folder, 'client-ca/ca.crt'), next?.certPem ?? '');
  writeFileSync(join(folder, 'client-ca/ca.key'), old?.keyPem ?? '');
  const authority = new ClientAuthority(folder, systemClock);
  await expect(authority.get()).rejects.toThrow(/ca.key is not the key of ca.crt/);
  writeFileSync(join(folder, 'client-ca/ca.key'), next?.keyPem ?? '');
  expect(await authority.get()).toEqual(next);
});
