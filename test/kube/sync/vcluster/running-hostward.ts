// Hostward as an operator starts it, beside a vCluster: a process of its own with a configuration file and two kubeconfigs.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { freePorts } from '../../../../src/cli/demo/free-ports.ts';
import { until } from '../../../contract/sync-stage/backend.ts';
import { type Ended, root, run } from '../../install/helm.ts';

const main = join(root, 'src', 'main.ts');

export interface Clusters {
  readonly name: string;
  readonly namespace: string;
  readonly virtualKubeconfig: string;
  readonly hostKubeconfig: string;
}

export interface Status {
  readonly verdict: { readonly state: string; readonly isWell: boolean; readonly sentence: string };
  readonly objects: readonly {
    readonly kind: string;
    readonly object: string;
    readonly state: string;
    readonly message?: string;
  }[];
}

const unknowing = new Set(['starting', 'unreachable', 'unreadable', 'unwritable', 'leaderless']);

export class RunningHostward {
  #output = '';
  readonly #folder = mkdtempSync(join(tmpdir(), 'hostward-beside-'));
  readonly #files: readonly string[];
  readonly #clusters: readonly string[];
  #child: ChildProcess | undefined;

  private constructor(files: readonly string[], clusters: Clusters, listen: string) {
    const own = join(this.#folder, 'listen.yaml');
    writeFileSync(own, stringify({ hostward: { listen } }));
    this.#files = [...files, own].flatMap((file) => ['--config', file]);
    this.#clusters = [
      ...['--vcluster-name', clusters.name, '--host-namespace', clusters.namespace],
      ...['--virtual-kubeconfig', clusters.virtualKubeconfig, '--host-kubeconfig', clusters.hostKubeconfig],
    ];
  }

  static async with(files: readonly string[], clusters: Clusters): Promise<RunningHostward> {
    const [port] = await freePorts(1);
    return new RunningHostward(files, clusters, `127.0.0.1:${port}`);
  }

  /** Ends an earlier run first: a step that is tried again would otherwise leave a second daemon behind, which holds port and lease. */
  async start(...more: string[]): Promise<void> {
    await this.stop();
    const child = spawn(process.execPath, [main, 'run', ...this.#files, ...this.#clusters, ...more]);
    this.#child = child;
    const add = (text: Buffer) => {
      this.#output += text;
    };
    child.stdout.on('data', add);
    child.stderr.on('data', add);
  }

  /** Until every object has had its first pass; before all lists are in, `status` does not know every object. */
  async passed(): Promise<Status> {
    return until(
      'the first passes',
      async () => {
        const status = await this.status();
        const isPassed = ({ state }: { state: string }) => !/^(pending|retry|waiting)/.test(state);
        const isKnown = !unknowing.has(status.verdict.state) && status.objects.length > 0;
        return isKnown && status.objects.every(isPassed) ? status : undefined;
      },
      60_000,
    );
  }

  async status(): Promise<Status> {
    const { stdout, stderr } = await this.#command('status', ...this.#files, '--all', '-o', 'json');
    if (stdout === '') throw new Error(`${stderr}${this.#output}`);
    return JSON.parse(stdout) as Status;
  }

  doctor(...more: string[]): Promise<Ended> {
    return this.#command('doctor', ...this.#files, ...this.#clusters, '-o', 'json', ...more);
  }

  release(): Promise<Ended> {
    return this.#command('release', ...this.#files, ...this.#clusters);
  }

  #command(...words: string[]): Promise<Ended> {
    return run({ kubeconfig: '', folder: this.#folder }, process.execPath, main, ...words);
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGTERM');
    await ended;
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
