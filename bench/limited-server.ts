// The management server as it is shipped (the bundle, through the launcher) under the memory limit of config/management.yaml, seen
// from outside: alive, memory of all its processes, processor time, and how long a restart takes.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { type MemoryGroup, memoryGroup } from './memory-group.ts';
import { end, wait } from './processes.ts';

const root = join(import.meta.dirname, '..');
const mib = 1024 * 1024;
const pollMs = 20;
/** A server that does not start by then never will: it should take five seconds. */
const startWithinMs = 60_000;

/** The `memory` of the limits in the shipped manifest. */
export function shippedLimitMb(): number {
  const text = readFileSync(join(root, 'config', 'management.yaml'), 'utf8');
  const found = /limits:\s*memory: (\d+)Mi/.exec(text)?.[1];
  if (found === undefined) throw new Error('config/management.yaml has no memory limit');
  return Number(found);
}

export interface LimitedServerOptions {
  launcher: string;
  configPath: string;
  logPath: string;
  port: number;
  caPem: string;
  limitMb: number;
  startWithinMs?: number;
}

export class LimitedServer {
  readonly #options: LimitedServerOptions;
  readonly #group: MemoryGroup | undefined;
  #child: ChildProcess | undefined;
  #hasEnded = true;

  constructor(options: LimitedServerOptions) {
    this.#options = options;
    this.#group = memoryGroup(options.limitMb * mib);
  }

  get isGrouped(): boolean {
    return this.#group !== undefined;
  }

  get isAlive(): boolean {
    return !this.#hasEnded;
  }

  /**
   * Returns the milliseconds until /livez answered, or undefined if the server ended before. `ownMs`: without those in which the main
   * thread was ready to run and others had the processors.
   */
  async start(): Promise<{ ms: number; ownMs: number } | undefined> {
    const { launcher, configPath, logPath } = this.#options;
    const log = openSync(logPath, 'a');
    const node = [process.execPath, launcher, 'run', '--config', configPath];
    const grouped = ['sh', '-c', `echo $$ > "$0" && exec "$@"`, this.#group?.procs ?? '', ...node];
    const [program = '', ...args] = this.#group === undefined ? node : grouped;
    const startMs = performance.now();
    // Below npm the launcher would end the server with itself.
    const env = { ...process.env, NODE_OPTIONS: '', npm_command: '' };
    const child = spawn(program, args, { stdio: ['ignore', log, log], env });
    closeSync(log);
    this.#child = child;
    this.#hasEnded = false;
    child.once('exit', () => {
      this.#hasEnded = true;
    });
    const withinMs = this.#options.startWithinMs ?? startWithinMs;
    while (this.isAlive && performance.now() - startMs < withinMs) {
      if (await this.#isServing()) {
        const ms = performance.now() - startMs;
        return { ms, ownMs: Math.max(0, ms - this.turns().waitedMs) };
      }
      await wait(pollMs);
    }
    return undefined;
  }

  async kill(): Promise<void> {
    const pids = this.#pids();
    for (const pid of pids) if (pid !== this.#child?.pid) tryKill(pid);
    this.#child?.kill('SIGKILL');
    while (!this.#hasEnded || pids.some(isRunning)) await wait(pollMs);
  }

  async close(): Promise<void> {
    if (this.#child !== undefined && this.isAlive) await end(this.#child);
    this.#group?.remove();
  }

  /** Since the server exists; those of a group that was full. */
  get killed(): number {
    return this.#group?.killed() ?? 0;
  }

  /** What counts against the limit, now: of the group, or else the resident memory of all processes, their programs among it. */
  memoryMb(): number {
    if (this.#group !== undefined) return this.#group.keptBytes() / mib;
    return this.#pids().reduce((sum, pid) => sum + kbIn(pid, 'VmRSS') / 1024, 0);
  }

  /** Time on a processor of all threads of all processes. */
  cpuMs(): number {
    return this.#pids().reduce((sum, pid) => sum + threadMs(pid), 0);
  }

  /** What the main threads ran, and for how long they were ready while others had the processors. */
  turns(): { ranMs: number; waitedMs: number } {
    const turns = this.#pids().map((pid) =>
      read(`/proc/${pid}/schedstat`)
        .split(' ')
        .map((ns) => Number(ns || 0) / 1e6),
    );
    const sum = (at: number) => turns.reduce((all, each) => all + (each[at] ?? 0), 0);
    return { ranMs: sum(0), waitedMs: sum(1) };
  }

  #pids(): number[] {
    const pid = this.#child?.pid;
    if (pid === undefined || this.#hasEnded) return [];
    const parents = new Map(running().map((each) => [each, parentOf(each)]));
    const isBelow = (each: number | undefined): boolean => each === pid || (!!each && isBelow(parents.get(each)));
    return [...parents.keys()].filter(isBelow);
  }

  #isServing(): Promise<boolean> {
    const { port, caPem } = this.#options;
    return new Promise((resolve) => {
      const asked = request(
        { host: '127.0.0.1', port, ca: caPem, path: '/livez', agent: false, timeout: 2_000 },
        (answer) => {
          answer.resume();
          answer.on('end', () => resolve(answer.statusCode === 200));
          answer.on('error', () => resolve(false));
        },
      );
      asked.on('timeout', () => asked.destroy());
      asked.on('error', () => resolve(false));
      asked.end();
    });
  }
}

function running(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The process has ended.
    return '';
  }
}

function parentOf(pid: number): number {
  return kbIn(pid, 'PPid');
}

function kbIn(pid: number, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(read(`/proc/${pid}/status`))?.[1] ?? 0);
}

function threadMs(pid: number): number {
  let names: string[] = [];
  try {
    names = readdirSync(`/proc/${pid}/task`);
  } catch {
    // The process has ended.
  }
  return names.reduce(
    (sum, name) => sum + Number(read(`/proc/${pid}/task/${name}/schedstat`).split(' ')[0] || 0) / 1e6,
    0,
  );
}

const isRunning = (pid: number) => kbIn(pid, 'VmRSS') > 0;

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}
