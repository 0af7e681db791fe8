// Starts a sandbox process, and reads its memory and processor time from /proc: the owner gets a channel, a kill and a promise of its
// end. Tests pass a fake process instead.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Duplex } from 'node:stream';

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

/** Megabytes; undefined without a /proc or without such a process. */
export function residentMbOf(pid: number): number | undefined {
  const kilobytes = numberIn(`/proc/${pid}/status`, /^VmRSS:\s+(\d+) kB$/m);
  return kilobytes === undefined ? undefined : kilobytes / 1_024;
}

/** Milliseconds of the main thread, where expressions run; undefined where the kernel does not tell. */
export function cpuMsOf(pid: number): number | undefined {
  const nanoseconds = numberIn(`/proc/${pid}/schedstat`, /^(\d+) /);
  return nanoseconds === undefined ? undefined : nanoseconds / 1_000_000;
}

function numberIn(path: string, pattern: RegExp): number | undefined {
  try {
    const text = pattern.exec(readFileSync(path, 'utf8'))?.[1];
    return text === undefined ? undefined : Number(text);
  } catch {
    return undefined;
  }
}
