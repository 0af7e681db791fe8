// `check` tries every pair of expressions on samples, in the sandbox process: a reverse expression that does not undo its
// expression changes the tenant's object at the first edit on the host.
import type { Fault } from '../config/fault.ts';
import { mappingsOf } from '../config/host-namespaces.ts';
import { createEvaluator } from '../expression/evaluator.ts';
import { sandboxFunctions } from '../sync/patch/open-patcher.ts';
import { type CounterExample, findCounterExamples } from '../sync/patch/round-trip.ts';
import type { Context } from './context.ts';
import { placedWarning } from './load-patches.ts';
import type { GoodConfiguration } from './load-settings.ts';
import { sandboxOpener, startSandbox } from './offline-patches.ts';

export async function tryPairs(context: Context, configuration: GoodConfiguration): Promise<Fault[]> {
  const { settings, compiled } = configuration;
  const { patches } = compiled.set;
  const { virtualClusterName, hostNamespace, vcluster } = settings;
  const evaluator = createEvaluator({
    expressions: compiled.set.expressions,
    vcluster: { name: virtualClusterName, namespace: hostNamespace, config: vcluster },
    functions: sandboxFunctions(settings, mappingsOf(settings)),
    openSandbox: sandboxOpener(context),
    clock: context.clock,
  });
  try {
    await startSandbox(() => evaluator.start());
    const found = await findCounterExamples(patches, evaluator);
    return found.map((example) => placedWarning(warningOf(example), configuration));
  } finally {
    await evaluator.stop();
  }
}

function warningOf({ back, value, onHost, returned }: CounterExample): Parameters<typeof placedWarning>[0] {
  const end =
    returned === undefined
      ? 'fails on the way back, as every other sample does'
      : `comes back as ${returned === null ? 'nothing' : short(returned)}`;
  return {
    index: back.index,
    field: 'reverseExpression',
    line: 1,
    column: 1,
    rule: 'round-trip',
    found: `${short(value)}, which is ${short(onHost)} on the host and ${end}`,
    wanted: 'a reverse expression that undoes the expression',
    fix: 'make each undo exactly what the other does',
  };
}

const shownCharacters = 60;

function short(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters)}…`;
}
