// Is a key as fast to check with the records in a cluster as in a database file, and how much slower is the create of a key than the
// bare write of a Secret of its size to the same API server? Two daemons, as the launcher starts them, and one real kube-apiserver; the
// sides take turns, and processor time is beside the rates because it means something on a busy machine too. The bare writes go through
// a proxy of a few lines as well: what that loses, any program does that shares its processors with the API server.
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { makeAuthority, makeServingCertificate } from '../src/apiserver/tls/certificates.ts';
import { freePorts } from '../src/cli/demo/free-ports.ts';
import { recordLabel, recordType } from '../src/management/server/host/records/host-secrets.ts';
import { ApiClient } from '../test/contract/client.ts';
import { startKube } from '../test/kube/start/start.ts';
import { startEmbedded } from '../test/kube/store/embedded-host.ts';
import { AskedProcess, serverFlags } from './asked-process.ts';
import type { BareProxyCommand } from './bare-proxy.ts';
import { daemonEnvironment, launcherFlags } from './launcher.ts';
import { cpuMsOf, end, wait } from './processes.ts';
import { Report } from './report.ts';
import { median } from './statistics.ts';

const { values: args } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    reads: { type: 'string', default: '3000' },
    clients: { type: 'string', default: '16' },
    embedded: { type: 'boolean', default: false },
  },
});
const rounds = Number(args.rounds);
const reads = Number(args.reads);
const creates = 200;
const atOnce = Number(args.clients);
const main = join(import.meta.dirname, '..', 'src', 'main.ts');
const launcher = join(import.meta.dirname, '..', 'src', 'launcher', 'hostward.mjs');
const namespace = 'hostward-records';
const keysPath = '/kubernetes/management/apis/management.platform/v1/ownedaccesskeys';
const folder = mkdtempSync(join(tmpdir(), 'hostward-replica-speed-'));
const report = new Report('replica-speed', loadavg()[0] as number);

interface Side {
  pid: number;
  client: ApiClient;
  end(): Promise<void>;
}

