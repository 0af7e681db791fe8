// How much memory another process holds, where the kernel says so.
import { readFileSync } from 'node:fs';

/** Megabytes; undefined where there is no /proc or no such process. */
export function residentMbOf(pid: number): number | undefined {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1_024;
  } catch {
    return undefined;
  }
}
