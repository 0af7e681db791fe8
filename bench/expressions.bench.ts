// What does a patch cost? One and ten patches over 3, 100 and 1,000 addresses: natively, through a bare isolate, through
// the sandbox process, and remembered; then how long things take to start, and how large the process is. Ratios are formed
// within a round, so that a busy machine slows both sides. `node bench/expressions.bench.ts [--rounds N] [--gate]`
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import ivm from 'isolated-vm';
import { systemClock } from '../src/clock.ts';
import { ChildSandbox } from '../src/expression/child-sandbox.ts';
import { compileExpression } from '../src/expression/compile.ts';
import { createEvaluator, type Evaluator, type Shortcuts } from '../src/expression/evaluator.ts';
import type { SandboxSetup } from '../src/expression/harness.ts';
import type { MemoOptions } from '../src/expression/memo.ts';
import type { JsonMap } from '../src/expression/path.ts';
import { residentMbOf } from '../src/expression/resident-memory.ts';
import { type Rewrite, rewriteOf } from '../src/expression/rewrite.ts';
import type { Sandbox } from '../src/expression/sandbox.ts';
import type { Shortcut } from '../src/expression/shortcut.ts';
import { withShortcuts } from '../src/expression/with-shortcuts.ts';
import { silentLog } from '../src/log.ts';
import { endpoints, groupsOf, matchesOf, natives, type Patch, patches, write } from './expression-workload.ts';
import { expressionGateLimits, gateFigures } from './gate.ts';
import { Report } from './report.ts';
import { median, round } from './statistics.ts';

const { values: args } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, gate: { type: 'boolean', default: false } },
});
const rounds = Number(args.rounds);
const load = () => Number(loadavg()[0]);
const report = new Report('expressions', load());
const vcluster = { name: 'vcluster', namespace: 'vcluster-ns', config: {} };
const sizes = [3, 100, 1_000];
/** Objects of one measurement, so that each takes some 50 ms or more. */
const objectsOf = (addresses: number) => (addresses >= 1_000 ? 64 : addresses >= 100 ? 320 : 2_000);
const inFlight = 16;

/** Micros per object: processor time of this process, and time on the wall. */
interface Cost {
  cpu: number;
  wall: number;
}

type Pass = (objects: readonly JsonMap[]) => Promise<void>;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
// Isolates would offer it too, and a realm with a global that it cannot take away does not start.
setFlagsFromString('--no-expose-gc');

async function measured(pass: Pass, objects: readonly JsonMap[]): Promise<Cost> {
  // Twice, so that the objects themselves are old and none of the passes pays for moving them.
  collectGarbage();
  collectGarbage();
  const [cpuBefore, wallBefore] = [process.cpuUsage(), performance.now()];
  await pass(objects);
  const wall = performance.now() - wallBefore;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { cpu: (user + system) / objects.length, wall: (wall * 1_000) / objects.length };
}

function nativePass(list: readonly Patch[]): Pass {
  const functions = natives(list);
  return async (objects) => {
    for (const object of objects) {
      const matches = matchesOf(object, list);
      const context = { vcluster, hostObject: null, virtualObject: object, path: '' };
      const results = matches.map(({ values }, at) => {
        const run = functions[at] as (typeof functions)[0];
        return { results: values.map((value) => run(value, true, context)) };
      });
      write(matches, results);
    }
  };
}

