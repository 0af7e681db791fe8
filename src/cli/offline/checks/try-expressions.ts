// Runs every expression on samples, for `check`. In: a configuration. Out: warnings. An endless expression would fail every
// object, and a reverse expression that does not undo its expression would change tenants' objects after an edit on the host.
import { type Fault, warning } from '../../../config/fault.ts';
import { mappingsOf } from '../../../config/settings/host-namespaces.ts';
import type { Settings } from '../../../config/settings/settings.ts';
import type { SettingsPath } from '../../../config/yaml/settings-path.ts';
import { patchListPath, positionedWarning, slicePatchListPath } from '../../../daemon/options/load-patches.ts';
import { anySliceKind, rulesOf } from '../../../daemon/options/rules-of.ts';
import { createEvaluator } from '../../../expression/evaluate/evaluator.ts';
import { endpointsKind } from '../../../sync/kinds/endpoints/endpoints-kind.ts';
import { type CutExample, findCuts } from '../../../sync/patch/lint/cut-values.ts';
import { type Endless, findEndless } from '../../../sync/patch/lint/endless.ts';
import type { PatchWarning } from '../../../sync/patch/lint/lint-patches.ts';
import { findRenamedKeys, type RenamedKey } from '../../../sync/patch/lint/renamed-keys.ts';
import { type CounterExample, findCounterExamples } from '../../../sync/patch/lint/round-trip.ts';
import {
  type AlwaysThrows,
  findWrongResults,
  type InvalidResult,
  type RefusedAddress,
  type WrongResult,
} from '../../../sync/patch/lint/wrong-results.ts';
import { sandboxFunctions } from '../../../sync/patch/run/open-patcher.ts';
import type { LoadedAll } from '../../line/load-settings.ts';
import { type OfflineMeans, sandboxOpener, startSandbox } from '../offline-patches.ts';

/** `settings` may be those of a configuration with faults elsewhere, so that one run reports all. */
export async function tryExpressions(
  means: OfflineMeans & {
    allowedMs?: number;
    /** Hears of the patches that took a sample to the host and back. */
    wentBoth?: (list: string, patch: number) => void;
  },
  configuration: LoadedAll,
  settings: Settings,
): Promise<Fault[]> {
  const { clock, allowedMs = patience, wentBoth } = means;
  const { compiled } = configuration;
  const { virtualClusterName, hostNamespace, vcluster } = settings;
  const evaluator = createEvaluator({
    expressions: [...compiled.set.expressions, ...compiled.slices.set.expressions],
    vcluster: { name: virtualClusterName, namespace: hostNamespace, config: vcluster },
    functions: sandboxFunctions(settings, mappingsOf(settings)),
    openSandbox: sandboxOpener(means),
    clock,
  });
  try {
    await startSandbox(() => evaluator.start());
    const began = clock.now();
    const isTimeUp = () => clock.now() - began > allowedMs;
    const placed: Fault[] = [];
    for (const { kind, set, path } of [
      { kind: endpointsKind, set: compiled.set, path: patchListPath },
      { kind: anySliceKind, set: compiled.slices.set, path: slicePatchListPath },
    ]) {
      const trial = { evaluator, kind, isTimeUp };
      const endless = await findEndless(set.patches, trial);
      // Leaves out the endless expressions, which would cost their time once more.
      const others = set.patches.filter((patch) => endless.every((found) => found.patch !== patch));
      const examples = await findCounterExamples(others, trial, ({ back }) => wentBoth?.(path.join('.'), back.index));
      const cuts = await findCuts(others, trial);
      const renamed = await findRenamedKeys(others, trial);
      const ofPairs = [...examples.map(warningOf), ...cuts.map(warningOfCut), ...renamed.map(warningOfRenamed)];
      placed.push(
        ...[...endless.map(warningOfEndless), ...ofPairs].map((found) => positionedWarning(found, configuration, path)),
      );
      const { translation, policy } = rulesOf(settings, undefined, kind);
      const { allow: allowed } = settings.addressPolicy;
      const wrong = await findWrongResults(others, { ...trial, translation, policy, allowed });
      placed.push(...wrong.map((found) => wrongFault(found, configuration, path)));
    }
    return isTimeUp() ? [...placed, notAllTried(allowedMs)] : placed;
  } finally {
    await evaluator.stop();
  }
}

/** Enough for some twenty endless expressions. A user interrupts a check that takes longer. */
const patience = 20_000;

