// The options of a sandbox process, and its start: the owner gets a channel, a kill and a promise of its end. Tests pass a fake
// process instead.
import { spawn } from 'node:child_process';
import { Duplex } from 'node:stream';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { SandboxSetup } from '../realm/harness.ts';
import { cpuMsOf, residentMbOf } from './process-readings.ts';
import type { RequestBook } from './requests.ts';

export interface WatchedProcessOptions {
  setup: SandboxSetup;
  book: RequestBook;
  limits: ProcessLimits;
  clock: Clock;
  log: Log;
  /** Path of the Node program that runs the sandbox. */
  nodePath: string;
  jit?: boolean;
  hardMs?: number;
  onStart?: (reason: ProcessStart) => void;
  /** Starts the process; tests pass a fake. */
  launch?: Launch;
}

export interface ProcessLimits {
  /** Resident megabytes above which the process is killed while it runs a request. */
  mostMb: () => number;
  /** Resident megabytes above which an idle process is replaced after a failure. */
  retireMb: () => number;
  /** Whether there is room for a new process; without room the start waits. */
  hasRoom?: () => boolean;
  /** Called while the process runs a request. */
  onLook?: (residentMb: number) => void;
}

/** Why the process was started. swollen: the process before it held too much memory while it ran a request. */
export type ProcessStart = 'first' | 'hung' | 'died' | 'retired' | 'swollen';

export interface LaunchedProcess {
  readonly pid: number | undefined;
  readonly channel: Duplex;
  /** The end of its standard error, where V8 writes the reason before it aborts. */
  readonly lastWords: string;
  kill(): void;
  /** Undefined without /proc, and after the end of the process. */
  residentMb(): number | undefined;
  /** Processor time so far; undefined where the kernel does not tell. */
  cpuMs(): number | undefined;
  /** The signal or the exit code that ended it. */
  readonly ended: Promise<string>;
}

export type Launch = (nodePath: string, args: readonly string[]) => LaunchedProcess;

const lastWordsChars = 2_000;

/** With more arenas the C library would open a file to count the processors, at an unpredictable moment. */
const environment = { MALLOC_ARENA_MAX: '1' };

export const launchProcess: Launch = (nodePath, args) => {
  const child = spawn(nodePath, args, { env: environment, cwd: '/', stdio: ['ignore', 'ignore', 'pipe', 'pipe'] });
  let lastWords = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    lastWords = (lastWords + chunk.toString()).slice(-lastWordsChars);
  });
  const ended = new Promise<string>((resolve) => {
    child.on('error', (fault) => {
      lastWords = fault.message;
      if (child.pid === undefined) resolve('no process');
    });
    child.on('close', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  // Without a free file descriptor, Node makes neither a process nor its channels, whatever the types say.
  const [, , , channel = new Duplex().destroy()] = (child.stdio ?? []) as (Duplex | undefined)[];
  // Ignored, because a broken channel means that the process ends, and `ended` reports the end.
  channel.on('error', () => {});
  return {
    pid: child.pid,
    channel,
    get lastWords() {
      return lastWords;
    },
    kill: () => void child.kill('SIGKILL'),
    residentMb: () => (child.pid === undefined ? undefined : residentMbOf(child.pid)),
    cpuMs: () => (child.pid === undefined ? undefined : cpuMsOf(child.pid)),
    ended,
  };
};
