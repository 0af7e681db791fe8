// A process that plays seeds for the command: a learned scenario is kept for the seeds that share it.

import { flushCompileCache } from 'node:module';
import type { SeedLine } from '../report/tally.ts';
import { storyOf } from '../traffic/stories.ts';
import { minimised } from './minimise.ts';
import { type Points, pointsOf } from './points.ts';
import { type Played, play, type Schedule } from './run.ts';
import { learnedSchedule, placedSchedule } from './schedule.ts';

export type ToWorker =
  | { do: 'play'; seed: number }
  /** The scenario of the seed, without its faults. */
  | { do: 'learn'; seed: number }
  | { do: 'story'; seed: number; name: string }
  /** The faults of one class, at each request of the story. */
  | { do: 'points'; seed: number; name: string; ofClass: string }
  | { do: 'minimise'; seed: number; oracle: string; kind: string };
export type FromWorker =
  | { did: 'play'; line: SeedLine }
  | { did: 'points'; points: Points }
  | { did: 'minimise'; schedule: Schedule; runs: number }
  | { did: 'fail'; seed: number; error: string };

let learned: { schedule: Schedule; played: Played } | undefined;

export async function learn(seed: number): Promise<{ schedule: Schedule; played: Played }> {
  const schedule = learnedSchedule(seed);
  if (learned?.schedule.seed !== schedule.seed) learned = { schedule, played: await play(schedule) };
  return learned;
}

export async function playSeed(seed: number): Promise<SeedLine> {
  const started = process.cpuUsage();
  const { schedule, played: faultless } = await learn(seed);
  const placed = placedSchedule(seed, schedule, faultless);
  const played = await play(placed, { faultless });
  // What fails without faults fails every seed of the scenario.
  const violations = [...faultless.violations, ...played.violations];
  return lineOf(seed, { ...played, violations }, { placed: placed.faults, started });
}

function lineOf(
  seed: number,
  { struck, violations, sights, requests, virtualMs }: Played,
  { placed, started }: Pick<SeedLine, 'placed'> & { started: NodeJS.CpuUsage },
): SeedLine {
  const used = process.cpuUsage(started);
  return { seed, placed, struck, violations, sights, requests, virtualMs, cpuMs: (used.user + used.system) / 1000 };
}

async function serve(message: ToWorker): Promise<FromWorker> {
  if (message.do === 'play') return { did: 'play', line: await playSeed(message.seed) };
  if (message.do === 'points') return { did: 'points', points: await pointsOf(message.name, message.ofClass) };
  const started = process.cpuUsage();
  if (message.do === 'story') {
    const played = await play({ seed: message.seed, scenario: storyOf(message.name), faults: [] });
    return { did: 'play', line: lineOf(message.seed, played, { placed: [], started }) };
  }
  const { schedule, played } = await learn(message.seed);
  if (message.do === 'learn') return { did: 'play', line: lineOf(message.seed, played, { placed: [], started }) };
  const violation = { oracle: message.oracle, kind: message.kind, what: '', atMs: 0 };
  const short = await minimised(placedSchedule(message.seed, schedule, played), violation);
  return { did: 'minimise', ...short };
}

if (process.send !== undefined && process.argv[2] === 'rig-worker') {
  let answers = 0;
  // Whoever asked is gone.
  process.on('disconnect', () => process.exit());
  process.on('message', (message: ToWorker) => {
    serve(message).then(
      (answer) => {
        process.send?.(answer);
        // Its end is a kill, which writes nothing down.
        if (++answers === 1) flushCompileCache();
      },
      (error: unknown) => {
        const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
        process.send?.({ did: 'fail', seed: message.seed, error: text } satisfies FromWorker);
      },
    );
  });
}
