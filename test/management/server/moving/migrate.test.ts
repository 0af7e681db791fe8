// From a database file to a namespace of an embedded cluster, and back; and after the cluster was set back.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { apiPrefix, ManagementClient } from '../../../../src/cli/keys/client/management-client.ts';
import { systemClock } from '../../../../src/clock.ts';
import type { ManagementServerSettings } from '../../../../src/config/settings/management-settings.ts';
import { type Devcluster, startDevcluster } from '../../../../src/devcluster/devcluster.ts';
import { silentLog } from '../../../../src/log.ts';
import { proofKey, readSecrets } from '../../../../src/management/keys/folder/data-folder.ts';
import { localSocketPath } from '../../../../src/management/server/commands/local-socket.ts';
import { databaseFor } from '../../../../src/management/server/host/database-for.ts';
import { recordOf } from '../../../../src/management/server/host/records/host-secrets.ts';
import { movedKey, movingKey } from '../../../../src/management/server/host/store-marks.ts';
import { migrate } from '../../../../src/management/server/moving/migrate.ts';
import { recover } from '../../../../src/management/server/moving/recover.ts';
import { ManagementApi } from '../../../../src/management/server/server.ts';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { metaName, nameOf, replicaName } from '../../../../src/store/kubernetes/records/record-format.ts';
import { Seals } from '../../../../src/store/kubernetes/trust/seals.ts';
import { ApiClient } from '../../../contract/client.ts';
import { connectionTo, newNamespace } from '../../../contract/store/on-host.ts';
import { people } from '../bench.ts';

let host: Devcluster;
const folder = mkdtempSync(join(tmpdir(), 'hostward-moving-'));
const kubeconfig = join(folder, 'kubeconfig');
beforeAll(async () => {
  host = await startDevcluster({ name: 'host' });
  writeFileSync(kubeconfig, host.kubeconfig, { mode: 0o600 });
});
const open: ManagementApi[] = [];
afterEach(async () => {
  for (const api of open.splice(0)) await api.close();
});
afterAll(async () => {
  await host.stop();
  rmSync(folder, { recursive: true, force: true });
});

const common = { listen: '127.0.0.1:0', baseURL: 'https://localhost', ingressListen: undefined };
const inFile = (name: string): ManagementServerSettings => ({ ...common, dataDir: join(folder, name) });
const inCluster = (name: string, namespace: string, secretsDir = join(folder, 'secrets')): ManagementServerSettings => {
  const store = { kubernetes: { kubeconfig, namespace }, maxRecords: 1_000, maxBytes: 1_000_000 };
  return { ...common, dataDir: join(folder, name), secretsDir, store };
};

async function opened(server: ManagementServerSettings): Promise<ManagementApi> {
  const api = new ManagementApi({ settings: people, server, clock: systemClock, log: silentLog, version: '0.1.0' });
  await api.open();
  open.push(api);
  return api;
}

async function closed(api: ManagementApi): Promise<void> {
  open.splice(open.indexOf(api), 1);
  await api.close();
}

const made = (api: ManagementApi, name: string) => api.createKey({ metadata: { name }, spec: { user: 'alice' } });
const parts = { clock: systemClock, log: silentLog, environment: {}, progress: () => undefined };

