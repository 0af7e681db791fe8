// `npm run rig:store`: plays random histories on every store and judges them. Exit code 0: no violation, and everything was seen; 1: a violation, or the
// histories were too tame; 2: wrong usage.
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { History, Violation } from './history.ts';
import { judge, told } from './judges/judge.ts';
import { play } from './play/play.ts';
import { type Plant, plants } from './subjects/planted.ts';
import { subjects } from './subjects/subjects.ts';
import { Tally } from './tally.ts';

const usage = `npm run rig:store -- --histories N [--from SEED] [--store NAME] [-o json]   plays N histories on each store
npm run rig:store -- --replay SEED [--store NAME] [--save FILE]              plays one and shows it
npm run rig:store -- --judge FILE                                            judges a history that was saved
npm run rig:store -- --histories N --plant NAME                              with a planted bug, which must be found

stores: ${Object.keys(subjects).join(', ')}; planted bugs: ${Object.keys(plants).join(', ')}
`;
const greatestSeed = 2 ** 31 - 1;
/** Said in full; of the others the seed is enough. */
const mostTold = 5;

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
      output: { type: 'string', short: 'o', default: 'text' },
    },
  });
  if (values.store !== undefined && !(values.store in subjects))
    throw new UsageFault(`--store is one of: ${Object.keys(subjects).join(', ')}; found "${values.store}"`);
  if (values.plant !== undefined && !(values.plant in plants))
    throw new UsageFault(`--plant is one of: ${Object.keys(plants).join(', ')}; found "${values.plant}"`);
  if (values.output !== 'text' && values.output !== 'json')
    throw new UsageFault(`-o is text or json, found "${values.output}"`);
  if (values.judge !== undefined) return judged(JSON.parse(readFileSync(values.judge, 'utf8'), revived));
  const stores = values.store === undefined ? Object.keys(subjects) : [values.store];
  const plant = values.plant as Plant | undefined;
  if (values.replay !== undefined)
    return replay(wholeNumber('--replay', values.replay, 0), { stores, plant, save: values.save });
  if (values.histories === undefined) throw new UsageFault('say --histories N, --replay SEED or --judge FILE');
  const histories = wholeNumber('--histories', values.histories, 1);
  const from = wholeNumber('--from', values.from, 0);
  const tallies: Tally[] = [];
  for (const store of stores) tallies.push(await playMany(store, { histories, from, plant }));
  if (values.output === 'json') print(JSON.stringify(tallies.map(asData), undefined, 2));
  else for (const tally of tallies) print(asText(tally));
  return tallies.every(({ violations, missed }) => violations.length === 0 && missed.length === 0) ? 0 : 1;
}

function wholeNumber(option: string, text: string, least: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= greatestSeed) return value;
  throw new UsageFault(`${option} is a whole number from ${least} to ${greatestSeed}, found "${text}"`);
}

async function playMany(
  store: string,
  { histories, from, plant }: { histories: number; from: number; plant: Plant | undefined },
): Promise<Tally> {
  const subject = (
    subjects[store] as (plant?: Plant) => (typeof subjects)[string] extends (p?: Plant) => infer S ? S : never
  )(plant);
  const tally = new Tally(store, subject.promises);
  try {
    for (let seed = from; seed < from + histories; seed++) {
      const { history } = await play(subject, seed);
      tally.add(history, judge(history));
    }
  } finally {
    await subject.stop();
  }
  return tally;
}

async function replay(
  seed: number,
  { stores, plant, save }: { stores: readonly string[]; plant: Plant | undefined; save: string | undefined },
): Promise<number> {
  let bad = 0;
  for (const store of stores) {
    const subject = subjects[store]?.(plant);
    if (subject === undefined) continue;
    try {
      const { plan, history } = await play(subject, seed);
      print(`${store}, seed ${seed}: ${JSON.stringify(plan.blows)}`);
      bad += judged(history);
      if (save !== undefined) writeFileSync(save, JSON.stringify(history, replaced, 1));
    } finally {
      await subject.stop();
    }
  }
  return bad === 0 ? 0 : 1;
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
  print(violations.length === 0 ? 'no violation' : `${violations.length} violations`);
  return violations.length === 0 ? 0 : 1;
}

function asText(tally: Tally): string {
  const { store, histories, operations, seen, violations, missed } = tally;
  const lines = [
    `${store}: ${histories} histories, ${operations} operations and watches, ${violations.length} violations`,
  ];
  lines.push(
    `  ${Object.entries(seen)
      .map(([sight, count]) => `${sight} ${count}`)
      .join(', ')}`,
  );
  for (const one of violations.slice(0, mostTold)) lines.push(`  seed ${one.seed}, ${sentence(one)}`);
  const seeds = [...new Set(violations.map(({ seed }) => seed))].slice(0, mostTold);
  for (const seed of seeds) lines.push(`  npm run rig:store -- --replay ${seed} --store ${store}`);
  for (const sentence of missed) lines.push(`  the histories never had ${sentence}: play more of them`);
  return lines.join('\n');
}

function asData({ store, histories, operations, seen, violations, missed }: Tally) {
  return { store, histories, operations, seen, violations, missed };
}

function sentence({ judge: name, what }: Violation): string {
  return `${name}: ${what}`;
}

/** JSON has no infinity, which is the end of a watch that was never answered. */
function replaced(_key: string, value: unknown): unknown {
  return value === Number.POSITIVE_INFINITY ? 'never' : value;
}

function revived(_key: string, value: unknown): unknown {
  return value === 'never' ? Number.POSITIVE_INFINITY : value;
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
