// Builds a running patcher from settings: puts the sandbox's functions and context together, and starts and stops the
// evaluator. The caller says where expressions run: the daemon takes a child process, a short command may take its own process.
import type { Clock } from '../../../clock.ts';
import type { CompiledMappings } from '../../../config/settings/namespace-mappings.ts';
import type { Settings } from '../../../config/settings/settings.ts';
import { createEvaluator } from '../../../expression/evaluate/evaluator.ts';
import type { ExpressionMetrics, Quarantined } from '../../../expression/evaluate/expression-metrics.ts';
import type { SandboxSetup } from '../../../expression/realm/harness.ts';
import type { Sandbox } from '../../../expression/sandbox/sandbox.ts';
import type { Metrics } from '../../../metrics.ts';
import { type Naming, ReferenceNames, type ReferenceResolver } from '../../references/reference-names.ts';
import { hostDnsSource } from '../entry/host-dns.ts';
import type { PatcherOptions, Trace } from '../entry/pass.ts';
import { digestsOf } from '../set/patch-digests.ts';
import { createPatchCounts, type PatchCounts } from '../set/patch-metrics.ts';
import type { PatchSet } from '../set/patch-set.ts';
import { Patcher } from './patcher.ts';

export interface OpenPatcherOptions {
  settings: Pick<Settings, 'virtualClusterName' | 'hostNamespace' | 'vcluster'> & Partial<Pick<Settings, 'references'>>;
  /** Without a resolver, names are translated by rule alone, without a check that the named object exists. */
  references?: ReferenceResolver;
  set: PatchSet;
  /** Patches of another kind, which share the sandbox, the memory of answers and the names of references. */
  others?: { set: PatchSet; sourceOf: PatcherOptions['sourceOf']; list: string };
  mappings: CompiledMappings | undefined;
  openSandbox: (setup: SandboxSetup) => Sandbox;
  clock: Clock;
  metrics?: Metrics;
  expressionMetrics?: ExpressionMetrics;
  sourceOf?: PatcherOptions['sourceOf'];
  trace?: Trace;
  isOneByOne?: boolean;
  /** As in EvaluatorOptions. */
  traces?: boolean;
}

export interface OpenedPatcher {
  patcher: Patcher;
  counts: PatchCounts;
  /** For `others`; undefined without patches of the other kind. */
  others: { patcher: Patcher; counts: PatchCounts } | undefined;
  /** Expressions and values that are set aside for a while. */
  quarantined(): Quarantined;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export function openPatcher(options: OpenPatcherOptions): OpenedPatcher {
  const { settings, set, others, mappings, clock } = options;
  const vcluster = { name: settings.virtualClusterName, namespace: settings.hostNamespace, config: settings.vcluster };
  const evaluator = createEvaluator({
    expressions: [...set.expressions, ...(others?.set.expressions ?? [])],
    vcluster,
    functions: sandboxFunctions(settings, mappings),
    openSandbox: options.openSandbox,
    clock,
    traces: options.traces ?? false,
    ...(options.expressionMetrics && { metrics: options.expressionMetrics }),
  });
  const naming = (): Naming => settings.references?.naming ?? 'generated';
  const shared = {
    evaluator,
    references: options.references ?? new ReferenceNames({ naming }),
    ...(options.trace && { trace: options.trace }),
    ...(options.isOneByOne && { isOneByOne: true }),
  };
  const countsOf = ({ patches }: PatchSet, list?: string): PatchCounts =>
    createPatchCounts(
      options.metrics,
      patches.map((patch) => patch.index),
      list,
    );
  const counts = countsOf(set);
  const patcher = new Patcher({
    ...shared,
    set,
    digests: digestsOf(set, vcluster),
    counts,
    sourceOf: options.sourceOf ?? (() => undefined),
  });
  const openOthers = (): OpenedPatcher['others'] => {
    if (others === undefined || others.set.patches.length === 0) return undefined;
    const { sourceOf, list } = others;
    const theirs = countsOf(others.set, list);
    const digests = digestsOf(others.set, vcluster);
    return {
      patcher: new Patcher({ ...shared, set: others.set, digests, counts: theirs, sourceOf }),
      counts: theirs,
    };
  };
  return {
    patcher,
    counts,
    others: openOthers(),
    quarantined: () => evaluator.quarantined,
    start: () => evaluator.start(),
    stop: () => evaluator.stop(),
  };
}

/** Functions that expressions can call in addition to the language's own: source text by name. */
export function sandboxFunctions(
  { virtualClusterName, hostNamespace }: Pick<Settings, 'virtualClusterName' | 'hostNamespace'>,
  mappings: CompiledMappings | undefined,
): Record<string, string> {
  const virtualToHostDNS = hostDnsSource({
    virtualCluster: virtualClusterName,
    hostNamespace,
    mapping: mappings && { pairs: mappings.pairs, mappingsOnly: mappings.mappingsOnly },
  });
  return { virtualToHostDNS };
}