/** isolated-vm as it comes: no hardening, no limits but a time limit, one call per object. */
function barePass(list: readonly Patch[]): { pass: Pass; close: () => void } {
  const isolate = new ivm.Isolate({ memoryLimit: 64 });
  const context = isolate.createContextSync();
  const functions = list.map(({ expression }) => `(value, valueExists, context) => (${expression.source})`);
  const code = `((text) => { const [groups, virtualObject] = JSON.parse(text);
    const context = { vcluster: ${JSON.stringify(vcluster)}, hostObject: null, virtualObject, path: '' };
    return [JSON.stringify(groups.map((values, at) => values.map((v) => functions[at](v, true, context))))]; })`;
  const script = isolate.compileScriptSync(`const functions = [${functions.join(',')}]; ${code}`);
  const run = script.runSync(context, { reference: true });
  const pass: Pass = async (objects) => {
    for (const object of objects) {
      const matches = matchesOf(object, list);
      const { name } = object['metadata'] as { name: string };
      const request = JSON.stringify([matches.map(({ values }) => values), { metadata: { name } }]);
      const [answer] = run.applySync(undefined, [request], { timeout: 500, result: { copy: true } }) as [string];
      write(
        matches,
        (JSON.parse(answer) as unknown[][]).map((results) => ({ results })),
      );
    }
  };
  return { pass, close: () => isolate.dispose() };
}

function evaluatorPass(evaluator: Evaluator, list: readonly Patch[], atOnce: number): Pass {
  return async (objects) => {
    let next = 0;
    const caller = async () => {
      while (next < objects.length) {
        const object = objects[next++] as JsonMap;
        const matches = matchesOf(object, list);
        const request = { hostObject: null, virtualObject: object, groups: groupsOf(matches, list) };
        // As those who run patches do: what is known at once is not waited for.
        const told = evaluator.evaluate(request);
        write(matches, Array.isArray(told) ? told : await told);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, caller));
  };
}

/** As the daemon has it: what is answered without a request is answered where it stands, object by object, where all fits. */
function daemonPass(evaluator: Evaluator, list: readonly Patch[], atOnce: number): Pass {
  const shortcuts = evaluator.shortcuts as Shortcuts;
  const long = evaluatorPass(evaluator, list, atOnce);
  const simple = list.map(({ path, expression }) => {
    const shortcut = shortcuts.of(expression) as Shortcut;
    const rewrite = rewriteOf(path, { shortcut, createMissing: false }) as Rewrite;
    return { rewrite, parts: shortcut.steps };
  });
  const partsAtLeast = simple.reduce((sum, { parts }) => sum + parts, 0);
  const tally = { values: 0, changes: 0 };
  const inPlace = (object: JsonMap): void => {
    const sight = shortcuts.sightOf({ hostObject: null, virtualObject: object });
    let [ran, values] = [0, 0];
    for (const { rewrite, parts } of simple) {
      tally.values = 0;
      if (!rewrite.run(object, sight, tally)) throw new Error('wanted what is answered at once');
      ran += parts * tally.values;
      values += tally.values;
    }
    shortcuts.ran(ran, values);
  };
  return async (objects) => {
    const [first] = objects;
    if (first === undefined || simple.some(({ rewrite }) => rewrite.places(first) === undefined)) return long(objects);
    for (const object of objects) {
      if (shortcuts.hasRoomFor(partsAtLeast)) inPlace(object);
      else await long([object]);
    }
  };
}

interface Opened {
  evaluator: Evaluator;
  memo: MemoOptions;
  child: () => ChildSandbox;
}

async function open(list: readonly Patch[], { entries }: { entries?: number } = {}): Promise<Opened> {
  let child: ChildSandbox | undefined;
  const memo = entries === undefined ? {} : { entries, chars: 1_000_000_000 };
  const evaluator = createEvaluator({
    expressions: list.map(({ expression }) => expression),
    vcluster,
    clock: systemClock,
    memo,
    openSandbox: (setup) => {
      child = new ChildSandbox({ setup, clock: systemClock, log: silentLog, nodePath: process.execPath });
      return child;
    },
  });
  await evaluator.start();
  return { evaluator, memo, child: () => child as ChildSandbox };
}

/** Every pass of every round gets objects of its own: results are written into them, and none may be remembered. */
function fresh(addresses: number, run: number, count = objectsOf(addresses)): JsonMap[] {
  return Array.from({ length: count }, (_, at) => endpoints(addresses, run * 10_000 + at));
}

