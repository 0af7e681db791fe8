// What the processes of all benchmarks need: their messages, their end, and pauses between two rounds.
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';

const ticksPerSecond = 100;

export function messageOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error(`a process of the benchmark has ended: ${child.spawnargs.join(' ')}`));
    child.once('exit', ended);
    child.once('message', (message) => {
      child.off('exit', ended);
      resolve(message);
    });
  });
}

export async function end(child: ChildProcess): Promise<void> {
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

/** The daemon gives memory back after six to eight quiet seconds (src/daemon/process/give-back-memory.ts). */
export const givenBackMs = 10_000;

/** The load average, to judge how busy the machine is. */
export function load(): number {
  return loadavg()[0] ?? 0;
}

/** User and system CPU time of a process so far. */
export function cpuMsOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond;
}
