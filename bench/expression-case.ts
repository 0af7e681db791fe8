// Runs one case of bench/expressions.bench.ts: a number of patches over a number of addresses. It measures either the cost or the
// gain from remembered answers. Each case has a process of its own, because the compiled code and the garbage of one case would
// change the figures of the next.
import { parseArgs } from 'node:util';
import type { JsonMap } from '../src/expression/path/path.ts';
import { residentMbOf } from '../src/expression/sandbox/launch.ts';
import { barePass, type Cost, evaluatorPass, measured, nativePass, open, type Pass } from './expression-passes.ts';
import { endpoints, patches } from './expression-workload.ts';
import type { Figure } from './report.ts';
import { median, round } from './statistics.ts';

const { values: args } = parseArgs({
  options: {
    question: { type: 'string', default: 'cost' },
    patches: { type: 'string', default: '10' },
    addresses: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '7' },
    share: { type: 'string', default: '1' },
  },
});
const rounds = Number(args.rounds);
const patchCount = Number(args.patches);
const addresses = Number(args.addresses);
const list = patches(patchCount);
/** Objects of one measurement: enough for 30 ms or more. */
const objects = Math.ceil((addresses >= 1_000 ? 128 : addresses >= 100 ? 960 : 8_000) * Number(args.share));
const inFlight = 16;

interface Contender {
  pass: Pass;
  /** Share of the objects; a slow pass takes fewer objects. */
  share?: number;
  /** Runs over the same objects first, without measurement. */
  before?: Pass;
}

type Name = 'native' | 'bare' | 'piped' | 'single' | 'again';
type Costs = ReadonlyMap<Name, Cost[]>;

/** Every pass of every round gets new objects, because a pass writes its results into them and must not find remembered answers. */
function fresh(run: number, share = 1): JsonMap[] {
  const count = Math.ceil(objects * share);
  return Array.from({ length: count }, (_, at) => endpoints(addresses, run * 10_000 + at));
}

async function takeTurns(contenders: ReadonlyMap<Name, Contender>): Promise<Costs> {
  const costs = new Map<Name, Cost[]>([...contenders.keys()].map((name) => [name, []]));
  for (let turn = 0; turn <= rounds; turn++) {
    for (const [at, [name, { pass, share, before }]] of [...contenders].entries()) {
      const run = turn * contenders.size + at;
      await before?.(fresh(run));
      const cost = await measured(pass, fresh(run, share));
      // The first round warms up.
      if (turn > 0) costs.get(name)?.push(cost);
    }
  }
  return costs;
}

async function cost(): Promise<Figure[]> {
  const opened = await open(list);
  const bare = barePass(list);
  const costs = await takeTurns(
    new Map<Name, Contender>([
      ['native', { pass: nativePass(list) }],
      ['bare', { pass: bare.pass }],
      ['piped', { pass: evaluatorPass(opened.evaluator, list, inFlight) }],
      ['single', { pass: evaluatorPass(opened.evaluator, list, 1), share: 1 / 4 }],
    ]),
  );
  bare.close();
  const mb = residentMbOf(opened.child().pid ?? 0);
  await opened.evaluator.stop();
  const figures = figuresOfCost(costs);
  if (mb !== undefined) figures.push({ name: 'sandbox process', value: mb, unit: 'MB', wanted: { atMost: 90 } });
  return figures;
}

async function memory(): Promise<Figure[]> {
  // The memory holds the answers of two rounds; older answers would only be garbage for the collector.
  const partsAndResults = 2 * (3 * addresses + 20);
  const opened = await open(list, { entries: 4 * objects * partsAndResults });
  const costs = await takeTurns(
    new Map<Name, Contender>([
      ['native', { pass: nativePass(list) }],
      [
        'again',
        { pass: evaluatorPass(opened.evaluator, list, 1), before: evaluatorPass(opened.evaluator, list, inFlight) },
      ],
    ]),
  );
  await opened.evaluator.stop();
  const value = 1 / ratio(costs, 'again', { to: 'native' });
  return [{ name: 'asked again, share of native speed', value, unit: '', wanted: { atLeast: 0.85 } }];
}

/** Goals for ten patches, with the native time on the machine where the goals were set. */
interface Goal {
  cpu: number;
  wall: number;
  native: number;
}

const goals = new Map<number, Goal>([
  [3, { cpu: 9, wall: 25, native: 2.2 }],
  [100, { cpu: 38, wall: 110, native: 17.7 }],
  [1_000, { cpu: 300, wall: 900, native: 150 }],
]);

/** Scales a goal by the native time, because a slower machine is slower in both. */
function wantedOf(side: keyof Cost): Pick<Figure, 'wanted'> {
  const goal = patchCount === 10 ? goals.get(addresses) : undefined;
  return goal === undefined ? {} : { wanted: { atMost: round(goal[side] / goal.native, 1) } };
}

const of = (costs: Costs, name: Name, side: keyof Cost) => (costs.get(name) ?? []).map((each) => each[side]);

/** Ratios within each round; the result is their median. */
function ratio(costs: Costs, name: Name, { to, side = 'cpu' }: { to: Name; side?: keyof Cost }): number {
  const base = of(costs, to, side);
  return median(of(costs, name, side).map((value, at) => value / (base[at] as number)));
}

function figuresOfCost(costs: Costs): Figure[] {
  const micros = (name: string, pass: Name, side: keyof Cost): Figure => {
    const note = `${ratio(costs, pass, { to: 'native', side }).toFixed(1)} x native`;
    return { name, value: median(of(costs, pass, side)), unit: 'us', ...(pass !== 'native' && { note }) };
  };
  const toNative = (name: string, pass: Name, side: keyof Cost): Figure => ({
    name: `${name} / native`,
    value: ratio(costs, pass, { to: 'native', side }),
    unit: '',
    ...wantedOf(side),
  });
  const toBare = (name: string, side: keyof Cost): Figure => ({
    name: `${name} / bare isolate`,
    value: ratio(costs, 'piped', { to: 'bare', side }),
    unit: '',
  });
  return [
    micros('native', 'native', 'cpu'),
    micros('bare isolate, in process', 'bare', 'cpu'),
    micros('in the sandbox, main process', 'piped', 'cpu'),
    toNative('in the sandbox, main process', 'piped', 'cpu'),
    toBare('in the sandbox, main process', 'cpu'),
    micros('in the sandbox, wall', 'piped', 'wall'),
    toNative('in the sandbox, wall', 'piped', 'wall'),
    toBare('in the sandbox, wall', 'wall'),
    micros('in the sandbox, one at a time, wall', 'single', 'wall'),
  ];
}

const figures = args.question === 'memory' ? await memory() : await cost();
process.send?.(figures.map((figure) => ({ ...figure, name: `P=${patchCount} N=${addresses} ${figure.name}` })));
process.disconnect?.();