async function compare(patchCount: number, addresses: number): Promise<void> {
  const list = patches(patchCount);
  const cold = await open(list);
  // Two rounds fit in: all that went before would be garbage for the collector and nobody's to remember.
  const warm = await open(list, { entries: 4 * objectsOf(addresses) * (3 * addresses + 10) });
  const bare = barePass(list);
  // As the daemon has it: the simplest expressions are answered in front of the sandbox and its memory.
  const asDaemon = ({ evaluator, memo }: Opened): Evaluator =>
    withShortcuts(evaluator, { expressions: list.map(({ expression }) => expression), vcluster, memo });
  const again = asDaemon(warm);
  const passes = new Map<string, Pass>([
    ['native', nativePass(list)],
    ['bare', bare.pass],
    ['piped', evaluatorPass(cold.evaluator, list, inFlight)],
    ['single', evaluatorPass(cold.evaluator, list, 1)],
    ['daemon', daemonPass(asDaemon(cold), list, inFlight)],
    ['memo', evaluatorPass(warm.evaluator, list, 1)],
    ['again', daemonPass(again, list, 1)],
  ]);
  const costs = new Map<string, Cost[]>([...passes.keys()].map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const [at, [name, pass]] of [...passes].entries()) {
      const count = name === 'single' ? Math.ceil(objectsOf(addresses) / 4) : objectsOf(addresses);
      const run = round * passes.size + at;
      const before = name === 'memo' ? warm.evaluator : name === 'again' ? again : undefined;
      if (before !== undefined) await evaluatorPass(before, list, inFlight)(fresh(addresses, run));
      const cost = await measured(pass, fresh(addresses, run, count));
      // The first round warms everything up.
      if (round > 0) costs.get(name)?.push(cost);
    }
  }
  bare.close();
  const mb = residentMbOf(cold.child().pid ?? 0);
  await Promise.all([cold.evaluator.stop(), warm.evaluator.stop()]);
  tell(`P=${patchCount} N=${addresses}`, { costs, mb, goals: patchCount === 10 ? goals.get(addresses) : undefined });
}

/** Ten patches, and what the same functions took natively on the machine where the goals were set. */
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

interface Findings {
  costs: Map<string, Cost[]>;
  mb: number | undefined;
  goals: Goal | undefined;
}

function tell(name: string, { costs, mb, goals: goal }: Findings): void {
  const of = (pass: string, side: keyof Cost) => (costs.get(pass) ?? []).map((cost) => cost[side]);
  const ratio = (pass: string, side: keyof Cost, to: string) => {
    const base = of(to, side);
    return median(of(pass, side).map((value, at) => value / (base[at] as number)));
  };
  const unit = 'us';
  report.add({ name: `${name} native`, value: median(of('native', 'cpu')), unit });
  report.add({
    name: `${name} bare isolate, in process`,
    value: median(of('bare', 'cpu')),
    unit,
    note: `${ratio('bare', 'cpu', 'native').toFixed(1)} x native`,
  });
  const wanted = (value: number | undefined) => (value === undefined ? {} : { wanted: { atMost: value } });
  const note = `${ratio('piped', 'cpu', 'native').toFixed(1)} x native, ${ratio('piped', 'cpu', 'bare').toFixed(2)} x bare`;
  report.add({
    name: `${name} sandbox, main process`,
    value: median(of('piped', 'cpu')),
    unit,
    note,
    ...wanted(goal?.cpu),
  });
  if (goal !== undefined) {
    // A machine that is slower is slower with both: what a goal means here is its ratio.
    const asMuch = (side: keyof Cost) => ({ unit: '', wanted: { atMost: round(goal[side] / goal.native, 1) } });
    const [cpuRatio, wallRatio] = [ratio('piped', 'cpu', 'native'), ratio('piped', 'wall', 'native')];
    report.add({ name: `${name} main process / native`, value: cpuRatio, ...asMuch('cpu') });
    report.add({ name: `${name} wall, pipelined / native`, value: wallRatio, ...asMuch('wall') });
  }
  report.add({ name: `${name} main process / bare isolate`, value: ratio('piped', 'cpu', 'bare'), unit: '' });
  report.add({ name: `${name} wall, pipelined / bare isolate`, value: ratio('piped', 'wall', 'bare'), unit: '' });
  const wallNote = `${ratio('piped', 'wall', 'bare').toFixed(2)} x bare`;
  report.add({
    name: `${name} sandbox, wall, pipelined`,
    value: median(of('piped', 'wall')),
    unit,
    note: wallNote,
    ...wanted(goal?.wall),
  });
  report.add({ name: `${name} sandbox, wall, one at a time`, value: median(of('single', 'wall')), unit });
  for (const side of ['cpu', 'wall'] as const) {
    const value = ratio('daemon', side, 'native');
    report.add({
      name: `${name} with shortcuts, ${side === 'cpu' ? 'main process' : 'wall'} / native`,
      value,
      unit: '',
    });
  }
  report.add({
    name: `${name} memory alone, share of native speed`,
    value: 1 / ratio('memo', 'cpu', 'native'),
    unit: '',
  });
  const share = 1 / ratio('again', 'cpu', 'native');
  report.add({ name: `${name} asked again, share of native speed`, value: share, unit: '', wanted: { atLeast: 0.85 } });
  if (mb !== undefined) report.add({ name: `${name} sandbox process`, value: mb, unit: 'MB', wanted: { atMost: 90 } });
}

