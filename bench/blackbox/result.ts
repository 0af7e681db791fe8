// What a run has found, as it is saved and as people read it.
import { execFileSync } from 'node:child_process';
import { cpus, loadavg } from 'node:os';
import type { Wanted } from './arguments.ts';
import type { Histogram } from './histogram.ts';

export interface Spread {
  p50: number;
  p90: number;
  p99: number;
  p999: number;
  max: number;
  samples: number;
}

export interface Point extends Spread {
  /** Changes a second that were wanted; absent for a burst. */
  rate?: number;
  changes: number;
  seconds: number;
  /** From the event of the virtual watch to the copy. */
  eventToCopy: Spread;
  /** How long the virtual API server took to answer a change. */
  answer: Spread;
  /** Changes that the virtual API server refused. */
  failed: number;
  /** Changes whose copy never came while they were waited for. */
  unseen: number;
  writesPerChange: number;
  cpuMsPerChange?: number;
}

export interface Result extends Omit<Point, 'rate' | 'seconds'> {
  question: 'blackbox';
  /** Written into a run that is kept in bench/history: between which servers it was. */
  conditions?: string;
  date: string;
  commit: string;
  machine: { cores: number; model: string; platform: string; node: string };
  load: { atStart: number; atEnd: number };
  wanted: Pick<Wanted, 'objects' | 'rates' | 'seconds' | 'isBurst' | 'kind' | 'addresses' | 'vclusterName'>;
  /** From the first write of an object to the last copy of all; `rawSeconds`: until the virtual API server had taken all of them. */
  firstSync: { seconds: number; perSecond: number; rawSeconds?: number; firstCopyMs: number };
  points: Point[];
  missing: number;
  wrong: number;
  /** Host objects that show an object of this run a second time. */
  extra: number;
  /** Copies that were still on the host some seconds after their objects had gone. */
  left: number;
  process?: { pid: number; rssMib: number; peakMib: number; cpuMs: number };
  /** Seconds since the start, MiB. */
  memory: [number, number][];
}

export function spreadOf(histogram: Histogram): Spread {
  const at = (share: number) => rounded(histogram.percentile(share));
  return {
    p50: at(0.5),
    p90: at(0.9),
    p99: at(0.99),
    p999: at(0.999),
    max: rounded(histogram.max),
    samples: histogram.count,
  };
}

export function rounded(value: number, digits = 2): number {
  const factor = 10 ** digits;
  return Math.round(value * factor) / factor;
}

export function surroundings(): Pick<Result, 'date' | 'commit' | 'machine'> {
  const [cpu] = cpus();
  return {
    date: new Date().toISOString(),
    commit: commit(),
    machine: { cores: cpus().length, model: cpu?.model ?? '', platform: process.platform, node: process.version },
  };
}

export function loadNow(): number {
  return rounded(loadavg()[0] ?? 0);
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return 'unknown';
  }
}

export function asText(result: Result): string {
  const { firstSync, points, missing, wrong, extra, left, machine, load, wanted } = result;
  const lines = [
    `${wanted.objects} ${wanted.kind} of ${wanted.addresses} addresses; ${machine.cores} cores, load ${load.atStart} to ${load.atEnd}`,
    `first write to last copy: ${firstSync.seconds} s, ${firstSync.perSecond} a second; the first copy after ${firstSync.firstCopyMs} ms; the virtual side took them in ${firstSync.rawSeconds} s`,
  ];
  for (const point of points) {
    const what = point.rate === undefined ? 'all at once' : `${point.rate} a second for ${point.seconds} s`;
    lines.push(
      `${what}: ${point.changes} changes, ${point.writesPerChange} writes a change${point.failed > 0 ? `, ${point.failed} refused` : ''}${point.unseen > 0 ? `, ${point.unseen} never seen` : ''}`,
      `  due to copy     ${told(point)}`,
      `  event to copy   ${told(point.eventToCopy)}`,
      `  answer of the virtual side ${told(point.answer)}`,
    );
    if (point.cpuMsPerChange !== undefined) lines.push(`  CPU a change ${point.cpuMsPerChange} ms`);
  }
  lines.push(`missing ${missing}, wrong ${wrong}, twice on the host ${extra}, left behind ${left}`);
  if (result.process !== undefined)
    lines.push(`process ${result.process.pid}: ${result.process.rssMib} MiB, at most ${result.process.peakMib}`);
  return lines.join('\n');
}

function told({ p50, p90, p99, p999, max, samples }: Spread): string {
  return `p50 ${p50}  p90 ${p90}  p99 ${p99}  p99.9 ${p999}  max ${max} ms  (${samples})`;
}
