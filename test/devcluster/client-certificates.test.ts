import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { makeServingCertificate } from '../../src/apiserver/tls/certificates.ts';
import { startDevcluster } from '../../src/devcluster/devcluster.ts';
import { openShop } from '../apiserver/shop/widgets.ts';
import { ApiClient } from '../contract/client.ts';
import { createCa } from '../kube/start/certificates.ts';
import { VirtualClock } from '../virtual-clock.ts';

const folders: string[] = [];
const endings: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

async function authority() {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-clients-'));
  folders.push(folder);
  const ca = await createCa(folder);
  return { folder, ca, clientCa: readFileSync(ca.certificatePath, 'utf8') };
}

const hourMs = 3_600_000;

describe('client certificates of an embedded cluster', () => {
  it('are worth nothing from the moment they expire, on a kept connection too', async () => {
    const { ca, clientCa } = await authority();
    const clock = new VirtualClock(new Date().toISOString());
    const cluster = await startDevcluster({ clientCa, clock });
    endings.push(() => cluster.stop());
    const certificate = await ca.issue('root', ['system:masters'], hourMs);
    const client = new ApiClient({ url: cluster.url, caPem: cluster.caPem, token: null, certificate });
    endings.push(() => client.close());
    const status = async () => (await client.request('GET', '/api/v1/namespaces')).status;
    expect(await status()).toBe(200);
    await clock.advance(hourMs - 10_000);
    expect(await status()).toBe(200);
    await clock.advance(20_000);
    expect(await status()).toBe(401);
  });

  it('are taken from each of several authorities in one file', async () => {
    const [one, two] = [await authority(), await authority()];
    const cluster = await startDevcluster({ clientCa: `# first\n${one.clientCa}\n${two.clientCa}` });
    endings.push(() => cluster.stop());
    for (const { ca } of [one, two]) {
      const certificate = await ca.issue('root', ['system:masters']);
      const client = new ApiClient({ url: cluster.url, caPem: cluster.caPem, token: null, certificate });
      endings.push(() => client.close());
      expect((await client.request('GET', '/api/v1/namespaces')).status).toBe(200);
    }
  });

  it('are ignored without an authority', async () => {
    const { ca } = await authority();
    const cluster = await startDevcluster();
    endings.push(() => cluster.stop());
    const certificate = await ca.issue('root', ['system:masters']);
    const client = new ApiClient({ url: cluster.url, caPem: cluster.caPem, token: null, certificate });
    endings.push(() => client.close());
    expect((await client.request('GET', '/api/v1/namespaces')).status).toBe(403);
    expect((await client.request('GET', '/version')).status).toBe(200);
  });

  it.each([
    ['', 'want at least one certificate in PEM form, found none'],
    ['-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----', 'certificate 1 of 1 cannot be read'],
  ])('need authorities that can be read: %j', async (clientCa, why) => {
    await expect(startDevcluster({ clientCa })).rejects.toThrow(why);
  });
});

describe('client certificates of a server whose own certificate is renewed', () => {
  it('are still asked for', async () => {
    const { folder, ca, clientCa } = await authority();
    const files = { certificate: join(folder, 'tls.crt'), key: join(folder, 'tls.key') };
    const write = async (name: string) => {
      const pair = await makeServingCertificate(name, ['127.0.0.1'], new Date());
      writeFileSync(files.certificate, pair.certPem);
      writeFileSync(files.key, pair.keyPem);
      return pair.caPem;
    };
    await write('first');
    const clock = new VirtualClock(new Date().toISOString());
    const shop = await openShop({ tls: { files }, clientCa, clock });
    endings.push(() => shop.stop());
    const caPem = await write('second');
    const timers = clock.pendingTimers;
    await clock.advance(10_000);
    while (clock.pendingTimers < timers) await new Promise((resolve) => setImmediate(resolve));
    const certificate = await ca.issue('root', ['system:masters']);
    const client = new ApiClient({ url: shop.server.url, caPem, token: null, certificate });
    endings.push(() => client.close());
    expect((await client.request('GET', '/apis/shop.example/v1/widgets')).status).toBe(200);
  });
});
