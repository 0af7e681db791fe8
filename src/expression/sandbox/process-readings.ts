// Reads the resident memory and the processor time of another process from /proc.
import { readFileSync } from 'node:fs';

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
