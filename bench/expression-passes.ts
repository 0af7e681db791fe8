// The three ways to run patches that bench/expressions.bench.ts compares: natively, through a bare isolate, and through the
// daemon's evaluator.
import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import ivm from 'isolated-vm';
import { systemClock } from '../src/clock.ts';
import { createEvaluator, type Evaluator } from '../src/expression/evaluate/evaluator.ts';
import type { JsonMap } from '../src/expression/path/path.ts';
import { ChildSandbox } from '../src/expression/sandbox/child-sandbox.ts';
import { silentLog } from '../src/log.ts';
import { groupsOf, matchesOf, natives, type Patch, write } from './expression-workload.ts';

export const vcluster = { name: 'vcluster', namespace: 'vcluster-ns', config: {} };

/** Microseconds for each object: CPU time of this process, and wall time. */
export interface Cost {
  cpu: number;
  wall: number;
}

export type Pass = (objects: readonly JsonMap[]) => Promise<void>;

/** The collector works on in other threads after its call has returned, and this work counts as CPU time of this process. */
const sweepMs = 100;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as (options?: { type: 'minor' }) => void;
// Takes the flag back, because isolates would offer gc too, and a realm with an unexpected global does not start.
setFlagsFromString('--no-expose-gc');

export async function measured(pass: Pass, objects: readonly JsonMap[]): Promise<Cost> {
  // Collects twice, so that the objects are in the old generation and no pass pays for moving them.
  collectGarbage();
  collectGarbage();
  await setTimeout(sweepMs);
  const [cpuBefore, wallBefore] = [process.cpuUsage(), performance.now()];
  await pass(objects);
  // Without this, chance would decide which pass pays for the garbage.
  collectGarbage({ type: 'minor' });
  const wall = performance.now() - wallBefore;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { cpu: (user + system) / objects.length, wall: (wall * 1_000) / objects.length };
}

export function nativePass(list: readonly Patch[]): Pass {
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

/** Plain isolated-vm: no hardening, only a time limit, one call for each object. */
export function barePass(list: readonly Patch[]): { pass: Pass; close: () => void } {
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

export function evaluatorPass(evaluator: Evaluator, list: readonly Patch[], atOnce: number): Pass {
  return async (objects) => {
    let next = 0;
    const caller = async () => {
      while (next < objects.length) {
        const object = objects[next++] as JsonMap;
        const matches = matchesOf(object, list);
        const request = { hostObject: null, virtualObject: object, groups: groupsOf(matches, list) };
        // Does not await a remembered answer, as the daemon does.
        const told = evaluator.evaluate(request);
        write(matches, Array.isArray(told) ? told : await told);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, caller));
  };
}

export interface Opened {
  evaluator: Evaluator;
  child: () => ChildSandbox;
}

export async function open(list: readonly Patch[], { entries }: { entries?: number } = {}): Promise<Opened> {
  let child: ChildSandbox | undefined;
  const memory = entries === undefined ? {} : { entries, chars: 1_000_000_000 };
  const evaluator = createEvaluator({
    expressions: list.map(({ expression }) => expression),
    vcluster,
    clock: systemClock,
    memory,
    openSandbox: (setup) => {
      child = new ChildSandbox({ setup, clock: systemClock, log: silentLog, nodePath: process.execPath });
      return child;
    },
  });
  await evaluator.start();
  return { evaluator, child: () => child as ChildSandbox };
}
