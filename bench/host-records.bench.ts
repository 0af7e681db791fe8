// What do the records of a store in a cluster cost that cluster: memory of kube-apiserver and etcd, size of the database, time of a
// list, and what does a replica that reads them all need? One real kube-apiserver with one etcd on a disk in memory, filled by
// `hostward store migrate` from a SQLite file with so many keys. Beyond 20,000 keys the migration would take too long:
// then the records are put into etcd directly, as JSON, and the size of the database means nothing.
import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { freePorts } from '../src/cli/demo/free-ports.ts';
import { systemClock } from '../src/clock.ts';
import { databasePath, readSecrets } from '../src/management/keys/folder/data-folder.ts';
import { recordLabel, recordType } from '../src/management/server/host/records/host-secrets.ts';
import type { KubeObject } from '../src/object/meta/object.ts';
import { metaData, metaName, nameOf, recordData } from '../src/store/kubernetes/records/record-format.ts';
import { Seals } from '../src/store/kubernetes/trust/seals.ts';
import { SqliteStore } from '../src/store/sqlite/sqlite-store.ts';
import { ApiClient } from '../test/contract/client.ts';
import { type KubeCluster, startKube } from '../test/kube/start/start.ts';
import { Harness } from './harness.ts';
import { daemonEnvironment, launcherFlags } from './launcher.ts';
import { seed } from './management-seed.ts';
import { end, wait } from './processes.ts';
import { Report } from './report.ts';

const { values: args } = parseArgs({ options: { keys: { type: 'string', default: '10000' } } });
const keys = Number(args.keys);
const isPut = keys > 20_000;
const putsAtOnce = 100;
const main = join(import.meta.dirname, '..', 'src', 'main.ts');
const launcher = join(import.meta.dirname, '..', 'src', 'launcher', 'hostward.mjs');
const namespace = 'hostward-records';
const recordsPath = `/api/v1/namespaces/${namespace}/secrets?labelSelector=hostward.dev%2Frecord`;
const pageRecords = 500;
const mib = 1024 * 1024;
/** Go gives memory back to the system in the seconds after a collection. */
const settleMs = 8_000;
/** A replica that does not start by then never will. */
const startWithinMs = 120_000;

const folder = mkdtempSync(join(tmpdir(), 'hostward-host-records-'));
const harness = new Harness();
/** The bundle, as people have it. */
const shipped = join(harness.folder, 'package', 'dist', 'main.js');
const report = new Report(`host-records-${keys}`, loadavg()[0] as number);

/** Of the program whose command line has the text. */
function processWith(text: string): number {
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const [program = '', ...words] = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
      // The guard of a program is a shell with the same words.
      if (!program.endsWith('/sh') && words.includes(text)) return Number(name);
    } catch {
      // It has ended in the meantime.
    }
  }
  throw new Error(`no process has "${text}" in its command line`);
}