async function side(name: string, more: object): Promise<Side> {
  const [port, operations] = (await freePorts(2)) as [number, number];
  const dataDir = join(folder, name);
  const management = {
    listen: `127.0.0.1:${port}`,
    dataDir,
    users: [{ name: 'alice' }],
    keys: { perOwner: 100_000 },
    ...more,
  };
  const path = join(folder, `${name}.yaml`);
  writeFileSync(path, JSON.stringify({ hostward: { listen: `127.0.0.1:${operations}`, management } }));
  const words = ['keys', 'create', 'root', '--admin', '--config', path];
  const { stdout: admin } = await promisify(execFile)(process.execPath, [main, ...words]);
  const child = spawn(process.execPath, [...launcherFlags(launcher), main, 'run', '--config', path], {
    env: { ...process.env, ...daemonEnvironment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text: Buffer) => {
      output = `${output}${text}`.slice(-10_000);
    });
  while (!output.includes('management API started')) {
    if (child.exitCode !== null) throw new Error(`${name} does not start: ${output}`);
    await wait(20);
  }
  const caPem = readFileSync(join(dataDir, 'ca.crt'), 'utf8');
  const client = new ApiClient({ url: `https://localhost:${port}`, caPem, token: admin.trim() });
  return { pid: child.pid as number, client, end: () => end(child) };
}

/** To the same API server, through a program that only passes requests on. */
async function passing({ url, caPem, adminToken }: { url: string; caPem: string; adminToken: string }) {
  const now = new Date();
  const authority = await makeAuthority('replica-speed', now);
  const certificate = await makeServingCertificate('replica-speed', ['localhost'], now, authority);
  const proxy = new AskedProcess<BareProxyCommand>('bare-proxy.ts', serverFlags());
  const to = { port: Number(new URL(url).port), caPem };
  const port = await proxy.ask<number>({ kind: 'bare', certificate, to, token: adminToken });
  const client = new ApiClient({ url: `https://localhost:${port}`, caPem: authority.certPem, token: 'any' });
  return { client, end: () => proxy.end() };
}

async function inTurns(count: number, run: (n: number) => Promise<number>): Promise<number> {
  let next = 0;
  const startedMs = performance.now();
  const work = async () => {
    while (next < count) {
      const status = await run(next++);
      if (status !== 200 && status !== 201) throw new Error(`answered ${status}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return count / ((performance.now() - startedMs) / 1000);
}

async function measure(): Promise<void> {
  // An embedded host says something of reads, which do not ask it, and nothing of creates.
  const kube = args.embedded === true ? await startEmbedded('') : await startKube({ name: 'replica-speed' });
  const admin = new ApiClient({ url: kube.url, caPem: kube.caPem, token: kube.adminToken });
  const sides: Pick<Side, 'client' | 'end'>[] = [];
  try {
    await admin.request('POST', '/api/v1/namespaces', { body: { metadata: { name: namespace } } });
    const kubernetes = { kubeconfig: kube.kubeconfigPath, namespace };
    const store = { kubernetes, maxRecords: 1_000_000, maxBytes: 4_000_000_000 };
    const file = await side('file', {});
    sides.push(file);
    const cluster = await side('cluster', { store });
    sides.push(cluster);
    const rates: Record<string, number[]> = {};
    const note = (name: string, value: number) => {
      rates[name] = [...(rates[name] ?? []), value];
    };
    const read = async (name: string, { pid, client }: Side) => {
      const cpuMs = cpuMsOf(pid);
      note(
        `${name}: reads a second`,
        await inTurns(reads, async () => (await client.request('GET', `${keysPath}/root?resourceVersion=0`)).status),
      );
      note(`${name}: processor time of a read`, ((cpuMsOf(pid) - cpuMs) / reads) * 1000);
    };
    let made = 0;
    const create = (client: ApiClient) =>
      inTurns(creates, async () => {
        const body = { metadata: { name: `key-${made++}` }, spec: { user: 'alice' } };
        return (await client.request('POST', keysPath, { body })).status;
      });
    await create(cluster.client);
    const path = `/api/v1/namespaces/${namespace}/secrets`;
    const { items } = (await admin.request('GET', `${path}?labelSelector=${encodeURIComponent(recordLabel)}`)).json as {
      items: { metadata: { name: string }; data: Record<string, string> }[];
    };
    const sample = items.find(({ metadata }) => metadata.name.startsWith('hw-') && metadata.name.length > 30);
    await admin.request('POST', '/api/v1/namespaces', { body: { metadata: { name: 'bare' } } });
    const passed = await passing(kube);
    sides.push(passed);
    const bare = (client: ApiClient) =>
      inTurns(creates, async () => {
        const metadata = { name: `bare-${made++}`, labels: { [recordLabel]: 'true' } };
        const body = { metadata, type: recordType, data: sample?.data };
        return (await client.request('POST', '/api/v1/namespaces/bare/secrets', { body })).status;
      });
    for (let round = 0; round < rounds; round++) {
      const turns = round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const);
      for (const turn of turns) await read(turn === 0 ? 'file' : 'cluster', turn === 0 ? file : cluster);
      for (const turn of turns)
        if (turn === 0) {
          note('bare writes a second', await bare(admin));
          note('bare writes through a proxy a second', await bare(passed.client));
        } else {
          const cpuMs = cpuMsOf(cluster.pid);
          note('creates of keys a second', await create(cluster.client));
          note('cluster: processor time of a create', ((cpuMsOf(cluster.pid) - cpuMs) / creates) * 1000);
        }
    }
    const of = (name: string) => median(rates[name] ?? []);
    for (const name of Object.keys(rates))
      report.add({ name, value: of(name), unit: name.includes('processor time') ? 'µs' : '1/s' });
    const ratio = (one: string, other: string) =>
      median((rates[one] ?? []).map((rate, n) => rate / (rates[other]?.[n] ?? 1)));
    report.add({
      name: 'reads, cluster / file',
      value: ratio('cluster: reads a second', 'file: reads a second'),
      unit: '',
      wanted: { atLeast: 1 },
    });
    report.add({
      name: 'processor time of a read, cluster / file',
      value: ratio('cluster: processor time of a read', 'file: processor time of a read'),
      unit: '',
      wanted: { atMost: 1 },
    });
    report.add({
      name: 'creates / bare writes',
      value: ratio('creates of keys a second', 'bare writes a second'),
      unit: '',
      wanted: { atLeast: 0.8 },
    });
    report.add({
      name: 'bare writes through a proxy / bare writes',
      value: ratio('bare writes through a proxy a second', 'bare writes a second'),
      unit: '',
    });
    report.details['rates'] = rates;
  } finally {
    for (const one of sides) {
      await one.client.close();
      await one.end();
    }
    await admin.close();
    await kube.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  report.save(loadavg()[0] as number);
}

await measure();
