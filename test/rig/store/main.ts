// `npm run rig:store`: plays random histories on every store and judges them. Exit code 0: no violation, and everything was seen and judged; 1: a violation,
// or something that nobody could judge, or the histories were too tame; 2: wrong usage.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { whyNoFile } from '../../../bench/blackbox/output-place.ts';
import type { History } from './history.ts';
import { type HttpHistory, judgeHttp } from './http/judge-http.ts';
import { playHttp } from './http/play-http.ts';
import { HttpTally } from './http/tally-http.ts';
import { judge, told } from './judges/judge.ts';
import { play } from './play/play.ts';
import { type Plant, plants } from './subjects/planted.ts';
import { onDemand, subjects } from './subjects/subjects.ts';
import { Tally } from './tally.ts';
import { asText, fromText, keep, sentence, type Told, toText } from './told.ts';

const stores = [...Object.keys(subjects), 'http'];
const usage = `npm run rig:store -- --histories N [--from SEED] [--store NAME]   plays N histories on each store
npm run rig:store -- --replay SEED [--store NAME] [--save FILE]  plays one and shows it
npm run rig:store -- --judge FILE                                judges a history that was saved

stores: ${stores.join(', ')}
  kubernetes is two replicas on an embedded API server; kube is the same on a real kube-apiserver, with KUBEBUILDER_ASSETS (test/kube/build.sh), on demand
  http is a memory or SQLite store behind an API server, which its clients list, watch and change over HTTP
options:
  --minutes N   stops each store after so long, and says with which seed to go on; so does Ctrl-C
  --at-once N   so many histories beside each other (sqlite 4, kubernetes 3, http 2, others 1), while one of them waits for a disk or a process
  --busy        keeps every processor busy beside, which shows other races
  --plant NAME  with a planted bug, which must be found: ${Object.keys(plants).join(', ')}
  -o json       the result as JSON
Exit code 0: no violation, and everything was seen; 1: a violation, a history that could not be judged on a starved machine, or only tame ones; 2: wrong usage.
`;
/** Where nothing else is said. The memory store waits for nothing, and plays the same history for a seed only alone. */
const usuallyAtOnce: Readonly<Record<string, number>> = { memory: 1, kubernetes: 3, kube: 1, http: 2 };
const mostAtOnce = 4;
/** How often a long run says how far it is. */
const progressMs = 10_000;
const greatestSeed = 2 ** 31 - 1;

class UsageFault extends Error {}

async function command(words: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...words],
    options: {
      histories: { type: 'string' },
      from: { type: 'string', default: '0' },
      store: { type: 'string' },
      replay: { type: 'string' },
      judge: { type: 'string' },
      save: { type: 'string' },
      plant: { type: 'string' },
      minutes: { type: 'string' },
      'at-once': { type: 'string' },
      busy: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
      output: { type: 'string', short: 'o', default: 'text' },
    },
  });
  if (values.help) {
    print(usage.trimEnd());
    return 0;
  }
  if (values.store !== undefined && !stores.includes(values.store))
    throw new UsageFault(`--store is one of: ${stores.join(', ')}; found "${values.store}"`);
  if (values.plant !== undefined && !(values.plant in plants))
    throw new UsageFault(`--plant is one of: ${Object.keys(plants).join(', ')}; found "${values.plant}"`);
  if (values.output !== 'text' && values.output !== 'json')
    throw new UsageFault(`-o is text or json, found "${values.output}"`);
  if (values.judge !== undefined) return judged(fromText(readFileSync(values.judge, 'utf8')));
  const why = values.save === undefined ? undefined : whyNoFile(values.save);
  if (why !== undefined) throw new UsageFault(`--save "${values.save}"${why}`);
  const chosen = values.store === undefined ? stores.filter((one) => !onDemand.includes(one)) : [values.store];
  const plant = values.plant as Plant | undefined;
  if (values.replay !== undefined)
    return replay(wholeNumber('--replay', values.replay, 0), { stores: chosen, plant, save: values.save });
  if (values.histories === undefined) throw new UsageFault('say --histories N, --replay SEED or --judge FILE');
  const histories = wholeNumber('--histories', values.histories, 1);
  const from = wholeNumber('--from', values.from, 0);
  const minutes = wholeNumber('--minutes', values.minutes ?? String(greatestSeed), 1);
  const given = values['at-once'];
  const atOnce = given === undefined ? undefined : wholeNumber('--at-once', given, 1);
  const tallies: Told[] = [];
  const stopped = new AbortController();
  process.once('SIGINT', () => stopped.abort());
  const spinners = values.busy ? spinning() : [];
  try {
    for (const store of chosen)
      tallies.push(
        await playMany(store, {
          ...{ histories, from, plant, minutes, isStopped: () => stopped.signal.aborted },
          atOnce: atOnce ?? usuallyAtOnce[store] ?? mostAtOnce,
        }),
      );
  } finally {
    for (const spinner of spinners) spinner.kill('SIGKILL');
  }
  if (values.output === 'json') print(JSON.stringify(tallies, undefined, 2));
  else for (const tally of tallies) print(asText(tally, histories, from));
  return tallies.every(({ violations, unjudged, missed }) => violations.length + unjudged.length + missed.length === 0)
    ? 0
    : 1;
}

