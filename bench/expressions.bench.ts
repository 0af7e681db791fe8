// What does a patch cost? Runs one and ten patches over 3, 100 and 1,000 addresses: natively, through a bare isolate, through the
// sandbox process, and with remembered answers. Also measures the start and the size of the sandbox process. Ratios are formed
// within a round, so that a busy machine slows both sides. `node bench/expressions.bench.ts [--rounds N] [--gate]`
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../src/clock.ts';
import { createEvaluator } from '../src/expression/evaluate/evaluator.ts';
import { compileExpression } from '../src/expression/language/compile.ts';
import type { SandboxSetup } from '../src/expression/realm/harness.ts';
import { ChildSandbox } from '../src/expression/sandbox/child-sandbox.ts';
import type { Sandbox } from '../src/expression/sandbox/sandbox.ts';
import { silentLog } from '../src/log.ts';
import { evaluatorPass, open, vcluster } from './expression-passes.ts';
import { endpoints, patches } from './expression-workload.ts';
import { expressionGateLimits, gateFigures } from './gate.ts';
import { daemonEnvironment, launcherFlags } from './launcher.ts';
import { type Figure, Report } from './report.ts';
import { median } from './statistics.ts';

const { values: args } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, gate: { type: 'boolean', default: false } },
});
const rounds = Number(args.rounds);
const load = () => Number(loadavg()[0]);
const report = new Report('expressions', load());

/** Time from the text of a hundred expressions to their first results, in a running sandbox process. */
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
    await pass([endpoints(3, 2 * round)]);
    const before = performance.now();
    process.kill(child().pid as number, 'SIGKILL');
    await pass([endpoints(3, 2 * round + 1)]);
    if (round > 0) times.push(performance.now() - before);
  }
  await evaluator.stop();
  report.add({ name: 'killed to next result', value: median(times), unit: 'ms', wanted: { atMost: 120 } });
}

/** Leaves out --expose-gc, because a case gets the collector in another way. */
const asDaemon = launcherFlags(join(import.meta.dirname, '..', 'src', 'launcher', 'hostward.mjs')).filter(
  (flag) => flag !== '--expose-gc',
);

type Case = { question: 'cost' | 'memory'; patches: number; addresses: number };

/** Runs a case in a process of its own, with a share of the objects. */
async function tell(each: Case, share = 1): Promise<void> {
  const given = Object.entries({ ...each, rounds, share }).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = fork(join(import.meta.dirname, 'expression-case.ts'), given, {
    execArgv: asDaemon,
    env: { ...process.env, ...daemonEnvironment },
  });
  const ended = once(child, 'exit');
  const [figures] = (await Promise.race([once(child, 'message'), ended])) as [Figure[]];
  await ended;
  if (!Array.isArray(figures)) throw new Error(`a case ended early: ${JSON.stringify(each)}`);
  for (const figure of figures) report.add(figure);
}

const questions = ['cost', 'memory'] as const;
if (args.gate) {
  for (const question of questions) await tell({ question, patches: 10, addresses: 100 }, 1 / 3);
} else {
  await coldStart();
  await respawn();
  for (const count of [1, 10]) {
    for (const addresses of [3, 100, 1_000]) {
      for (const question of questions) await tell({ question, patches: count, addresses });
    }
  }
}
process.stdout.write(`${JSON.stringify(report.figures)}\n${report.save(load())}\n`);
for (const { name } of args.gate ? gateFigures(report, expressionGateLimits) : []) {
  process.stdout.write(`gate tripped: ${name}\n`);
  process.exitCode = 1;
}
