// Reads the resident memory of another process from /proc.
import { readFileSync } from 'node:fs';

/** Megabytes; undefined without a /proc or without such a process. */
export function residentMbOf(pid: number): number | undefined {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1_024;
  } catch {
    return undefined;
  }
}
