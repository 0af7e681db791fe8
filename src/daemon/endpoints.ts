// Runs the sync of Endpoints from the moment on that the configuration asks for it. In: settings and what the daemon has opened.
// Out: a Sync.
import type { Settings } from '../config/settings/settings.ts';
import { endpointsKind } from '../sync/kinds/endpoints/endpoints-kind.ts';
import { createRules, type SyncRules } from '../sync/loop/rules.ts';
import type { Sync } from '../sync/loop/sync.ts';
import { openSync, type SyncParts, type Writing } from './open-sync.ts';
import { anySliceKind } from './rules-of.ts';

export interface EndpointsOptions extends SyncParts {
  settings: () => Settings;
  isStopped: () => boolean;
  /** Ends the daemon. */
  end: (why: string) => void;
}

export class RunningEndpoints {
  sync: Sync | undefined;
  readonly #options: EndpointsOptions;

  constructor(options: EndpointsOptions) {
    this.#options = options;
  }

  /** Whether the configuration asks for a sync that has not begun. */
  get isAwaited(): boolean {
    return this.#options.settings().endpointsEnabled && this.sync === undefined;
  }

  begin(writing: Writing): void {
    if (!this.isAwaited) return;
    const settings = this.#options.settings();
    const rules = this.#rulesOf(settings);
    // A kind that is switched off must not be written: vCluster may own its objects by now.
    const isLeader = (): boolean => this.#options.settings().endpointsEnabled && writing.isLeading();
    const { engine } = writing;
    if (settings.endpointSlices.enabled) engine.await(anySliceKind.kind);
    this.sync = openSync({ ...this.#options, rules, engine, isLeader, settings });
    this.sync.start().catch((error: unknown) => {
      const { options, isStopped, end } = this.#options;
      if (isStopped()) return;
      options.log.error({ component: 'main', err: error }, 'sync could not start');
      end('sync could not start, see the log');
    });
  }

  take(settings: Settings): void {
    this.sync?.setRules(this.#rulesOf(settings));
  }

  #rulesOf(settings: Settings): SyncRules {
    const { patches, mappings } = this.#options;
    const { patcher } = patches.current ?? {};
    const hasPatches = patcher !== undefined && patcher.set.patches.length > 0;
    return createRules(endpointsKind, settings, { mapping: mappings, patcher: hasPatches ? patcher : undefined });
  }
}
