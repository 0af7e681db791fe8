// How prompt and complete is Hostward beside vCluster's own sync of Endpoints and EndpointSlices? The black box loads one after the other
// between the same two real API servers: vCluster as its chart configures it, vCluster with ten times the writes a second that its
// environment allows, and Hostward with both kinds on and vCluster's sync of them off. In turns (A B C C B A), because machines drift.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { until } from '../test/contract/sync-stage/backend.ts';
import { startKube } from '../test/kube/start/start.ts';
import { RunningHostward } from '../test/kube/sync/vcluster/running-hostward.ts';
import { RealVCluster, vclusterSkipReason } from '../test/kube/sync/vcluster/start-vcluster.ts';
import type { Result } from './blackbox/result.ts';
import { Report } from './report.ts';
import { median } from './statistics.ts';

const { values } = parseArgs({
  options: {
    objects: { type: 'string', default: '300' },
    rates: { type: 'string', default: '20,100' },
    seconds: { type: 'string', default: '10' },
    kind: { type: 'string', default: 'endpoints' },
    /** Of A B C C B A. */
    rounds: { type: 'string', default: '1' },
  },
});

const name = 'my-vcluster';
const namespace = 'vcluster-my-vcluster';
type Side = 'vcluster' | 'tuned vcluster' | 'hostward';
const turn: readonly Side[] = ['vcluster', 'tuned vcluster', 'hostward', 'hostward', 'tuned vcluster', 'vcluster'];
/** Ten times what vCluster takes by default; it has no setting for it. */
const tuned = { VCLUSTER_PHYSICAL_CLIENT_QPS: '400', VCLUSTER_PHYSICAL_CLIENT_BURST: '800' };
const both = (enabled: boolean) => ({
  sync: { toHost: { endpoints: { enabled }, endpointSlices: { enabled } } },
});

const reason = vclusterSkipReason();
if (reason !== undefined) {
  process.stderr.write(`beside-vcluster: ${reason}\n`);
  process.exit(3);
}

const report = new Report('beside-vcluster', loadavg()[0] as number);
const folder = mkdtempSync(join(tmpdir(), 'hostward-bench-vcluster-'));
const host = await startKube({ name: 'bench-vcluster', controllerManager: true });
const vcluster = new RealVCluster({ host, name, namespace });
const results: Record<Side, Result[]> = { vcluster: [], 'tuned vcluster': [], hostward: [] };
try {
  await host.kubectl('create', 'namespace', namespace);
  const own = join(folder, 'hostward.yaml');
  writeFileSync(own, stringify({ hostward: { endpoints: { enabled: true }, endpointSlices: { enabled: true } } }));
  for (let round = 0; round < Number(values.rounds); round++) for (const side of turn) await measure(side, own);
  for (const side of Object.keys(results) as Side[]) tell(side, results[side]);
  report.details['runs'] = results;
  process.stdout.write(`${report.save(loadavg()[0] as number)}\n`);
} finally {
  await vcluster.remove();
  await host.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function measure(side: Side, own: string): Promise<void> {
  await vcluster.configure(both(side !== 'hostward'));
  await vcluster.start(side === 'tuned vcluster' ? tuned : {});
  const clusters = {
    name,
    namespace,
    virtualKubeconfig: vcluster.sidecarKubeconfigPath,
    hostKubeconfig: host.kubeconfigPath,
  };
  const hostward = side === 'hostward' ? await RunningHostward.with([own], clusters) : undefined;
  try {
    await hostward?.start();
    if (hostward !== undefined)
      await until('Hostward', async () => (await hostward.status()).verdict.isWell || undefined, 60_000);
    const result = await blackBox(clusters);
    results[side].push(result);
    const points = result.points.map(({ rate, p50, p99 }) => `${rate}/s ${p50} and ${p99} ms`).join(', ');
    process.stderr.write(`${side}: first sync ${result.firstSync.seconds} s; p50 and p99 at ${points}\n`);
  } finally {
    await hostward?.remove();
    await vcluster.stop();
  }
}

async function blackBox(clusters: { virtualKubeconfig: string; hostKubeconfig: string }): Promise<Result> {
  const words = [
    ...['--virtual-kubeconfig', clusters.virtualKubeconfig, '--host-kubeconfig', clusters.hostKubeconfig],
    ...['--vcluster-name', name, '--host-namespace', namespace, '--no-keep', '-o', 'json'],
    ...['--objects', values.objects, '--rate', values.rates, '--seconds', values.seconds, '--kind', values.kind],
  ];
  const main = join(import.meta.dirname, 'blackbox', 'main.ts');
  const child = spawn(process.execPath, [main, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let err = '';
  child.stdout.on('data', (text: Buffer) => {
    out += text;
  });
  child.stderr.on('data', (text: Buffer) => {
    err += text;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  if (code !== 0) throw new Error(`the black box ended with ${code}: ${err.slice(-2_000)}`);
  return JSON.parse(out) as Result;
}

function tell(side: Side, all: readonly Result[]): void {
  const of = (value: (result: Result) => number): number => median(all.map(value));
  report.add({
    name: `${side}: first sync of ${values.objects}`,
    value: of(({ firstSync }) => firstSync.seconds),
    unit: 's',
  });
  for (const [nth, rate] of values.rates.split(',').entries())
    for (const part of ['p50', 'p99'] as const)
      report.add({
        name: `${side}: ${rate} changes a second, ${part}`,
        value: of(({ points }) => points[nth]?.[part] ?? Number.NaN),
        unit: 'ms',
      });
  report.add({
    name: `${side}: writes for each change`,
    value: of(({ writesPerChange }) => writesPerChange),
    unit: '',
  });
  const flawed = all.reduce((sum, { missing, wrong, extra, left }) => sum + missing + wrong + extra + left, 0);
  report.add({ name: `${side}: copies missing, wrong, twice or left`, value: flawed, unit: '', wanted: { atMost: 0 } });
}
