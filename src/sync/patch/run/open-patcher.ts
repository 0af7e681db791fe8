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
  /** See EvaluatorOptions. */
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

/** What virtualToHostDNS must know of this virtual cluster. */
interface DnsNames {
  virtualCluster: string;
  hostNamespace: string;
  /** Exact pairs and `prefix*` patterns, most specific first; undefined in single-namespace mode. */
  mapping: { pairs: readonly (readonly [virtual: string, host: string])[]; mappingsOnly: boolean } | undefined;
}

/**
 * `<name>.<namespace>.svc`, with or without a cluster domain, becomes the name of the host Service. Any other text stays as it
 * is, as does the name of a Service without a place on the host: an annotation may hold any host name. The source runs inside the
 * sandbox and repeats the name rule of object/meta/names.ts there; a test holds the two together.
 */
function hostDnsSource(names: DnsNames): string {
  return `({ sha256Hex }) => {
  const names = ${JSON.stringify({ ...names, mapping: names.mapping ?? null })};
  const hashed = (text) => {
    if (text.length <= 63) return text;
    return (text.slice(0, 52) + '-' + sha256Hex(text).slice(0, 10)).split('.-').join('-');
  };
  const mapped = (namespace) => {
    for (const [virtual, host] of names.mapping.pairs) {
      if (virtual === namespace) return host;
      if (!virtual.endsWith('*') || !namespace.startsWith(virtual.slice(0, -1))) continue;
      return host.slice(0, -1) + namespace.slice(virtual.length - 1);
    }
    return undefined;
  };
  const hostOf = (name, namespace) => {
    if (name === 'kubernetes' && namespace === 'default') return [names.virtualCluster, names.hostNamespace];
    const target = names.mapping === null ? undefined : mapped(namespace);
    if (target !== undefined) return [name, target];
    if (names.mapping !== null && names.mapping.mappingsOnly) return undefined;
    return [hashed([name, 'x', namespace, 'x', names.virtualCluster].join('-')), names.hostNamespace];
  };
  return (virtualService) => {
    if (typeof virtualService !== 'string') throw new TypeError('virtualToHostDNS() needs a text; check that the value exists first');
    const [name, namespace, svc, ...domain] = virtualService.split('.');
    if (svc !== 'svc' || name === '' || namespace === '') return virtualService;
    const host = hostOf(name, namespace);
    return host === undefined ? virtualService : [host[0], host[1], 'svc', ...domain].join('.');
  };
}`;
}
