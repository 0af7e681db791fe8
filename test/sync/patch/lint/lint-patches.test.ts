import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import type { PatchEntry } from '../../../../src/config/settings/settings.ts';
import { runAtOnce } from '../../../../src/config/steps.ts';
import { createEvaluator, type Evaluator } from '../../../../src/expression/evaluate/evaluator.ts';
import { endpointsKind } from '../../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { findCuts } from '../../../../src/sync/patch/lint/cut-values.ts';
import { lintPatches } from '../../../../src/sync/patch/lint/lint-patches.ts';
import { findCounterExamples } from '../../../../src/sync/patch/lint/round-trip.ts';
import { compilePatchSet, type PatchSet } from '../../../../src/sync/patch/set/patch-set.ts';
import { annotationRules, labelRules } from '../../../../src/sync/plan/keys/key-rules.ts';
import { InProcessSandbox } from '../../../expression/in-process-sandbox.ts';
import { VirtualClock } from '../../../virtual-clock.ts';
import { entry } from '../fake-patch.ts';

const fixture = <T>(name: string): T =>
  JSON.parse(readFileSync(new URL(`../../../../fixtures/sync/${name}`, import.meta.url), 'utf8'));

function setOf(entries: readonly PatchEntry[]): PatchSet {
  const compiled = compilePatchSet(
    entries.map((one, index) => ({ index, entry: one })),
    endpointsKind,
  );
  if (compiled.kind === 'faults') throw new Error(compiled.faults.map(({ message }) => message).join('; '));
  return compiled.set;
}

interface LintCase extends PatchEntry {
  before?: string[];
  mode?: 'mapped';
  warns: string[];
  fix?: string;
}

describe('lintPatches()', () => {
  const cases = fixture<LintCase[]>('patch-lint.json');
  it.each(cases.map((one) => [`${one.path} <- ${one.expression ?? one.reverseExpression}`, one] as const))(
    '%s',
    (_, { before = [], mode, warns, fix, ...patch }) => {
      const earlier = before.map((path) => entry({ path, expression: 'value' }));
      const set = setOf([...earlier, entry(patch)]);
      const exclude = { labels: ['excluded'], annotations: [] };
      const { controllerKeyPrefixes } = endpointsKind;
      const at = { virtualCluster: 'vc', mode: mode ?? 'single' } as const;
      const keys = { ...at, backSync: 'all', exclude, controllerKeyPrefixes } as const;
      const rules = { labels: labelRules(keys), annotations: annotationRules(keys) };
      const found = runAtOnce(lintPatches(set.patches, { kind: endpointsKind, rules })).filter(
        ({ index }) => index === before.length,
      );
      expect(found.map(({ rule }) => rule)).toEqual(warns);
      if (fix !== undefined) expect(found[0]?.fix).toBe(fix);
    },
  );

  it('judges paths and expressions without any settings', () => {
    const { patches } = setOf([entry({ path: 'metadata.labels.release.x', expression: "value in ['a']" })]);
    expect(runAtOnce(lintPatches(patches, { kind: endpointsKind, rules: undefined })).map(({ rule }) => rule)).toEqual([
      'no-such-field',
      'in-array',
    ]);
  });
});

interface RoundTrip {
  path: string;
  expression: string;
  reverseExpression: string;
  value?: unknown;
  onHost?: unknown;
  returned?: unknown;
}

describe('findCounterExamples() and findCuts()', () => {
  const rows = fixture<RoundTrip[]>('round-trips.json');
  // One sandbox for all of them, each a patch set of its own.
  const sets = rows.map(({ path, expression, reverseExpression }) =>
    setOf([entry({ path, expression, reverseExpression })]),
  );
  const cuts = fixture<RoundTrip[]>('reverse-cuts.json');
  const cutSets = cuts.map(({ path, expression, reverseExpression }) =>
    setOf([entry({ path, expression, reverseExpression })]),
  );
  let evaluator: Evaluator | undefined;
  const open = async (): Promise<Evaluator> => {
    if (evaluator !== undefined) return evaluator;
    evaluator = createEvaluator({
      expressions: [...sets, ...cutSets].flatMap((set) => set.expressions),
      vcluster: { name: 'vc', namespace: 'n', config: {} },
      openSandbox: (setup) => new InProcessSandbox(setup),
      clock: new VirtualClock(),
    });
    await evaluator.start();
    return evaluator;
  };
  afterAll(() => evaluator?.stop());

  it.each(rows.map((row, at) => [row.path, row.expression, row.reverseExpression, at] as const))(
    '%s: %s and %s',
    async (_, __, ___, at) => {
      const row = rows[at] as RoundTrip;
      const [found] = await findCounterExamples(sets[at]?.patches ?? [], {
        evaluator: await open(),
        kind: endpointsKind,
        isTimeUp: () => false,
      });
      const wanted = 'value' in row ? { value: row.value, onHost: row.onHost, returned: row.returned } : undefined;
      expect(found && { value: found.value, onHost: found.onHost, returned: found.returned }).toEqual(wanted);
    },
  );

  it.each(cuts.map((row, at) => [row.path, row.expression, row.reverseExpression, at] as const))(
    'on host values that nobody has made, at %s: %s and %s',
    async (_, __, ___, at) => {
      const { onHost, returned } = cuts[at] as RoundTrip;
      const trial = { evaluator: await open(), kind: endpointsKind, isTimeUp: () => false };
      const [found] = await findCuts(cutSets[at]?.patches ?? [], trial);
      expect(found && [found.onHost, found.returned]).toEqual(onHost === undefined ? undefined : [onHost, returned]);
    },
  );

  it('takes two entries on one path for a pair, also when the path is spelled differently', async () => {
    const set = setOf([
      entry({ path: 'metadata.annotations.k', expression: '"a" + value' }),
      entry({ path: 'metadata.annotations["k"]', reverseExpression: 'value' }),
    ]);
    const on = createEvaluator({
      expressions: set.expressions,
      vcluster: { name: 'vc', namespace: 'n', config: {} },
      openSandbox: (setup) => new InProcessSandbox(setup),
      clock: new VirtualClock(),
    });
    await on.start();
    const [found] = await findCounterExamples(set.patches, {
      evaluator: on,
      kind: endpointsKind,
      isTimeUp: () => false,
    });
    expect(
      await findCounterExamples(set.patches, { evaluator: on, kind: endpointsKind, isTimeUp: () => true }),
    ).toEqual([]);
    await on.stop();
    expect([found?.forward.index, found?.back.index, found?.returned]).toEqual([0, 1, 'aweb']);
  });
});