/** `VmHWM`: the most so far. */
function residentMb(pid: number, which: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  const kib = new RegExp(`^${which}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return (Number(kib) * 1024) / mib;
}

interface Cost {
  apiserverMb: number;
  apiserverHeapMb: number;
  etcdMb: number;
  databaseMb: number;
}

async function costOf(kube: KubeCluster, admin: ApiClient): Promise<Cost> {
  const apiserver = processWith(`--etcd-servers=${kube.etcdUrl}`);
  const etcd = processWith(`--listen-client-urls=${kube.etcdUrl}`);
  // Two collections: the first one finds what its finalizers free.
  for (let n = 0; n < 2; n++) await admin.request('GET', '/debug/pprof/heap?gc=1&debug=0');
  await wait(settleMs);
  const metrics = (await admin.request('GET', '/metrics')).text;
  const ofEtcd = await (await fetch(`${kube.etcdUrl}/metrics`)).text();
  const value = (text: string, name: string) => Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1]);
  return {
    apiserverMb: residentMb(apiserver),
    apiserverHeapMb: value(metrics, 'go_memstats_heap_alloc_bytes') / mib,
    etcdMb: residentMb(etcd),
    databaseMb: value(ofEtcd, 'etcd_mvcc_db_total_size_in_use_in_bytes') / mib,
  };
}

async function configurations(kube: KubeCluster): Promise<{ from: string; to: string }> {
  const [port, operations] = (await freePorts(2)) as [number, number];
  const kubeconfig = join(folder, 'host.kubeconfig');
  writeFileSync(kubeconfig, kube.kubeconfig, { mode: 0o600 });
  const users = Array.from({ length: 1000 }, (_, n) => ({ name: `owner-${n}` }));
  const common = { listen: `127.0.0.1:${port}`, users: [...users, { name: 'few' }] };
  const write = (name: string, more: object) => {
    const path = join(folder, `${name}.yaml`);
    const hostward = { listen: `127.0.0.1:${operations}`, management: { ...common, ...more } };
    writeFileSync(path, JSON.stringify({ hostward }));
    return path;
  };
  const store = { kubernetes: { kubeconfig, namespace }, maxRecords: 1_000_000, maxBytes: 4_000_000_000 };
  return {
    from: write('from', { dataDir: join(folder, 'file') }),
    to: write('to', { dataDir: join(folder, 'replica'), store }),
  };
}

function hostward(...words: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [main, ...words], { maxBuffer: 64 * mib }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`hostward ${words.join(' ')}: ${stderr}`, { cause: error }));
    });
  });
}

/** Into etcd, in the form that the API server has given to a record that was made through it. */
async function put(kube: KubeCluster, admin: ApiClient, folders: { from: string; to: string }): Promise<void> {
  cpSync(folders.from, folders.to, { recursive: true, filter: (path) => !/keys.db|revocations|audit/.test(path) });
  const data = (texts: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]));
  const body = { metadata: { name: 'template', labels: { [recordLabel]: 'true' } }, type: recordType };
  const path = `/api/v1/namespaces/${namespace}/secrets`;
  const made = await admin.request('POST', path, { body: { ...body, data: data({ format: '', key: '', value: '' }) } });
  const template = made.json as KubeObject;
  await admin.request('DELETE', `${path}/template`);
  const seals = new Seals((await readSecrets(folders.to))?.sealKeys ?? []);
  const epoch = 'bench';
  seals.useStore(epoch);
  const sealedData = (name: string, texts: Readonly<Record<string, string>>) => data(seals.applied(name, texts));
  const meta = sealedData(metaName, metaData({ offset: 0, epoch, earlier: [], store: epoch }));
  await admin.request('POST', path, { body: { ...body, metadata: { ...body.metadata, name: metaName }, data: meta } });
  const store = new SqliteStore({ clock: systemClock, path: databasePath(folders.from) });
  await store.start();
  try {
    const page = await store.list('', {});
    if (page.kind !== 'page') throw new Error('the seed cannot be read');
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const requests = page.records.map(({ key, value }) => {
      const { resourceVersion: _, ...metadata } = { ...template.metadata, name: nameOf(key), uid: randomUUID() };
      const stored = {
        ...template,
        metadata,
        data: sealedData(nameOf(key), recordData(key, value, undefined, { offset: 0, after: 0 })),
      };
      const at = base64(`/registry/secrets/${namespace}/${nameOf(key)}`);
      return { requestPut: { key: at, value: base64(JSON.stringify(stored)) } };
    });
    for (let at = 0; at < requests.length; at += putsAtOnce) {
      const success = requests.slice(at, at + putsAtOnce);
      const answer = await fetch(`${kube.etcdUrl}/v3/kv/txn`, { method: 'POST', body: JSON.stringify({ success }) });
      if (!answer.ok) throw new Error(`etcd refused records: ${await answer.text()}`);
    }
  } finally {
    await store.stop();
  }
}

async function timed<T>(run: () => Promise<T>): Promise<{ ms: number; result: T }> {
  const startedMs = performance.now();
  const result = await run();
  return { ms: performance.now() - startedMs, result };
}

async function listInPages(admin: ApiClient): Promise<number> {
  let count = 0;
  for (let next = ''; ; ) {
    const { status, text, json } = await admin.request('GET', `${recordsPath}&limit=${pageRecords}${next}`);
    if (status !== 200) throw new Error(`a page behind ${count} records was ${status}: ${text.slice(0, 500)}`);
    const { items, metadata } = json as { items: unknown[]; metadata: { continue?: string } };
    count += items.length;
    if (metadata.continue === undefined) return count;
    next = `&continue=${encodeURIComponent(metadata.continue)}`;
  }
}

async function replicaOn(configPath: string): Promise<{ ms: number; memoryMb: number; mostMb: number }> {
  const startedMs = performance.now();
  // As the launcher does: its flags are what keeps the memory small. The sources would need memory for types that Node strips.
  const words = [...launcherFlags(launcher), shipped, 'run', '--config', configPath];
  const env = { ...process.env, ...daemonEnvironment };
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text: Buffer) => {
      output += text;
    });
  try {
    while (!output.includes('management API started')) {
      if (child.exitCode !== null || performance.now() - startedMs > startWithinMs)
        throw new Error(`the replica does not start: ${output.slice(-2_000)}`);
      await wait(20);
    }
    const ms = performance.now() - startedMs;
    await wait(settleMs);
    const pid = child.pid as number;
    return { ms, memoryMb: residentMb(pid), mostMb: residentMb(pid, 'VmHWM') };
  } finally {
    await end(child);
  }
}

async function measure(): Promise<void> {
  harness.build('none');
  mkdirSync(join(folder, 'file'), { mode: 0o700 });
  await seed(join(folder, 'file'), { keys, owners: 1000 });
  const kube = await startKube({ name: 'host-records' });
  const admin = new ApiClient({ url: kube.url, caPem: kube.caPem, token: kube.adminToken });
  try {
    await kube.kubectl('create', 'namespace', namespace);
    const { from, to } = await configurations(kube);
    const before = await costOf(kube, admin);
    const { ms: moveMs } = await timed<unknown>(() =>
      isPut
        ? put(kube, admin, { from: join(folder, 'file'), to: join(folder, 'replica') })
        : hostward('store', 'migrate', '--from', from, '--to', to),
    );
    const one = await admin.request('GET', `${recordsPath}&limit=${pageRecords}`);
    const { ms: pagesMs, result: records } = await timed(() => listInPages(admin));
    const after = await costOf(kube, admin);
    const perRecord = (now: number, then: number) => ((now - then) * mib) / 1024 / records;
    const add = (name: string, value: number, unit: string) => report.add({ name, value, unit });
    add('records', records, '');
    add('kube-apiserver: live heap, more than without', after.apiserverHeapMb - before.apiserverHeapMb, 'MiB');
    add('kube-apiserver: resident, more than without', after.apiserverMb - before.apiserverMb, 'MiB');
    add('kube-apiserver: live heap per record', perRecord(after.apiserverHeapMb, before.apiserverHeapMb), 'KiB');
    add('etcd: resident, more than without', after.etcdMb - before.etcdMb, 'MiB');
    if (!isPut) add('etcd: database, more than without', after.databaseMb - before.databaseMb, 'MiB');
    if (!isPut) add('etcd: database per record', perRecord(after.databaseMb, before.databaseMb), 'KiB');
    add('a record as JSON of the API', one.text.length / 1024 / pageRecords, 'KiB');
    add('a list of all in pages of 500', pagesMs, 'ms');
    if (!isPut) add('store migrate from SQLite', moveMs / 1000, 's');
    const { ms, memoryMb, mostMb } = await replicaOn(to);
    add('a replica: start to serving', ms / 1000, 's');
    add('a replica: resident', memoryMb, 'MiB');
    add('a replica: resident, at most while it starts', mostMb, 'MiB');
    const beside = await costOf(kube, admin);
    add('kube-apiserver: resident, with a replica that was there', beside.apiserverMb - before.apiserverMb, 'MiB');
    await kube.restartApiserver();
    await listInPages(admin);
    const again = await costOf(kube, admin);
    add(
      'kube-apiserver, started again: live heap, more than without',
      again.apiserverHeapMb - before.apiserverHeapMb,
      'MiB',
    );
    add('kube-apiserver, started again: resident, more than without', again.apiserverMb - before.apiserverMb, 'MiB');
    report.details['before'] = before;
    report.details['after'] = after;
  } finally {
    await admin.close();
    await kube.stop();
    await harness.close();
    rmSync(folder, { recursive: true, force: true });
  }
  report.save(loadavg()[0] as number);
}

await measure();
