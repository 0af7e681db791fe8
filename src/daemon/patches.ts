// Part of the front door: the patches of the running configuration, with the sandbox process behind them. No expression, no
// process. A new configuration gets a new sandbox; the old one goes when nobody asks it any more.

import type { Timer } from '../clock.ts';
import type { CompiledMappings } from '../config/settings/namespace-mappings.ts';
import type { Settings } from '../config/settings/settings.ts';
import { createExpressionMetrics, type ExpressionMetrics } from '../expression/evaluate/expression-metrics.ts';
import { ChildSandbox } from '../expression/sandbox/child-sandbox.ts';
import { type OpenedPatcher, openPatcher } from '../sync/patch/run/open-patcher.ts';
import type { ReferenceResolver } from '../sync/references/names.ts';
import type { DaemonOptions } from './daemon-options.ts';

/** An object in work may still hold the old rules for so long. */
const lingerMs = 10_000;

export class RunningPatches {
  readonly #options: DaemonOptions;
  readonly #mappings: CompiledMappings | undefined;
  readonly #references: ReferenceResolver;
  #expressionMetrics: ExpressionMetrics | undefined;
  #opened: OpenedPatcher | undefined;
  /** All whose sandbox may run: the one in use, one that is coming up, those that linger. */
  readonly #living = new Set<OpenedPatcher>();
  readonly #lingering = new Set<Timer>();
  #isStopped = false;

  constructor(
    options: DaemonOptions,
    beside: { mappings: CompiledMappings | undefined; references: ReferenceResolver },
  ) {
    this.#options = options;
    this.#mappings = beside.mappings;
    this.#references = beside.references;
  }

  get current(): OpenedPatcher | undefined {
    return this.#opened;
  }

  /** A line for each trouble with expressions; none of them makes the daemon less ready, since only their own objects wait. */
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

  /** Resolves with the sandbox up, or rejects: nothing may be written unpatched. */
  async take(settings: Settings, patches: DaemonOptions['patches']): Promise<void> {
    if (this.#isStopped) return;
    const before = this.#opened;
    const hasPatches = patches !== undefined && patches.set.patches.length > 0;
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
      // Nobody will ask it, and its sandbox would be started again and again.
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

  #open(settings: Settings, { set, sourceOf }: NonNullable<DaemonOptions['patches']>): OpenedPatcher {
    const { clock, log, nodePath = '', metrics } = this.#options;
    const expressionMetrics = this.#expressionMetrics ?? createExpressionMetrics(metrics);
    this.#expressionMetrics = expressionMetrics;
    expressionMetrics.quarantined(() => this.#opened?.quarantined() ?? { expressions: 0, values: 0 });
    const onStart = expressionMetrics.started;
    return openPatcher({
      settings,
      set,
      sourceOf,
      mappings: this.#mappings,
      references: this.#references,
      openSandbox: (setup) => new ChildSandbox({ setup, clock, log, nodePath, onStart }),
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
