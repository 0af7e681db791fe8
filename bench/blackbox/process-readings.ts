// CPU time and memory of a process and all below it, from /proc.
import { readdirSync, readFileSync } from 'node:fs';
import { EnvironmentFault } from './fault.ts';

export interface Readings {
  cpuMs: number;
  rssMib: number;
}

const ticksPerSecond = 100;

export function readingsOf(pid: number): Readings {
  const parents = new Map<number, number>();
  for (const entry of procEntries()) parents.set(entry, parentOf(entry));
  if (!parents.has(pid)) throw new EnvironmentFault(`cannot measure the process ${pid}: no process has this number`);
  const family = [pid];
  for (const one of family) for (const [child, parent] of parents) if (parent === one) family.push(child);
  const all = family.map(readOne);
  return {
    cpuMs: all.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    rssMib: all.reduce((sum, { rssMib }) => sum + rssMib, 0),
  };
}

function procEntries(): number[] {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    throw new EnvironmentFault('cannot measure a process: this system has no /proc');
  }
}

/** The fields behind the name, which may hold spaces. */
function statOf(pid: number): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

function parentOf(pid: number): number {
  return Number(statOf(pid)[1] ?? 0);
}

function readOne(pid: number): Readings {
  const fields = statOf(pid);
  let rssMib = 0;
  try {
    rssMib = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    // It has ended since.
  }
  return { cpuMs: ((Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 1000) / ticksPerSecond, rssMib };
}
