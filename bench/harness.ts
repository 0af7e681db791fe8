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
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../src/cli/demo/free-ports.ts';
import { type KubeCluster, startKube } from '../test/kube/start/start.ts';
import type { BareCommand, BareResult } from './bare-writer.ts';
import type { ClusterCommand, ClusterReadings } from './cluster-process.ts';
import { configuration, type DaemonOptions, DaemonProcess, type Plant } from './daemon-process.ts';
import { launcherFlags } from './launcher.ts';
import { cpuMsOf, end, messageOf } from './processes.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

export class Harness {
  readonly folder = mkdtempSync(join(tmpdir(), 'hostward-bench-'));
  readonly #children = new Set<ChildProcess>();
  readonly #realClusters: KubeCluster[] = [];

  /** Builds the package as npm would install it, in a temporary folder: `dist/` of the repository may be somebody else's at this moment. */
  build(plant: Plant): void {
    const program = join(this.folder, 'package', 'dist');
    execFileSync(process.execPath, [join(root, 'src', 'launcher', 'build.mjs'), program], { stdio: 'ignore' });
    const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { files: string[] };
    const launchers = files.filter((file) => file.startsWith('src/launcher/'));
    for (const path of ['package.json', ...launchers]) cpSync(join(root, path), join(this.folder, 'package', path));
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'package', 'node_modules'));
    if (plant === 'get') this.plantGet();
  }

  /** Every daemon that starts from now on asks for an object before it writes it. */
  plantGet(): void {
    plantGet(join(this.folder, 'package', 'dist'));
  }

  async startCluster(name: string): Promise<ClusterProcess> {
    const child = this.#fork('cluster-process.ts', [name]);
    const ready = (await messageOf(child)) as { url: string; kubeconfig: string };
    const kubeconfig = join(this.folder, `${name}.kubeconfig`);
    writeFileSync(kubeconfig, ready.kubeconfig, { mode: 0o600 });
    return new ClusterProcess(child, kubeconfig);
  }

  /** Starts etcd and kube-apiserver from KUBEBUILDER_ASSETS, and returns the path of a kubeconfig. */
  async startRealCluster(name: string): Promise<string> {
    const cluster = await startKube({ name });
    this.#realClusters.push(cluster);
    return cluster.kubeconfigPath;
  }

  /** The launcher of the package, once it is built. */
  get launcher(): string {
    return join(this.folder, 'package', 'src', 'launcher', 'hostward.mjs');
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
    const node = [process.execPath, ...this.#nodeFlags(options), ...args];
    const joining = ['sh', '-c', `echo $$ > "$0" && exec "$@"`, options.group ?? '', ...node];
    const [program = '', ...words] = options.group === undefined ? node : joining;
    const child = spawn(program, words, {
      stdio: ['ignore', log, log, ...(options.tellsReadings ? (['ipc'] as const) : [])],
      // Below npm the launcher would stay, and be measured in place of the daemon.
      env: { ...process.env, NODE_OPTIONS: '', npm_command: '' },
    });
    closeSync(log);
    this.#keep(child);
    return new DaemonProcess(child, { port, startMs, log: () => this.log() });
  }

  /** Starts Node directly with the launcher's flags, because Node writes a CPU profile only for its first program. */
  #nodeFlags({ profileTo, plant = 'none', tellsReadings, launcher = this.launcher }: DaemonOptions): string[] {
    const planted = { event: 'slow-events.mjs', leak: 'leaky-events.mjs', get: undefined, none: undefined }[plant];
    const preloaded = [planted, tellsReadings ? 'readings.mjs' : undefined].filter((file) => file !== undefined);
    if (profileTo === undefined && preloaded.length === 0) return [launcher];
    const flags = launcherFlags(launcher);
    const profile = profileTo === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileTo}`];
    const imports = preloaded.flatMap((file) => ['--import', join(root, 'bench', file)]);
    return [...flags, ...profile, ...imports, join(this.folder, 'package', 'dist', 'main.js')];
  }

  log(): string {
    return readFileSync(join(this.folder, 'daemon.log'), 'utf8');
  }

  async close(): Promise<void> {
    await Promise.all([...this.#children].map((child) => end(child)));
    for (const cluster of this.#realClusters) await cluster.stop();
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

/** Adds a needless GET before each patch to the bundle. */
function plantGet(dist: string): void {
  const wanted = /return (\w+)\.patch\((\w+),(\w+)\.place,\3\.mergePatch,(\w+)\)/;
  for (const file of readdirSync(dist)) {
    const path = join(dist, file);
    if (!file.endsWith('.js')) continue;
    const text = readFileSync(path, 'utf8');
    if (!wanted.test(text)) continue;
    writeFileSync(
      path,
      text.replace(wanted, 'return $1.get($2,$3.place).then(()=>$1.patch($2,$3.place,$3.mergePatch,$4))'),
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

  close(): Promise<void> {
    return end(this.#child);
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
