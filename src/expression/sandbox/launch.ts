// Starts the sandbox process and offers of it what its owner needs: a channel, a kill, and one notice of its end. Tests put a
// process of their own making here.
import { spawn } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { residentMbOf } from './resident-memory.ts';

export interface Launched {
  readonly pid: number | undefined;
  readonly channel: Duplex;
  /** Of what it wrote to standard error, the last part: V8 says there why it gave up. */
  readonly lastWords: string;
  kill(): void;
  /** Undefined where the kernel does not tell. */
  residentMb(): number | undefined;
  /** The signal or the exit code that ended it. */
  readonly ended: Promise<string>;
}

export type Launch = (nodePath: string, args: readonly string[]) => Launched;

const keptWords = 2_000;

/** Otherwise the C library opens a file to count the processors, at a time that only the number of its threads decides. */
const environment = { MALLOC_ARENA_MAX: '1' };

export const launchProcess: Launch = (nodePath, args) => {
  const child = spawn(nodePath, args, { env: environment, cwd: '/', stdio: ['ignore', 'ignore', 'pipe', 'pipe'] });
  let lastWords = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    lastWords = (lastWords + chunk.toString()).slice(-keptWords);
  });
  const ended = new Promise<string>((resolve) => {
    child.on('error', (fault) => {
      lastWords = fault.message;
      if (child.pid === undefined) resolve('no process');
    });
    child.on('close', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const channel = child.stdio[3] as Duplex;
  // The end of the process says all there is to say.
  channel.on('error', () => {});
  return {
    pid: child.pid,
    channel,
    get lastWords() {
      return lastWords;
    },
    kill: () => void child.kill('SIGKILL'),
    residentMb: () => (child.pid === undefined ? undefined : residentMbOf(child.pid)),
    ended,
  };
};
