// `check` tries every expression on samples, in the sandbox process: one that comes to no end fails every object, and a reverse
// expression that does not undo its expression changes the tenant's object at the first edit on the host.
import { type Fault, warning } from '../../config/fault.ts';
import { mappingsOf } from '../../config/settings/host-namespaces.ts';
import { placedWarning } from '../../daemon/load-patches.ts';
import { createEvaluator } from '../../expression/evaluate/evaluator.ts';
import { endpointsKind } from '../../sync/endpoints/endpoints-kind.ts';
import { type Endless, findEndless } from '../../sync/patch/lint/endless.ts';
import type { PatchWarning } from '../../sync/patch/lint/lint-patches.ts';
import { type CounterExample, findCounterExamples } from '../../sync/patch/lint/round-trip.ts';
import { sandboxFunctions } from '../../sync/patch/run/open-patcher.ts';
import type { Context } from '../line/context.ts';
import type { GoodConfiguration } from '../line/load-settings.ts';
import { sandboxOpener, startSandbox } from './offline-patches.ts';

export async function tryExpressions(context: Context, configuration: GoodConfiguration): Promise<Fault[]> {
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
    const began = context.clock.now();
    const isTimeUp = () => context.clock.now() - began > allowedMs;
    const trial = { evaluator, kind: endpointsKind, isTimeUp };
    const endless = await findEndless(patches, trial);
    // They would only be waited for once more.
    const others = patches.filter((patch) => endless.every((found) => found.patch !== patch));
    const examples = await findCounterExamples(others, trial);
    const warnings = [...endless.map(warningOfEndless), ...examples.map(warningOf)];
    const placed = warnings.map((found) => placedWarning(found, configuration));
    return isTimeUp() ? [...placed, notAllTried] : placed;
  } finally {
    await evaluator.stop();
  }
}

/** Some twenty expressions without an end; a check that takes longer is interrupted before it has said anything. */
const allowedMs = 20_000;

const notAllTried = warning({
  code: 'PATCH_NOT_TRIED',
  sentence: `trying the expressions took more than ${allowedMs / 1_000} seconds, so that some of them were not tried`,
  fix: 'mend those that come to no result, then check again',
});

const limitWords: Record<Endless['limit'], string> = {
  timeout: 'runs out of its time',
  memory: 'runs out of its memory',
  size: 'makes more than a result may hold',
};

function warningOfEndless({ patch, field, limit, value }: Endless): PatchWarning {
  return {
    index: patch.index,
    field,
    line: 1,
    column: 1,
    rule: 'endless',
    sentence: `the expression ${limitWords[limit]} on every sample, ${short(value)} among them`,
    fix: 'bound its loops and what it makes; objects that it is asked about fail',
  };
}

function warningOf({ back, value, onHost, returned }: CounterExample): PatchWarning {
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
    sentence: `the reverse expression does not undo the expression: ${short(value)} is ${short(onHost)} on the host and ${end}`,
    fix: 'make each undo exactly what the other does',
  };
}

const shownCharacters = 60;

function short(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters)}…`;
}
