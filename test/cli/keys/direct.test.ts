import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { makeServingCertificate } from '../../../src/apiserver/tls/certificates.ts';
import { ManagementClient } from '../../../src/cli/keys/client/management-client.ts';
import { systemClock } from '../../../src/clock.ts';
import { PlatformClient } from '../../../src/management/proxy/direct/platform-client.ts';
import { runKeys } from './keys-bench.ts';

const block = 'hostward:\n  direct: {cluster: c1, platform: "https://p.example.com", keyFile: agent.key}\n';
const files = { '/home/h.yaml': 'hostward: {}\n', '/home/d.yaml': block };

describe('hostward direct', () => {
  it.each([
    [['direct'], 2, 'say which direct endpoint is meant', 'give --config FILE'],
    [['direct', '--config', 'h.yaml'], 1, 'the configuration has no hostward.direct', 'hostward docs direct-endpoints'],
    [['run', '--config', 'd.yaml'], 1, 'has only hostward.direct', 'hostward direct --config FILE'],
    [['direct', '--config', 'wrong.yaml'], 1, 'wrong.yaml:3:14: hostward.direct.silence: wanted', ''],
  ])('%j ends with %d', async (argv, code, said, hint) => {
    const wrong = `${block.replace('direct: {', 'direct: {\n    silence: 1, ')}`;
    const ran = await runKeys(argv, { files: { ...files, '/home/wrong.yaml': wrong } });
    expect(ran.code).toBe(code);
    expect(ran.err).toContain(said);
    expect(ran.err).toContain(hint);
  });

  it('is checked as other blocks are', async () => {
    expect(await runKeys(['check', '--no-files', '--config', 'd.yaml'], { files })).toMatchObject({ code: 0 });
  });
});

describe('a server whose certificate another authority has signed, while Node is told to take any certificate', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-authority-'));
  let url: URL;
  let caPem: string;
  let heard = 0;
  let close: () => void;

  beforeEach(async () => {
    const [own, other] = await Promise.all(
      ['wrong', 'right'].map((name) => makeServingCertificate(name, ['localhost'], new Date())),
    );
    const { certPem, keyPem } = own as NonNullable<typeof own>;
    caPem = other?.caPem ?? '';
    const server = createServer({ cert: certPem, key: keyPem }, (_request, response) => {
      heard++;
      response.end('{}');
    });
    await once(server.listen(0, 'localhost'), 'listening');
    url = new URL(`https://localhost:${(server.address() as AddressInfo).port}`);
    close = () => server.closeAllConnections() ?? server.close();
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('gets no access key of a command, and gives a direct endpoint no keys', async () => {
    for (const authority of [caPem, undefined]) {
      const client = new ManagementClient({ kind: 'server', url, accessKey: 'key', authority });
      await expect(client.send({ method: 'GET', path: '/' })).rejects.toThrow(/certificate/);
    }
    const [certificateAuthority, keyFile] = [join(folder, 'ca'), join(folder, 'key')];
    writeFileSync(certificateAuthority, caPem);
    writeFileSync(keyFile, 'key');
    const platform = url.href.replace(/\/$/, '');
    const endpoint = new PlatformClient({ platform, certificateAuthority, keyFile, cluster: 'c1', clock: systemClock });
    await expect(endpoint.keySet()).rejects.toThrow(/certificate/);
    await expect(endpoint.revocations()).rejects.toThrow(/certificate/);
    expect(heard).toBe(0);
  });
});