function notAllTried(allowedMs: number): Fault {
  return warning({
    code: 'PATCH_NOT_TRIED',
    sentence: `some expressions were not tried, because trying them took more than ${allowedMs / 1_000} seconds`,
    fix: 'mend the expressions that run out of their time, then check again',
  });
}

const limitWords: Record<Endless['limit'], string> = {
  timeout: 'runs out of its time',
  memory: 'runs out of its memory',
  size: 'returns a result that is too large',
};

function warningOfEndless({ patch, field, limit, value }: Endless): PatchWarning {
  return {
    index: patch.index,
    field,
    line: 1,
    column: 1,
    rule: 'endless',
    sentence: `the expression ${limitWords[limit]} on every sample, ${short(value)} among them`,
    fix: 'limit its loops and the size of its result; every object that it runs on fails',
  };
}

function wrongFault(found: WrongResult, configuration: LoadedAll, list: SettingsPath): Fault {
  switch (found.kind) {
    case 'invalid':
      return invalidFault(found, configuration, list);
    case 'throws':
      return positionedWarning(warningOfThrowing(found), configuration, list);
    case 'refused':
      return positionedWarning(warningOfRefused(found), configuration, list);
    default:
      return found satisfies never;
  }
}

function warningOfThrowing({ patch, field, value, message }: AlwaysThrows): PatchWarning {
  return {
    index: patch.index,
    field,
    line: 1,
    column: 1,
    rule: 'always-fails',
    sentence: `the expression fails on every sample that it was tried on; for ${short(value)}: ${message.replace(/^patch \d+ failed at [^:]*: /, '')}`,
    fix: 'mend it, or try it on a value of yours with `hostward eval`; an object with a value on which it fails is not written',
  };
}

function warningOfRefused({ patch, field, value, address, rule }: RefusedAddress): PatchWarning {
  return {
    index: patch.index,
    field,
    line: 1,
    column: 1,
    rule: 'refused-address',
    sentence: `the expression makes an address that the address policy refuses, on every sample: ${short(value)} becomes ${short(address)} (${rule})`,
    fix: 'return an address that hostward.addressPolicy lets through; an object with a refused address is not written',
  };
}

/** A fault, because the daemon would write no object that the patch is for. */
function invalidFault(
  { patch, field, message, isCertain }: InvalidResult,
  configuration: LoadedAll,
  list: SettingsPath,
): Fault {
  const sentence =
    field === 'expression'
      ? `${message}, on every sample; an object with such a result is not written`
      : `${message}, and this one never does; no edit on the host would reach the tenant`;
  const fix = 'let the expression return what the field may hold';
  const found = { index: patch.index, field, line: 1, column: 1, rule: 'invalid-result', sentence, fix };
  const placed = positionedWarning(found, configuration, list);
  return isCertain ? { ...placed, severity: 'fault' } : placed;
}

function warningOf({ back, value, onHost, returned }: CounterExample): PatchWarning {
  const end =
    returned === undefined
      ? 'fails on the way back, as do all other samples'
      : `comes back as ${returned === null ? 'nothing' : short(returned)}`;
  return {
    index: back.index,
    field: 'reverseExpression',
    line: 1,
    column: 1,
    rule: 'round-trip',
    sentence: `the reverse expression does not undo the expression: ${short(value)} is ${short(onHost)} on the host and ${end}`,
    fix: 'change one of them until the way back restores every value',
  };
}

function warningOfCut({ back, onHost, returned, mended }: CutExample): PatchWarning {
  const isLost = returned === null || returned === '';
  const end = returned === null ? "the tenant's value is removed" : `the tenant gets ${short(returned)}`;
  return {
    index: back.index,
    field: 'reverseExpression',
    line: 1,
    column: 1,
    rule: 'reverse-cuts',
    sentence: `the reverse expression ${isLost ? 'empties' : 'cuts'} a value that the expression cannot have made: when somebody writes ${short(onHost)} on the host, ${end}`,
    fix: `let it throw for such a value, so that the tenant keeps its own${mended === undefined ? '' : `: ${mended}`}`,
  };
}

function warningOfRenamed({ back, map, key, onHost }: RenamedKey): PatchWarning {
  return {
    index: back.index,
    field: 'reverseExpression',
    line: 1,
    column: 1,
    rule: 'renamed-keys',
    sentence: `the expression calls ${short(key)} of metadata.${map} ${short(onHost)} on the host, and a host edit of a key with another name never comes back (BackflowFailed)`,
    fix: `leave out the reverse expression, or write an entry that keeps the name for each key that should come back, such as metadata.${map}["${key}"]`,
  };
}

const shownCharacters = 60;

function short(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters)}…`;
}
