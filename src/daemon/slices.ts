// Runs EndpointSlices as a further kind of the engine: they begin when both clusters grant the verbs, and the verbs are asked for
// again while they do not. In: settings and what the daemon has opened. Out: a Sync, and the missing verbs for status.
import type { Timer } from '../clock.ts';
import type { Connection } from '../cluster/wire/connection.ts';
import type { Settings } from '../config/settings/settings.ts';
import { createRules, type SyncRules } from '../sync/loop/rules.ts';
import type { Sync } from '../sync/loop/sync.ts';
import { missingPermissions, sentencesOf, slicePermissions } from './clusters/permissions.ts';
import { openSync, type SyncParts, type Writing } from './open-sync.ts';
import { anySliceKind, sliceKindOf } from './rules-of.ts';

/** People grant a missing verb, so a look a minute is enough. */
const askAgainMs = 60_000;

export interface SliceSetUp extends Writing {
  connections: { virtual: Connection; host: Connection };
  copyNamespaces: readonly (string | undefined)[];
  settings: () => Settings;
}

export class RunningSlices {
  sync: Sync | undefined;
  /** Sentences about missing verbs. */
  missing: readonly string[] = [];
  readonly #parts: SyncParts;
  #setUp: SliceSetUp | undefined;
  #retry: Timer | undefined;
  #isStopped = false;

  constructor(parts: SyncParts) {
    this.#parts = parts;
  }

  /** Called once both clusters are reached, and again with every new configuration. */
  async take(setUp: SliceSetUp | undefined = this.#setUp): Promise<void> {
    this.#setUp = setUp;
    if (setUp === undefined || this.#isStopped) return;
    const settings = setUp.settings();
    this.#retry?.cancel();
    if (this.sync !== undefined) {
      this.sync.setRules(this.#rulesOf(settings));
      return;
    }
    this.missing = settings.endpointSlices.enabled ? await this.#missingVerbs(setUp) : [];
    if (!settings.endpointSlices.enabled || this.missing.length > 0) setUp.engine.goOnWithout(anySliceKind.kind);
    if (!settings.endpointSlices.enabled || this.#isStopped || this.sync !== undefined) return;
    if (this.missing.length === 0) return this.#begin(setUp, settings);
    const { clock, log } = this.#parts.options;
    log.warn({ component: 'main', missing: this.missing }, 'EndpointSlices are not synced, verbs are missing');
    this.#retry = clock.after(askAgainMs, () => {
      this.take().catch((error: unknown) =>
        log.error({ component: 'main', err: error }, 'EndpointSlices cannot begin'),
      );
    });
  }

  async #missingVerbs({ connections, copyNamespaces }: SliceSetUp): Promise<readonly string[]> {
    const { isDryRun } = this.#parts.options;
    return sentencesOf(await missingPermissions(connections, slicePermissions({ copyNamespaces, isDryRun })));
  }

  #begin(setUp: SliceSetUp, settings: Settings): void {
    // A kind that is switched off must not be written: vCluster may own its objects by now.
    const isLeader = (): boolean => setUp.settings().endpointSlices.enabled && setUp.isLeading();
    const rules = this.#rulesOf(settings);
    const sync = openSync({ ...this.#parts, rules, engine: setUp.engine, isLeader, settings });
    this.sync = sync;
    sync.start().catch((error: unknown) => {
      if (!this.#isStopped)
        this.#parts.options.log.error({ component: 'main', err: error }, 'the sync of EndpointSlices could not start');
    });
  }

  #rulesOf(settings: Settings): SyncRules {
    const { patches, mappings } = this.#parts;
    const patcher = patches.current?.others?.patcher;
    return createRules(sliceKindOf(settings), settings, { mapping: mappings, patcher });
  }

  stop(): void {
    this.#isStopped = true;
    this.#retry?.cancel();
  }
}
