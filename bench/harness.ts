// Starts the processes of a benchmark: embedded clusters, the bare writer, and the daemon as it is shipped (the bundle, through
// the launcher, with the launcher's V8 flags). Reads CPU and memory from /proc.
import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process';
import {
  closeSync,
  cpSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { residentMbOf } from '../src/expression/sandbox/process-readings.ts';
import { freePort } from '../test/free-ports.ts';
import type { BareCommand, BareResult } from './bare-writer.ts';
import type { ClusterCommand, ClusterReadings } from './cluster-process.ts';
import { launcherFlags } from './launcher.ts';
import { hostNamespace, virtualCluster } from './workload.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const pollMs = 5;

/** A planted fault makes the daemon slow, to prove that a gate notices. */
export type Plant = 'none' | 'event' | 'get';

export class Harness {
  readonly folder = mkdtempSync(join(tmpdir(), 'hostward-bench-'));
  readonly #children = new Set<ChildProcess>();

  /** Builds the package as npm would install it, in a temporary folder. */
  build(plant: Plant): void {
    execFileSync(process.execPath, [join(root, 'src', 'launcher', 'build.mjs')], { stdio: 'ignore' });
    const launchers = ['hostward.mjs', 'launch.mjs'].map((file) => join('src', 'launcher', file));
    for (const path of ['dist', 'package.json', ...launchers])
      cpSync(join(root, path), join(this.folder, 'package', path), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'package', 'node_modules'));
    if (plant === 'get') plantGet(join(this.folder, 'package', 'dist'));
  }

  async startCluster(name: string): Promise<ClusterProcess> {
    const child = this.#fork('cluster-process.ts', [name]);
    const ready = (await messageOf(child)) as { url: string; kubeconfig: string };
    const kubeconfig = join(this.folder, `${name}.kubeconfig`);
    writeFileSync(kubeconfig, ready.kubeconfig, { mode: 0o600 });
    return new ClusterProcess(child, kubeconfig);
  }

  startBareWriter(): BareProcess {
    return new BareProcess(this.#fork('bare-writer.ts', []));
  }

  async startDaemon(options: DaemonOptions): Promise<DaemonProcess> {
    const port = await freePort();
    const config = join(this.folder, 'hostward.yaml');
    writeFileSync(config, configuration(options, port));
    const log = openSync(join(this.folder, 'daemon.log'), 'a');
    const args = ['run', '--config', config];
    const startMs = performance.now();
    const child = spawn(process.execPath, [...this.#nodeFlags(options), ...args], {
      stdio: ['ignore', log, log],
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    closeSync(log);
    this.#keep(child);
    return new DaemonProcess(child, { port, startMs, log: () => this.log() });
  }

  /** Starts Node directly with the launcher's flags, because Node writes a CPU profile only for its first program. */
  #nodeFlags({ profileTo, plant = 'none', launcher: other }: DaemonOptions): string[] {
    const launcher = other ?? join(this.folder, 'package', 'src', 'launcher', 'hostward.mjs');
    if (profileTo === undefined && plant !== 'event') return [launcher];
    const flags = launcherFlags(launcher);
    const profile = profileTo === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileTo}`];
    const slow = plant === 'event' ? ['--import', join(root, 'bench', 'slow-events.mjs')] : [];
    return [...flags, ...profile, ...slow, join(this.folder, 'package', 'dist', 'main.js')];
  }

  log(): string {
    return readFileSync(join(this.folder, 'daemon.log'), 'utf8');
  }

  async close(): Promise<void> {
    await Promise.all([...this.#children].map((child) => end(child)));
    rmSync(this.folder, { recursive: true, force: true });
  }

  #fork(file: string, args: string[]): ChildProcess {
    const child = fork(join(root, 'bench', file), args, { serialization: 'advanced' });
    this.#keep(child);
    return child;
  }

  #keep(child: ChildProcess): void {
    this.#children.add(child);
    child.once('exit', () => this.#children.delete(child));
  }
}

export interface DaemonOptions {
  virtualKubeconfig: string;
  hostKubeconfig: string;
  /** Folder for a CPU profile of the daemon. */
  profileTo?: string | undefined;
  plant?: Plant;
  /** The launcher of another version, in that version's own folder. */
  launcher?: string;
  /** In the form of a configuration. */
  patches?: readonly object[];
  /** The kinds that are synced; by default Endpoints alone. */
  kinds?: readonly ('endpoints' | 'endpointSlices')[];
}

function configuration(options: DaemonOptions, port: number): string {
  const { virtualKubeconfig, hostKubeconfig, patches = [], kinds = ['endpoints'] } = options;
  return JSON.stringify({
    sync: { toHost: { endpoints: { enabled: true, patches } } },
    hostward: {
      virtualClusterName: virtualCluster,
      hostNamespace,
      virtualKubeconfig,
      hostKubeconfig,
      endpoints: { enabled: kinds.includes('endpoints') },
      endpointSlices: { enabled: kinds.includes('endpointSlices') },
      listen: `127.0.0.1:${port}`,
    },
  });
}

/** Adds a needless GET before each patch to the bundle. */
function plantGet(dist: string): void {
  const wanted = /return (\w+)\.patch\((\w+),(\w+)\.place,\3\.mergePatch\)/;
  for (const file of readdirSync(dist)) {
    const path = join(dist, file);
    if (!file.endsWith('.js')) continue;
    const text = readFileSync(path, 'utf8');
    if (!wanted.test(text)) continue;
    writeFileSync(
      path,
      text.replace(wanted, 'return $1.get($2,$3.place).then(()=>$1.patch($2,$3.place,$3.mergePatch))'),
    );
    return;
  }
  throw new Error('the bundle no longer has the code before which the GET is planted');
}

export class ClusterProcess {
  readonly kubeconfig: string;
  readonly #child: ChildProcess;

  constructor(child: ChildProcess, kubeconfig: string) {
    this.#child = child;
    this.kubeconfig = kubeconfig;
  }

  async reset(): Promise<void> {
    await this.#ask({ kind: 'reset' });
  }

  async read(): Promise<ClusterReadings> {
    return (await this.#ask({ kind: 'read' })) as ClusterReadings;
  }

  /** Resolves when this many writes of Endpoints have been answered since the last reset. */
  async untilWritten(writes: number, withinMs = 120_000): Promise<ClusterReadings> {
    const readings = (await this.#ask({ kind: 'await', writes, withinMs })) as ClusterReadings;
    if (!readings.isReached) throw new Error(`wanted ${writes} writes, saw ${readings.writes} in ${withinMs} ms`);
    return readings;
  }

  async plant(count: number, { isEligible = false } = {}): Promise<void> {
    await this.#ask({ kind: 'plant', count, isEligible });
  }

  async change(count: number, variant: number): Promise<void> {
    await this.#ask({ kind: 'change', count, variant });
  }

  get cpuMs(): number {
    return cpuMsOf(this.#child.pid as number);
  }

  #ask(command: ClusterCommand): Promise<unknown> {
    this.#child.send(command);
    return messageOf(this.#child);
  }
}

export class BareProcess {
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
  }

  async prepare(command: Omit<Extract<BareCommand, { kind: 'prepare' }>, 'kind'>): Promise<void> {
    this.#child.send({ kind: 'prepare', ...command });
    await messageOf(this.#child);
  }

  /** Takes down the host objects of a collection, to create them again with `go`. */
  async prepareCreates(command: Omit<Extract<BareCommand, { kind: 'prepareCreates' }>, 'kind'>): Promise<void> {
    this.#child.send({ kind: 'prepareCreates', ...command });
    await messageOf(this.#child);
  }

  async go(command: Omit<Extract<BareCommand, { kind: 'go' }>, 'kind'>): Promise<BareResult> {
    this.#child.send({ kind: 'go', ...command });
    return (await messageOf(this.#child)) as BareResult;
  }

  close(): Promise<void> {
    return end(this.#child);
  }
}

export class DaemonProcess {
  readonly startMs: number;
  readonly #child: ChildProcess;
  readonly #base: string;
  readonly #log: () => string;
  #stallMs = 0;

  constructor(child: ChildProcess, { port, startMs, log }: { port: number; startMs: number; log: () => string }) {
    this.#child = child;
    this.#log = log;
    this.#base = `http://127.0.0.1:${port}`;
    this.startMs = startMs;
  }

  /** Milliseconds from the start to the first "ready". */
  async untilReady(withinMs = 120_000): Promise<number> {
    for (;;) {
      if (this.#child.exitCode !== null) throw new Error(`the daemon has ended: ${this.#log().slice(-2000)}`);
      const isReady = await fetch(`${this.#base}/readyz`).then(
        (answer) => answer.ok,
        () => false,
      );
      const tookMs = performance.now() - this.startMs;
      if (isReady) return tookMs;
      if (tookMs > withinMs) throw new Error(`the daemon is not ready after ${withinMs} ms`);
      await wait(pollMs);
    }
  }

  /** Resolves when the port answers, with any status. */
  async untilServing(): Promise<void> {
    for (;;) {
      const isServing = await fetch(`${this.#base}/healthz`).then(
        () => true,
        () => false,
      );
      if (isServing) return;
      await wait(pollMs);
    }
  }

  async metrics(): Promise<Map<string, number>> {
    const text = await (await fetch(`${this.#base}/metrics`)).text();
    const values = new Map<string, number>();
    for (const line of text.split('\n')) {
      const at = line.lastIndexOf(' ');
      if (!line.startsWith('#') && at > 0) values.set(line.slice(0, at), Number(line.slice(at + 1)));
    }
    // Reading the metrics resets the measurement.
    this.#stallMs = Math.max(this.#stallMs, (values.get(stallSeries) ?? Number.NaN) * 1000);
    return values;
  }

  /** Resolves when the queue is empty and no work runs. */
  async untilIdle(pollMs = 20): Promise<void> {
    for (;;) {
      const metrics = await this.metrics();
      const busy = [...metrics].filter(([name]) => /^hostward_queue_(depth|running)\{/.test(name));
      if (busy.length > 0 && busy.every(([, count]) => count === 0)) return;
      await wait(pollMs);
    }
  }

  /** The longest stall of the event loop since the last call, in milliseconds. */
  async longestStallMs(): Promise<number> {
    await this.metrics();
    const stallMs = this.#stallMs;
    this.#stallMs = 0;
    return stallMs;
  }

  get cpuMs(): number {
    return cpuMsOf(this.#child.pid as number);
  }

  /** The daemon and its sandbox together. */
  get cpuMsOfAll(): number {
    return this.#family().reduce((sum, pid) => sum + cpuMsOf(pid), 0);
  }

  /** Resident memory of the daemon and its sandbox together, in MiB. */
  get rssMbOfAll(): number {
    return this.rssMbOfEach().reduce((sum, mb) => sum + mb, 0);
  }

  /** The daemon first, then its sandbox processes. */
  rssMbOfEach(): number[] {
    return this.#family().map((pid) => residentMbOf(pid) ?? 0);
  }

  #family(): number[] {
    const pid = this.#child.pid as number;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
    return [pid, ...children.map(Number)];
  }

  memory(): { rssMb: number; peakMb: number } {
    const text = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8');
    const of = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) / 1024;
    return { rssMb: of('VmRSS'), peakMb: of('VmHWM') };
  }

  /** Stops the process for a while, so that work piles up. */
  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    await end(this.#child);
  }
}

const stallSeries = 'hostward_event_loop_delay_seconds{quantile="1"}';
const ticksPerSecond = 100;

/** User and system CPU time of a process so far. */
function cpuMsOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond;
}

function messageOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error(`a process of the benchmark has ended: ${child.spawnargs.join(' ')}`));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message);
    });
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  if (child.connected) child.disconnect();
  else child.kill('SIGTERM');
  const late = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await ended;
  clearTimeout(late);
}

export function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Long enough for a quiet garbage collection, short enough to wait for. */
export const settledMs = 5_000;

/** The load average, to judge how busy the machine is. */
export function load(): number {
  return loadavg()[0] ?? 0;
}
