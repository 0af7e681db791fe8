// Holds the patches of the running configuration and their sandbox process. In: settings and compiled patches. Out: a patcher,
// or undefined when there are no patches; then no process runs. A new configuration gets a new sandbox process, and the old
// process ends a little later.
import type { Timer } from '../../clock.ts';
import type { CompiledMappings } from '../../config/settings/namespace-mappings.ts';
import type { Settings } from '../../config/settings/settings.ts';
import { createExpressionMetrics, type ExpressionMetrics } from '../../expression/evaluate/expression-metrics.ts';
import { ChildSandbox } from '../../expression/sandbox/child-sandbox.ts';
import { type OpenedPatcher, openPatcher } from '../../sync/patch/run/open-patcher.ts';
import type { ReferenceResolver } from '../../sync/references/reference-names.ts';
import type { DaemonOptions } from '../options/daemon-options.ts';

/** An object that is being synced may still use the old rules for this long. */
const lingerMs = 10_000;

type PatchesOptions = Pick<DaemonOptions, 'clock' | 'log' | 'nodePath' | 'metrics' | 'openSandbox'>;

export class RunningPatches {
  readonly #options: PatchesOptions;
  readonly #mappings: CompiledMappings | undefined;
  readonly #references: ReferenceResolver;
  #expressionMetrics: ExpressionMetrics | undefined;
  #opened: OpenedPatcher | undefined;
  /** Every patcher whose sandbox may run: the current one, a starting one, and old ones that linger. */
  readonly #living = new Set<OpenedPatcher>();
  readonly #lingering = new Set<Timer>();
  #isStopped = false;

  constructor(
    options: PatchesOptions,
    dependencies: { mappings: CompiledMappings | undefined; references: ReferenceResolver },
  ) {
    this.#options = options;
    this.#mappings = dependencies.mappings;
    this.#references = dependencies.references;
  }

  get current(): OpenedPatcher | undefined {
    return this.#opened;
  }

  /** One line for each trouble with expressions. The daemon stays ready, because only objects with such expressions wait. */
  get troubles(): readonly string[] {
    const { expressions, values } = this.#opened?.quarantined() ?? { expressions: 0, values: 0 };
    const restarts = this.#expressionMetrics?.restarts ?? 0;
    return [
      ...(expressions + values > 0
        ? [`expressions: set aside for a while: ${expressions} expressions, ${values} values`]
        : []),
      ...(restarts > 0 ? [`sandbox: killed or died ${restarts} times since the start`] : []),
    ];
  }

  /** For status: how often the process of expressions ended by itself, and what is set aside for a while. */
  get sandbox(): { restarts: number; expressionsSetAside: number; valuesSetAside: number } {
    const { expressions, values } = this.#opened?.quarantined() ?? { expressions: 0, values: 0 };
    const restarts = this.#expressionMetrics?.restarts ?? 0;
    return { restarts, expressionsSetAside: expressions, valuesSetAside: values };
  }

  /** Resolves once the sandbox runs, and rejects otherwise, because no object may be written unpatched. */
  async take(settings: Settings, patches: DaemonOptions['patches']): Promise<void> {
    if (this.#isStopped) return;
    const before = this.#opened;
    const hasPatches = patches !== undefined && patches.set.patches.length + patches.slices.set.patches.length > 0;
    const opened = hasPatches ? this.#open(settings, patches) : undefined;
    if (opened !== undefined) await this.#start(opened);
    this.#opened = opened;
    if (before !== undefined) this.#retire(before);
  }

  async #start(opened: OpenedPatcher): Promise<void> {
    this.#living.add(opened);
    try {
      await opened.start();
    } catch (fault) {
      // Ends the unused patcher, which would otherwise start its sandbox again and again.
      await this.#end(opened);
      throw fault;
    }
  }

  #retire(before: OpenedPatcher): void {
    const timer = this.#options.clock.after(lingerMs, () => {
      this.#lingering.delete(timer);
      void this.#end(before);
    });
    this.#lingering.add(timer);
  }

  async #end(opened: OpenedPatcher): Promise<void> {
    this.#living.delete(opened);
    await opened.stop();
  }

  #open(settings: Settings, { set, sourceOf, slices }: NonNullable<DaemonOptions['patches']>): OpenedPatcher {
    const { clock, log, nodePath = '', metrics, openSandbox } = this.#options;
    const expressionMetrics = this.#expressionMetrics ?? createExpressionMetrics(metrics);
    this.#expressionMetrics = expressionMetrics;
    expressionMetrics.quarantined(() => this.#opened?.quarantined() ?? { expressions: 0, values: 0 });
    const onStart = expressionMetrics.started;
    return openPatcher({
      settings,
      set,
      sourceOf,
      others: { ...slices, list: 'endpointSlices' },
      mappings: this.#mappings,
      references: this.#references,
      openSandbox: openSandbox ?? ((setup) => new ChildSandbox({ setup, clock, log, nodePath, onStart })),
      clock,
      metrics,
      expressionMetrics,
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#lingering) timer.cancel();
    await Promise.all([...this.#living].map((opened) => this.#end(opened)));
  }
}
