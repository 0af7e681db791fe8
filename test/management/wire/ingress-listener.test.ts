// A virtual cluster that Hostward serves under a name of its own, without any cluster behind it.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { UnprovenConnections } from '../../../src/apiserver/limits/unproven-connections.ts';
import { makeAuthority, makeServingCertificate } from '../../../src/apiserver/tls/certificates.ts';
import type { Clock } from '../../../src/clock.ts';
import type { ManagementVirtualCluster } from '../../../src/config/settings/management-settings.ts';
import { silentLog } from '../../../src/log.ts';
import { IngressListener } from '../../../src/management/proxy/ingress-listener.ts';
import { VirtualClock } from '../../virtual-clock.ts';

let folder: string;
let clock: VirtualClock;
const endings: (() => unknown)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hostward-ingress-'));
  clock = new VirtualClock();
});
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
  rmSync(folder, { recursive: true, force: true });
});

/** Answers with the base that a request was served under. */
async function serving(tls?: { certificate: string; key: string }): Promise<IngressListener> {
  const authority = await makeAuthority('ingress', clock.wallTime());
  const instance = {
    name: 'v1',
    ingress: { server: 'https://v1.example.com', servedBy: 'hostward', ...(tls && { tls }) },
  } as unknown as ManagementVirtualCluster;
  const project = { name: 'shop', virtualClusters: [instance] };
  const directory = { settings: { projects: [project] }, projects: new Map([['shop', project]]) };
  const wall: Clock = {
    now: () => clock.now(),
    wallTime: () => clock.wallTime(),
    after: (ms, run) => clock.after(ms, run),
  };
  const listener = new IngressListener({
    listen: '127.0.0.1:0',
    instances: { directory: () => directory as never, instanceUid: () => 'uid-v1' },
    holder: () => undefined,
    serving: authority,
    clientCaPem: authority.certPem,
    server: {
      handle: (_request, client, { base }) => {
        if (client.kind === 'response') client.response.end(base);
      },
    },
    unproven: new UnprovenConnections({ clock: wall, log: silentLog }),
    ...{ clock: wall, log: silentLog },
  });
  await listener.start();
  endings.push(() => listener.stop());
  return listener;
}

/** What a client with this server name is shown, and answered. */
function ask(port: number | undefined, servername: string): Promise<{ peer: PeerCertificate; text: string }> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: port ?? 0, servername, rejectUnauthorized: false });
    let text = '';
    let peer = {} as PeerCertificate;
    socket.once('secureConnect', () => {
      peer = socket.getPeerCertificate();
      socket.end(`GET /api HTTP/1.1\r\nHost: ${servername}\r\nConnection: close\r\n\r\n`);
    });
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    socket.once('close', () => resolve({ peer, text }));
    socket.once('error', reject);
  });
}

describe('the listener of virtual clusters', () => {
  it('finds the virtual cluster by the name of the handshake, in small letters and in capitals, and knows no other', async () => {
    const { port } = await serving();
    for (const name of ['v1.example.com', 'V1.Example.COM']) {
      const { peer, text } = await ask(port, name);
      expect(text).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*\/kubernetes\/project\/shop\/virtualcluster\/v1/);
      expect(peer.subjectaltname).toBe('DNS:v1.example.com');
    }
    await expect(ask(port, 'v2.example.com')).rejects.toThrow();
  });

  it('shows a new certificate some seconds after its file has changed, and goes on after one that cannot be read', async () => {
    const paths = { certificate: join(folder, 'v1.crt'), key: join(folder, 'v1.key') };
    const write = async (name: string) => {
      const { certPem, keyPem } = await makeServingCertificate(name, ['v1.example.com'], clock.wallTime());
      writeFileSync(paths.certificate, certPem);
      writeFileSync(paths.key, keyPem);
    };
    const shown = async () => (await ask(port, 'v1.example.com')).peer.subject.CN;
    const { port } = await serving(paths);
    await expect(shown()).rejects.toThrow();
    await write('first');
    expect(await shown()).toBe('first');
    await write('second');
    await clock.advance(9_000);
    expect(await shown()).toBe('first');
    await clock.advance(1_000);
    expect(await shown()).toBe('second');
  });
});
