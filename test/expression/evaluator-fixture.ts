// Compiles expressions and runs them in an isolate of this process or in a sandbox process; stops every evaluator after its test.
import { readFileSync } from 'node:fs';
import { afterEach } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { EvaluationError } from '../../src/expression/evaluate/evaluation-error.ts';
import { createEvaluator, type Evaluator, type EvaluatorOptions } from '../../src/expression/evaluate/evaluator.ts';
import { type CompiledExpression, compileExpression } from '../../src/expression/language/compile.ts';
import type { SandboxSetup } from '../../src/expression/realm/harness.ts';
import { ChildSandbox } from '../../src/expression/sandbox/child-sandbox.ts';
import { silentLog } from '../../src/log.ts';
import { InProcessSandbox } from './in-process-sandbox.ts';

export function fixture<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../../fixtures/expression/${name}`, import.meta.url), 'utf8'));
}

export function compiled(source: string): CompiledExpression {
  const result = compileExpression(source);
  if (result.kind === 'faults') throw new Error(`${source}: ${result.faults.map(({ message }) => message).join('; ')}`);
  return result.expression;
}

/** Source of a function that translates the service names of one virtual cluster, without its special cases. */
export const virtualToHostDNS = `(tools) => (service) => {
  const [name, namespace, svc, ...domain] = String(service).split('.');
  if (svc !== 'svc') throw new TypeError('virtualToHostDNS() needs name.namespace.svc');
  const full = [name, 'x', namespace, 'x', 'vcluster'].join('-');
  const short = full.length <= 63 ? full : (full.slice(0, 52) + '-' + tools.sha256Hex(full).slice(0, 10)).replaceAll('.-', '-');
  return [short, 'vcluster-ns', 'svc', ...domain].join('.');
}`;

const vcluster = { name: 'vcluster', namespace: 'vcluster-ns', config: { a: { b: 'c' }, password: 'hunter2-hunter2' } };

const started: Evaluator[] = [];
export const children: ChildSandbox[] = [];

afterEach(async () => {
  for (const evaluator of started.splice(0)) await evaluator.stop();
  children.splice(0);
});

export function openChild(setup: SandboxSetup): ChildSandbox {
  const child = new ChildSandbox({ setup, clock: systemClock, log: silentLog, nodePath: process.execPath });
  children.push(child);
  return child;
}

export async function startEvaluator(
  options: Partial<EvaluatorOptions> & { expressions: readonly CompiledExpression[] },
) {
  const opened = createEvaluator({
    vcluster,
    functions: { virtualToHostDNS },
    openSandbox: (setup) => new InProcessSandbox(setup),
    clock: systemClock,
    ...options,
  });
  started.push(opened);
  await opened.start();
  return opened;
}

export type Outcome = { value: unknown } | { error: EvaluationError };

export interface Inputs {
  value?: unknown;
  valueExists?: boolean;
  path?: string;
  hostObject?: unknown;
  virtualObject?: unknown;
  /** Name of the object, for the quarantine. */
  subject?: string;
}

export async function evaluateOne(
  evaluator: Evaluator,
  expression: CompiledExpression,
  inputs: Inputs,
): Promise<Outcome> {
  const { value = null, valueExists = true, path = '', hostObject = null, virtualObject = null, subject } = inputs;
  const group = { expression, values: [value], paths: [path], missing: valueExists ? undefined : new Set([0]) };
  const [result] = await evaluator.evaluate({
    hostObject,
    virtualObject,
    groups: [group],
    ...(subject && { subject }),
  });
  const [failed] = result?.errors ?? [];
  return failed === undefined ? { value: result?.results[0] } : { error: failed.error };
}

/** Runs one expression in a new isolate inside the test process. */
export async function run(source: string, inputs: Inputs = {}): Promise<Outcome> {
  const expression = compiled(source);
  const evaluator = await startEvaluator({ expressions: [expression] });
  return evaluateOne(evaluator, expression, inputs);
}
