// What the charts show: runs of the black box, ours and others', figures of others that were recorded in their time, and the series behind two benches of
// our own daemon, how its cost grows and what its changes leave behind.
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

/** The details of bench/growth and bench/leak. */
export interface Series {
  question: string;
  date: string;
  details?: {
    costs?: { size: number; firstSyncMs: number; serverMs?: number; restartMs: number; changeMs: number }[];
    held?: { x: number; y: number }[];
  };
}

export function charts(
  runs: readonly Result[],
  recorded: readonly Recorded[],
  series: readonly Series[] = [],
): Chart[] {
  const newest = runs.toSorted((one, other) => (one.date < other.date ? 1 : -1));
  const all = [latency(newest, recorded), wholeSync(newest, recorded), cost(series), memory(newest), held(series)];
  return all.filter(({ lines }) => lines.length > 0);
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
          {
            name: 'the raw API server: until the virtual side has taken the same objects',
            points: runs.flatMap(({ wanted, firstSync: { rawSeconds } }) =>
              rawSeconds === undefined ? [] : [{ x: wanted.objects, y: rawSeconds }],
            ),
          },
        ].filter(({ points }) => points.length > 0);
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

function newestOf(series: readonly Series[], question: string): Series | undefined {
  return series
    .filter((one) => one.question === question && one.details !== undefined)
    .toSorted((one, other) => (one.date < other.date ? 1 : -1))[0];
}

function cost(series: readonly Series[]): Chart {
  const { date = '', details } = newestOf(series, 'growth') ?? {};
  const all = details?.costs ?? [];
  const costs = all.filter(({ size }) => size > 0);
  // What a daemon without objects costs is taken off, as in the bench.
  const empty = all.find(({ size }) => size === 0) ?? { firstSyncMs: 0, restartMs: 0, serverMs: 0 };
  const line = (name: string, value: (one: (typeof costs)[number]) => number | undefined): Line => ({
    name: `${name}, ${date.slice(0, 10)}`,
    points: costs.flatMap((one) => {
      const y = value(one);
      return y === undefined ? [] : [{ x: one.size, y }];
    }),
  });
  return {
    id: 'cost',
    title: 'What one object costs the daemon, against their number',
    xLabel: 'objects',
    yLabel: 'milliseconds of CPU for each object',
    isLog: true,
    lines: [
      line('first sync', ({ size, firstSyncMs }) => (firstSyncMs - empty.firstSyncMs) / size),
      line('the raw API server of the host, for the same writes', ({ size, serverMs }) =>
        serverMs === undefined ? undefined : (serverMs - (empty.serverMs ?? 0)) / size,
      ),
      line('restart with all in step', ({ size, restartMs }) => (restartMs - empty.restartMs) / size),
      line('one change', ({ changeMs }) => changeMs),
    ].filter(({ points }) => points.length > 0),
  };
}

function held(series: readonly Series[]): Chart {
  const { date = '', details } = newestOf(series, 'leak') ?? {};
  const points = (details?.held ?? []).map(({ x, y }) => ({ x, y: y / 1024 ** 2 }));
  return {
    id: 'held',
    title: 'What the daemon holds over many changes of the same objects',
    xLabel: 'changes',
    yLabel: 'MiB after a garbage collection',
    isLog: false,
    lines:
      points.length === 0
        ? []
        : [{ name: `1,000 Endpoints that change again and again, ${date.slice(0, 10)}`, points }],
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