describe('migrate()', () => {
  it('moves a key that was disabled in an earlier store of the same replica', async () => {
    const earlier = inCluster('replica', await newNamespace(host), join(folder, 'kept-secrets'));
    const first = await opened(earlier);
    await first.serve();
    await made(first, 'disabled');
    const socket = new ManagementClient({ kind: 'socket', path: localSocketPath(earlier.dataDir), osUser: 'root' });
    const path = `${apiPrefix}/apis/management.platform/v1/ownedaccesskeys/disabled`;
    const body = { spec: { disabled: true } };
    await socket.send({ method: 'PATCH', path, body });
    await closed(first);
    const copy = inFile('copy');
    await migrate({ from: earlier, to: copy, ...parts });
    rmSync(join(earlier.dataDir, 'replica.json'));
    const later = inCluster('replica', await newNamespace(host), join(folder, 'kept-secrets'));
    expect((await migrate({ from: copy, to: later, ...parts })).records).toBeGreaterThan(0);
  });

  it('moves everything there and back, with rising revisions, and lets no server start on what was left', async () => {
    const [file, cluster] = [inFile('file'), inCluster('one', await newNamespace(host))];
    const first = await opened(file);
    for (let n = 0; n < 5; n++) await made(first, `before-${n}`);
    await closed(first);

    const there = await migrate({ from: file, to: cluster, ...parts });
    expect(there.records).toBeGreaterThan(5);
    await expect(opened(file)).rejects.toThrow('its records were moved to namespace');
    const second = await opened(cluster);
    const moved = await made(second, 'in-the-cluster');
    expect(Number(moved.metadata.resourceVersion)).toBeGreaterThan(there.revision);
    await expect(made(second, 'before-3')).rejects.toThrow();
    await closed(second);

    const back = await migrate({ from: cluster, to: file, ...parts });
    expect(back.revision).toBeGreaterThan(there.revision);
    await expect(opened(cluster)).rejects.toThrow('its records were moved to');
    const third = await opened(file);
    await expect(made(third, 'in-the-cluster')).rejects.toThrow();
    expect(Number((await made(third, 'after')).metadata.resourceVersion)).toBeGreaterThan(back.revision);
  }, 30_000);

  it('goes on after it was broken off, and refuses a store that has records of its own', async () => {
    const [file, cluster] = [inFile('broken'), inCluster('two', await newNamespace(host), join(folder, 'secrets-two'))];
    const first = await opened(file);
    for (let n = 0; n < 3; n++) await made(first, `key-${n}`);
    await closed(first);
    const breaks = () => {
      throw new Error('pulled');
    };
    await expect(migrate({ from: file, to: cluster, ...parts, progress: breaks })).rejects.toThrow('pulled');
    await expect(opened(cluster)).rejects.toThrow('a migration into it has not ended');
    await migrate({ from: file, to: cluster, ...parts });
    const second = await opened(cluster);
    await closed(second);
    const other = inFile('other');
    await closed(await opened(other));
    await expect(migrate({ from: other, to: cluster, ...parts })).rejects.toThrow(
      /records of its own|no key could be proved/,
    );
  }, 30_000);

  it('compares both stores, and lets no server start on a new one that lacks a record, while the old one stays', async () => {
    const namespace = await newNamespace(host);
    const [file, cluster] = [inFile('compared'), inCluster('lossy', namespace, join(folder, 'secrets-lossy'))];
    const first = await opened(file);
    await made(first, 'lost-on-the-way');
    await closed(first);
    const lost = nameOf('/registry/ownedaccesskeys/lost-on-the-way');
    const path = `/api/v1/namespaces/${namespace}/secrets/${lost}`;
    const connection = connectionTo(host);
    // Opens the connection: the deletion is then the next thing that the host hears, before the stores are compared.
    await connection.request({ method: 'GET', path });
    let removal: Promise<{ kind: string }> | undefined;
    const loses = () => {
      removal = connection.request({ method: 'DELETE', path });
    };
    await expect(migrate({ from: file, to: cluster, ...parts, progress: loses })).rejects.toThrow(
      /^the new store has \d+ records that are not the \d+ of the old one; run the command again$/,
    );
    expect((await removal)?.kind).toBe('ok');
    await connection.close();
    await expect(opened(cluster)).rejects.toThrow('a migration into it has not ended');
    const again = await opened(file);
    await expect(made(again, 'lost-on-the-way')).rejects.toThrow();
    await closed(again);
    const { records } = await migrate({ from: file, to: cluster, ...parts });
    expect(records).toBeGreaterThan(1);
    await closed(await opened(cluster));
  }, 30_000);

  it('ends what was broken off between its last two writes, when no server starts on either store', async () => {
    const [file, cluster] = [inFile('last'), inCluster('ends', await newNamespace(host), join(folder, 'secrets-ends'))];
    const first = await opened(file);
    await made(first, 'key');
    await closed(first);
    const { records, digest } = await migrate({ from: file, to: cluster, ...parts });
    const database = await databaseFor({ server: cluster, ...parts });
    await database.start();
    const { record: proof } = await database.get(proofKey);
    await database.write(movingKey, { expect: undefined, value: proof?.value });
    await database.stop();
    await expect(opened(cluster)).rejects.toThrow('a migration into it has not ended');
    expect(await migrate({ from: file, to: cluster, ...parts })).toMatchObject({ records, digest });
    await closed(await opened(cluster));
    await expect(migrate({ from: file, to: cluster, ...parts })).rejects.toThrow('were moved already');
  }, 30_000);

  it('takes no records from under a replica that runs, and one that has started since serves them no longer', async () => {
    const namespace = await newNamespace(host);
    const [runs, beside, file] = [inCluster('runs', namespace), inCluster('beside', namespace), inFile('taken')];
    const running = await opened(runs);
    await running.serve();
    await made(running, 'key');
    await expect(migrate({ from: beside, to: file, ...parts })).rejects.toThrow(
      /^replica \S+ runs, and what it changes from now on would be missing in the new store$/,
    );
    expect(running.writeTrouble).toBeUndefined();
    const database = await databaseFor({ server: beside, mayBeAlone: true, ...parts });
    await database.start();
    await database.write(movedKey, { expect: undefined, value: '"namespace new"' });
    await database.stop();
    await expect.poll(() => running.writeTrouble).toContain('its records were moved to namespace new: start with');
    const socket = new ManagementClient({ kind: 'socket', path: localSocketPath(runs.dataDir), osUser: 'root' });
    const path = `${apiPrefix}/apis/management.platform/v1/ownedaccesskeys`;
    const body = { metadata: { name: 'late' }, spec: { user: 'alice' } };
    expect(await socket.send({ method: 'POST', path, body })).toMatchObject({ code: 503 });
  }, 30_000);
});

