// The daemon of a benchmark as a process: what it is started with, and the readings of its metrics, CPU time and memory.
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { residentMbOf } from '../src/expression/sandbox/launch.ts';
import { cpuMsOf, end, messageOf, wait } from './processes.ts';
import { hostNamespace, virtualCluster } from './workload.ts';

const pollMs = 5;

/** A planted fault makes the daemon slow, to prove that a gate notices. */
export type Plant = 'none' | 'event' | 'get' | 'leak';

export interface DaemonOptions {
  virtualKubeconfig: string;
  hostKubeconfig: string;
  /** Folder for a CPU profile of the daemon. */
  profileTo?: string | undefined;
  plant?: Plant;
  /** Tells its CPU time and its memory on demand (`readings.mjs`), instead of what the system counts. */
  tellsReadings?: boolean;
  /** The launcher of another version, in that version's own folder. */
  launcher?: string;
  /** `cgroup.procs` of a control group that the daemon joins before it runs. */
  group?: string | undefined;
  /** In the form of a configuration. */
  patches?: readonly object[];
  /** The kinds that are synced; by default Endpoints alone. */
  kinds?: readonly ('endpoints' | 'endpointSlices')[];
  /** Serves the playground too. */
  playground?: boolean;
}

export function configuration(options: DaemonOptions, port: number): string {
  const { virtualKubeconfig, hostKubeconfig, patches = [], kinds = ['endpoints'], playground } = options;
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
      ...(playground && { playground }),
    },
  });
}

export class DaemonProcess {
  readonly startMs: number;
  readonly #child: ChildProcess;
  readonly #base: string;
  readonly #log: () => string;
  readonly port: number;
  #stallMs = 0;

  constructor(child: ChildProcess, { port, startMs, log }: { port: number; startMs: number; log: () => string }) {
    this.#child = child;
    this.#log = log;
    this.port = port;
    this.#base = `http://127.0.0.1:${port}`;
    this.startMs = startMs;
  }

  /** The address of its local port. */
  get base(): string {
    return this.#base;
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

  /**
   * Of a daemon that tells readings: its user and system time so far, or the bytes of its heap and of what hangs on it, after a full garbage
   * collection.
   */
  async reading(wanted: 'cpuMs' | 'heldBytes'): Promise<number> {
    const told = messageOf(this.#child);
    this.#child.send(wanted);
    return (await told) as number;
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

const stallSeries = 'hostward_event_loop_delay_seconds{percentile="100"}';
