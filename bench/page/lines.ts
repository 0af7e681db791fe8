// What the charts show: runs of the black box, ours and others', and figures of others that were recorded in their time.
import type { Result } from '../blackbox/result.ts';
import type { Chart, Line } from './chart.ts';

/** Figures of others, with their date and under which conditions they were seen. */
export interface Recorded {
  who: string;
  date: string;
  conditions: string;
  latency: { rate: number; p50: number; p99: number }[];
  /** From the first write of a burst to the last copy. */
  all: { objects: number; seconds: number }[];
}

export function charts(runs: readonly Result[], recorded: readonly Recorded[]): Chart[] {
  const newest = runs.toSorted((one, other) => (one.date < other.date ? 1 : -1));
  return [latency(newest, recorded), wholeSync(newest, recorded), memory(newest)].filter(
    ({ lines }) => lines.length > 0,
  );
}

/** Of each number of objects and kind the newest run with rates. */
function latency(newest: readonly Result[], recorded: readonly Recorded[]): Chart {
  const run = newest
    .filter(({ points }) => points.some(({ rate }) => rate !== undefined))
    .toSorted((one, other) => other.points.length - one.points.length)[0];
  const points = (run?.points ?? []).flatMap((point) =>
    point.rate === undefined ? [] : [{ ...point, rate: point.rate }],
  );
  const own = (name: string, value: (point: (typeof points)[number]) => number): Line => ({
    name: `${name}, ${run?.wanted.objects} ${run?.wanted.kind}, ${run?.date.slice(0, 10)}`,
    points: points.map((point) => ({ x: point.rate, y: value(point) })),
  });
  const ours =
    points.length === 0
      ? []
      : [
          own('p50 of the syncer', ({ p50 }) => p50),
          own('p99 of the syncer', ({ p99 }) => p99),
          own('p99 of the raw API server: its answer to the change alone', ({ answer }) => answer.p99),
        ];
  const others = recorded.flatMap(({ who, date, latency: seen }): Line[] => [
    { name: `p99, ${who}, ${date}`, points: seen.map(({ rate, p99 }) => ({ x: rate, y: p99 })) },
  ]);
  return {
    id: 'latency',
    title: 'How late a copy is, against the rate of changes',
    xLabel: 'changes a second',
    yLabel: 'milliseconds from when a change was due to its copy',
    isLog: true,
    lines: [...ours, ...others],
  };
}

function wholeSync(newest: readonly Result[], recorded: readonly Recorded[]): Chart {
  const bySize = new Map<number, Result>();
  for (const run of newest) if (!bySize.has(run.wanted.objects)) bySize.set(run.wanted.objects, run);
  const runs = [...bySize.values()].toSorted((one, other) => one.wanted.objects - other.wanted.objects);
  const own: Line[] =
    runs.length === 0
      ? []
      : [
          {
            name: `first sync, newest run of each size, up to ${newest[0]?.date.slice(0, 10)}`,
            points: runs.map(({ wanted, firstSync }) => ({ x: wanted.objects, y: firstSync.seconds })),
          },
        ];
  const others = recorded.map(({ who, date, all }) => ({
    name: `all changed at once, ${who}, ${date}`,
    points: all.map(({ objects, seconds }) => ({ x: objects, y: seconds })),
  }));
  return {
    id: 'size',
    title: 'How long it takes until all objects are on the host, against their number',
    xLabel: 'objects',
    yLabel: 'seconds from the first write to the last copy',
    isLog: true,
    lines: [...own, ...others],
  };
}

const mostMemoryLines = 4;

function memory(newest: readonly Result[]): Chart {
  return {
    id: 'memory',
    title: 'Memory of the syncer over a run',
    xLabel: 'seconds since the start of the run',
    yLabel: 'MiB (RSS, with child processes)',
    isLog: false,
    lines: newest
      .filter(({ memory: series }) => series.length > 1)
      .slice(0, mostMemoryLines)
      .map(({ date, wanted, memory: series }) => ({
        name: `${wanted.objects} ${wanted.kind}, ${date.slice(0, 16).replace('T', ' ')}`,
        points: series.map(([x, y]) => ({ x, y })),
      })),
  };
}