function spinning(): ChildProcess[] {
  return Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['--eval', 'for (;;);'], { stdio: 'ignore' }),
  );
}

function wholeNumber(option: string, text: string, least: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= greatestSeed) return value;
  throw new UsageFault(`${option} is a whole number from ${least} to ${greatestSeed}, found "${text}"`);
}

interface Many {
  histories: number;
  from: number;
  plant: Plant | undefined;
  minutes: number;
  atOnce: number;
  isStopped(): boolean;
}

async function playMany(store: string, given: Many): Promise<Told> {
  const { histories, from, plant, minutes, atOnce, isStopped } = given;
  const player = store === 'http' ? httpPlayer(plant) : storePlayer(store, plant);
  const startMs = performance.now();
  let toldMs = startMs;
  let next = from;
  // What was begun is played to its end, so that the seeds below the next one are all played.
  const lane = async (): Promise<void> => {
    while (next < from + histories && !isStopped() && performance.now() - startMs < minutes * 60_000) {
      const seed = next++;
      await player.play(seed).catch((error: unknown) => {
        // A store or a server that dies takes its history with it, and the seed must be known.
        player.tally.violations.push({ judge: 'rest', what: `the history broke off: ${String(error)}`, seed });
      });
      const nowMs = performance.now();
      if (nowMs - toldMs < progressMs) continue;
      toldMs = nowMs;
      const { histories: count, violations } = player.tally;
      process.stderr.write(`${store}: ${count} of ${histories} histories, ${violations.length} violations\n`);
    }
  };
  try {
    await Promise.all(Array.from({ length: atOnce }, lane));
  } finally {
    await player.stop();
  }
  const { kept } = player;
  const { histories: count, operations, seen, violations, unjudged, missed } = player.tally;
  return { store, histories: count, operations, seen, violations, unjudged, missed, kept };
}

function storePlayer(store: string, plant: Plant | undefined) {
  const subject = subjects[store]?.(plant);
  if (subject === undefined) throw new UsageFault(`no store "${store}"`);
  const tally = new Tally(store, subject.promises);
  const kept: string[] = [];
  return {
    tally,
    kept,
    async play(seed: number) {
      const { history } = await play(subject, seed);
      const violations = judge(history);
      tally.add(history, violations);
      if (violations.length > 0) kept.push(keep(history));
    },
    stop: () => subject.stop(),
  };
}

function httpPlayer(plant: Plant | undefined) {
  const tally = new HttpTally();
  return {
    tally,
    kept: [],
    async play(seed: number) {
      const history = await playHttp(seed, plant);
      tally.add(seed, history, judgeHttp(history));
    },
    async stop() {},
  };
}

async function replay(
  seed: number,
  { stores, plant, save }: { stores: readonly string[]; plant: Plant | undefined; save: string | undefined },
): Promise<number> {
  let bad = 0;
  for (const store of stores) {
    if (store === 'http') bad += replayedHttp(seed, await playHttp(seed, plant));
    const subject = subjects[store]?.(plant);
    if (subject === undefined) continue;
    try {
      const { plan, history } = await play(subject, seed);
      print(`${store}, seed ${seed}: ${JSON.stringify(plan.blows)}`);
      bad += judged(history);
      if (save !== undefined) writeFileSync(save, toText(history));
    } finally {
      await subject.stop();
    }
  }
  return bad === 0 ? 0 : 1;
}

function replayedHttp(seed: number, history: HttpHistory): number {
  const { unjudged, ...happenings } = history;
  for (const [name, happened] of Object.entries(happenings))
    for (const one of happened) print(`http, seed ${seed}, ${name}: ${JSON.stringify(one)}`);
  const faults = judgeHttp(history);
  for (const what of faults) print(what);
  for (const what of unjudged) print(`could not judge: ${what}`);
  print(faults.length === 0 ? 'no violation' : `${faults.length} violations`);
  return faults.length + unjudged.length;
}

function judged(history: History): number {
  const violations = judge(history);
  for (const operation of history.operations) print(told(operation));
  for (const { client, prefix, afterRevision, calledAt, deliveries } of history.watches)
    for (const { at, delivery } of deliveries)
      print(
        `client ${client} watches ${prefix} after ${afterRevision} since ${calledAt}: at ${at} ${JSON.stringify(delivery)}`,
      );
  for (const one of violations) print(sentence(one));
  // Absent in a file of before.
  for (const what of history.unjudged ?? []) print(`could not judge: ${what}`);
  print(violations.length === 0 ? 'no violation' : `${violations.length} violations`);
  return violations.length + (history.unjudged ?? []).length === 0 ? 0 : 1;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

try {
  process.exitCode = await command(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageFault) && (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS') !== true)
    throw error;
  process.stderr.write(`rig:store: ${(error as Error).message}\n\n${usage}`);
  process.exitCode = 2;
}
