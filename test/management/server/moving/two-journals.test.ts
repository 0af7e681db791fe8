// Two replicas of one store, and what their journals of revocations say together after a restore into a file. Every command runs as an
// operator would run it.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { apiPrefix, ManagementClient } from '../../../../src/cli/keys/client/management-client.ts';
import { systemClock } from '../../../../src/clock.ts';
import type {
  KubernetesStoreSettings,
  ManagementServerSettings,
} from '../../../../src/config/settings/management-settings.ts';
import { type Devcluster, startDevcluster } from '../../../../src/devcluster/devcluster.ts';
import { silentLog } from '../../../../src/log.ts';
import { localSocketPath } from '../../../../src/management/server/commands/local-socket.ts';
import { knownReplicas } from '../../../../src/management/server/host/known-replicas.ts';
import { ManagementApi } from '../../../../src/management/server/server.ts';
import { runKeys } from '../../../cli/keys/keys-bench.ts';
import { newNamespace } from '../../../contract/store/on-host.ts';
import { people } from '../bench.ts';

let host: Devcluster;
const folder = mkdtempSync(join(tmpdir(), 'hostward-two-journals-'));
const at = (name: string) => join(folder, name);
beforeAll(async () => {
  host = await startDevcluster({ name: 'host' });
  writeFileSync(at('kubeconfig'), host.kubeconfig, { mode: 0o600 });
});
afterAll(async () => {
  await host.stop();
  rmSync(folder, { recursive: true, force: true });
});

const settingsOf = (name: string, namespace: string): ManagementServerSettings => ({
  ...{ listen: '127.0.0.1:0', baseURL: 'https://localhost', ingressListen: undefined },
  ...{ dataDir: at(name), secretsDir: at('secrets') },
  store: { kubernetes: { kubeconfig: at('kubeconfig'), namespace }, maxRecords: 1_000, maxBytes: 1_000_000 },
});
const inCluster = (name: string, namespace: string) => ({
  dataDir: at(name),
  secretsDir: at('secrets'),
  store: { kubernetes: { kubeconfig: at('kubeconfig'), namespace } },
});
const hostward = (management: object, ...argv: string[]) => {
  const files = {
    '/home/h.yaml': JSON.stringify({ hostward: { management: { listen: '127.0.0.1:0', ...management } } }),
  };
  return runKeys([...argv, '--config', 'h.yaml'], { files });
};

async function opened(name: string, namespace: string): Promise<ManagementApi> {
  const server = settingsOf(name, namespace);
  const api = new ManagementApi({ settings: people, server, clock: systemClock, log: silentLog, version: '0.1.0' });
  await api.open();
  await api.serve();
  return api;
}

async function send(name: string, method: 'DELETE' | 'PATCH', key: string, body?: object): Promise<void> {
  const door = new ManagementClient({ kind: 'socket', path: localSocketPath(at(name)), osUser: 'root' });
  const path = `${apiPrefix}/apis/management.platform/v1/ownedaccesskeys/${key}`;
  await door.send({ method, path, ...(body && { body, contentType: 'application/merge-patch+json' }) });
}

it('are read as two by a restore, which goes into no cluster and touches nothing there (at length)', async () => {
  const namespace = await newNamespace(host);
  const one = await opened('one', namespace);
  const two = await opened('two', namespace);
  for (const name of ['by-one', 'by-two', 'turned-off', 'stays'])
    await one.createKey({ metadata: { name }, spec: { user: 'alice' } });
  expect((await hostward(inCluster('one', namespace), 'backup', at('backup'))).code).toBe(0);
  await send('one', 'DELETE', 'by-one');
  await send('one', 'PATCH', 'turned-off', { spec: { ttl: 7_000 } });
  await one.close();
  // The first one does not hear of these.
  await send('two', 'DELETE', 'by-two');
  await send('two', 'PATCH', 'turned-off', { spec: { disabled: true } });
  const told = async () => {
    const { store } = settingsOf('two', namespace);
    const { replica } = JSON.parse(readFileSync(at('two/replica.json'), 'utf8'));
    const known = await knownReplicas(store?.kubernetes as KubernetesStoreSettings, {
      clock: systemClock,
      environment: {},
    });
    return known.get(replica)?.journal?.line ?? 0;
  };
  const lines = readFileSync(at('two/revocations.log'), 'utf8').split('\n');
  await expect.poll(told, { timeout: 20_000 }).toBeGreaterThanOrEqual(lines.length - 1);
  await two.close();

  // A backup goes into no cluster, and nothing is touched.
  const before = readdirSync(at('one'));
  const refused = await hostward(inCluster('one', namespace), 'restore', at('backup'));
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('hostward store migrate') });
  expect(readdirSync(at('one'))).toEqual(before);
  expect(readFileSync(at('one/revocations.log'), 'utf8')).not.toContain('"restored"');
  const ofReplica = await hostward({ dataDir: at('one') }, 'restore', at('backup'));
  expect(ofReplica).toMatchObject({ code: 1, err: expect.stringContaining('replica') });
  expect(readdirSync(at('one'))).toEqual(before);

  for (const [index, order] of [
    ['one', 'two'],
    ['two', 'one'],
  ].entries()) {
    const journals = order.flatMap((name) => ['--journal', at(`${name}/revocations.log`)]);
    const file = { dataDir: at(`file-${index}`) };
    const { code, out, err } = await hostward(file, 'restore', at('backup'), ...journals, '-o', 'json');
    expect([code, err]).toEqual([0, '']);
    expect(JSON.parse(out)).toMatchObject({ journal: { kind: 'whole' }, deleted: 2, changed: 1, disabled: 0 });
    // The journal that lies there now says the same.
    const again = await hostward(file, 'restore', at('backup'), '-o', 'json');
    expect(JSON.parse(again.out)).toMatchObject({ journal: { kind: 'whole' }, deleted: 2, changed: 1, disabled: 0 });
  }

  // A copy from before its last revocations, as an operator may have it.
  mkdirSync(at('old'));
  cpSync(at('two/replica.json'), at('old/replica.json'));
  writeFileSync(at('old/revocations.log'), `${lines.slice(0, -3).join('\n')}\n`);
  const recover = (other: string) =>
    hostward(inCluster('one', namespace), 'store', 'recover', '--trust-keys', '--journals', at(other));
  expect((await recover('old')).out).toContain(`the journal in ${at('old')} is cut off, or an old copy`);
  expect((await recover('two')).out).toContain(`the journal in ${at('two')} reaches until`);
}, 60_000);