describe('recover()', () => {
  it('puts revisions above all that were given out, and revokes again what the cluster has forgotten', async () => {
    const namespace = await newNamespace(host);
    const cluster = inCluster('three', namespace, join(folder, 'secrets-three'));
    const api = await opened(cluster);
    await made(api, 'revived');
    await made(api, 'stays');
    await closed(api);
    const client = new ApiClient({ url: host.url, caPem: host.caPem, token: host.adminToken });
    const path = `/api/v1/namespaces/${namespace}/secrets`;
    const { items } = (await client.request('GET', path)).json as { items: KubeObject[] };
    const wanted = Buffer.from('/registry/ownedaccesskeys/revived').toString('base64');
    const record = items.find(({ data }) => (data as Record<string, string>)['key'] === wanted) as KubeObject;
    const again = await opened(cluster);
    await again.serve();
    const door = new ManagementClient({ kind: 'socket', path: localSocketPath(cluster.dataDir), osUser: 'root' });
    await door.send({ method: 'DELETE', path: `${apiPrefix}/apis/management.platform/v1/ownedaccesskeys/revived` });
    await closed(again);
    // As after a restore of etcd: the record of the revoked key is there again.
    const { name, labels } = record.metadata;
    const body = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: record['type'],
      metadata: { name, labels },
      data: record['data'],
    };
    expect((await client.request('POST', path, { body })).status).toBe(201);
    const recovered = await recover({
      ...{ server: cluster, others: [], trustsKeys: false, clock: systemClock, log: silentLog, environment: {} },
    });
    expect(recovered).toMatchObject({ deleted: 1, disabled: 0, journals: [{ journal: { kind: 'whole' } }] });
    await closed(await opened(cluster));
    // The journal knows more than a cluster that was set back below it: then nobody may start before the command has run.
    const meta = `${path}/hostward-meta`;
    const before = (await client.request('GET', meta)).json as KubeObject;
    const seals = new Seals((await readSecrets(join(folder, 'secrets-three')))?.sealKeys ?? []);
    const data = { ...recordOf(before)?.data, offset: '0' };
    seals.useStore(recordOf(before)?.data['store']);
    const encoded = Object.entries(seals.applied(metaName, data)).map(([field, text]) => [
      field,
      Buffer.from(text).toString('base64'),
    ]);
    const older = { ...before, data: Object.fromEntries(encoded) };
    await client.request('PUT', meta, {
      body: { ...older, metadata: { ...older.metadata, resourceVersion: undefined } },
    });
    await expect(opened(cluster)).rejects.toThrow('hostward store recover');
    await recover({
      server: cluster,
      others: [],
      trustsKeys: false,
      clock: systemClock,
      log: silentLog,
      environment: {},
    });
    const last = await opened(cluster);
    expect(Number((await made(last, 'revived')).metadata.resourceVersion)).toBeGreaterThan(recovered.foundAt);
  }, 30_000);

  it('is what a replica asks for that saw the cluster set back, also after a start', async () => {
    const namespace = await newNamespace(host);
    const cluster = inCluster('four', namespace, join(folder, 'secrets-four'));
    await closed(await opened(cluster));
    const database = await databaseFor({ server: cluster, ...parts });
    await database.start();
    const client = new ApiClient({ url: host.url, caPem: host.caPem, token: host.adminToken });
    const path = `/api/v1/namespaces/${namespace}/secrets/${replicaName(database.shared?.replica ?? '')}`;
    const old = (await client.request('GET', path)).json as KubeObject;
    await database.currentRevision({ fresh: true });
    const { resourceVersion: _, ...metadata } = old.metadata;
    expect((await client.request('PUT', path, { body: { ...old, metadata } })).status).toBe(200);
    await expect(database.currentRevision({ fresh: true })).rejects.toMatchObject({ code: 'STORE_ROLLED_BACK' });
    await expect.poll(() => readFileSync(join(cluster.dataDir, 'replica.json'), 'utf8')).toContain('setBackIn');
    await database.stop();
    const asked = 'stop every replica and run "hostward store recover"';
    await expect(opened(cluster)).rejects.toThrow(asked);
    // A recovery that has changed nothing does not let the replica forget it.
    expect(await recover({ server: cluster, others: [], trustsKeys: false, isDryRun: true, ...parts })).toMatchObject({
      kind: 'judged',
      knowsAll: true,
    });
    await expect(opened(cluster)).rejects.toThrow(asked);
    await recover({ server: cluster, others: [], trustsKeys: false, ...parts });
    expect((await opened(cluster)).writeTrouble).toBeUndefined();
  });
});