/** A hundred expressions from their text to their first results, in a sandbox process that runs. */
async function coldStart(): Promise<void> {
  let child: ChildSandbox | undefined;
  const openSandbox = (setup: SandboxSetup): Sandbox => {
    child ??= new ChildSandbox({ setup, clock: systemClock, log: silentLog, nodePath: process.execPath });
    const running = child;
    return {
      start: () => running.reload(setup),
      stop: async () => {},
      run: (text, options) => running.run(text, options),
    };
  };
  const times: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const sources = Array.from(
      { length: 100 },
      (_, at) => `value.startsWith("p${at}-${round}") ? value.slice(${at}) : "x" + value`,
    );
    const before = performance.now();
    const expressions = sources.map((source) => {
      const compiled = compileExpression(source);
      if (compiled.kind === 'faults') throw new Error(source);
      return compiled.expression;
    });
    const evaluator = createEvaluator({ expressions, vcluster, clock: systemClock, openSandbox });
    await evaluator.start();
    const groups = expressions.map((expression) => ({ expression, values: ['v'] }));
    await evaluator.evaluate({ hostObject: null, virtualObject: null, groups });
    // The first round starts the process.
    if (round > 0) times.push(performance.now() - before);
  }
  await child?.stop();
  report.add({ name: 'cold start of 100 expressions', value: median(times), unit: 'ms', wanted: { atMost: 15 } });
}

async function respawn(): Promise<void> {
  const list = patches(10);
  const { evaluator, child } = await open(list);
  const pass = evaluatorPass(evaluator, list, 1);
  const times: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    await pass(fresh(3, 2 * round, 1));
    const before = performance.now();
    process.kill(child().pid as number, 'SIGKILL');
    await pass(fresh(3, 2 * round + 1, 1));
    if (round > 0) times.push(performance.now() - before);
  }
  await evaluator.stop();
  report.add({ name: 'killed to next result', value: median(times), unit: 'ms', wanted: { atMost: 120 } });
}

if (args.gate) {
  await compare(10, 100);
} else {
  await coldStart();
  await respawn();
  for (const patchCount of [1, 10]) {
    for (const addresses of sizes) await compare(patchCount, addresses);
  }
}
report.details['inFlight'] = inFlight;
process.stdout.write(`${JSON.stringify(report.figures)}\n${report.save(load())}\n`);
for (const { name } of args.gate ? gateFigures(report, expressionGateLimits) : []) {
  process.stdout.write(`gate tripped: ${name}\n`);
  process.exitCode = 1;
}
