// Runs the sync of EndpointSlices beside that of Endpoints: it begins when both clusters grant the verbs, and asks again while
// they do not. In: settings and what the daemon has opened. Out: a second Sync, and the missing verbs for status.
import type { Timer } from '../clock.ts';
import type { Connection } from '../cluster/wire/connection.ts';
import { permittedWriter } from '../cluster/write/permitted-writer.ts';
import type { CompiledMappings } from '../config/settings/namespace-mappings.ts';
import type { Settings } from '../config/settings/settings.ts';
import { createRules, type SyncRules } from '../sync/loop/rules.ts';
import { Sync, type SyncOptions } from '../sync/loop/sync.ts';
import type { References } from '../sync/references/references.ts';
import type { DaemonOptions } from './daemon-options.ts';
import type { RunningPatches } from './patches.ts';
import { missingPermissions, sentencesOf, slicePermissions } from './permissions.ts';
import { sliceKindOf } from './rules-of.ts';
import type { DaemonWindows } from './windows.ts';

/** People grant a missing verb, so a look a minute is enough. */
const askAgainMs = 60_000;

export interface SliceSetUp extends Pick<SyncOptions, 'virtualWriter' | 'hostWriter' | 'isHostRecent'> {
  connections: { virtual: Connection; host: Connection };
  copyNamespaces: readonly (string | undefined)[];
  /** The running sync of Endpoints; undefined while it is switched off. */
  endpoints: () => Sync | undefined;
  settings: () => Settings;
  /** Whether this process holds the lease, where one is needed. */
  isLeading: () => boolean;
}

export class RunningSlices {
  sync: Sync | undefined;
  /** Sentences about missing verbs. */
  missing: readonly string[] = [];
  readonly #options: DaemonOptions;
  readonly #windows: DaemonWindows;
  readonly #patches: RunningPatches;
  readonly #references: References;
  readonly #mappings: CompiledMappings | undefined;
  #setUp: SliceSetUp | undefined;
  #retry: Timer | undefined;
  #isStopped = false;

  constructor(
    options: DaemonOptions,
    parts: {
      windows: DaemonWindows;
      patches: RunningPatches;
      references: References;
      mappings: CompiledMappings | undefined;
    },
  ) {
    this.#options = options;
    this.#windows = parts.windows;
    this.#patches = parts.patches;
    this.#references = parts.references;
    this.#mappings = parts.mappings;
  }

  /** Called once both clusters are reached, and again with every new configuration. */
  async take(setUp: SliceSetUp | undefined = this.#setUp): Promise<void> {
    this.#setUp = setUp;
    if (setUp === undefined || this.#isStopped) return;
    const settings = setUp.settings();
    this.#retry?.cancel();
    if (this.sync !== undefined) {
      this.#accompany(setUp);
      this.sync.setRules(this.#rulesOf(settings));
      return;
    }
    this.missing = settings.endpointSlices.enabled ? await this.#missingVerbs(setUp) : [];
    if (!settings.endpointSlices.enabled || this.missing.length > 0) setUp.endpoints()?.goOnAlone();
    if (!settings.endpointSlices.enabled || this.#isStopped || this.sync !== undefined) return;
    if (this.missing.length === 0) return this.#begin(setUp, settings);
    const { clock, log } = this.#options;
    log.warn({ component: 'main', missing: this.missing }, 'EndpointSlices are not synced, verbs are missing');
    this.#retry = clock.after(askAgainMs, () => {
      this.take().catch((error: unknown) =>
        log.error({ component: 'main', err: error }, 'EndpointSlices cannot begin'),
      );
    });
  }

  async #missingVerbs({ connections, copyNamespaces }: SliceSetUp): Promise<readonly string[]> {
    const { isDryRun } = this.#options;
    return sentencesOf(await missingPermissions(connections, slicePermissions({ copyNamespaces, isDryRun })));
  }

  #begin(setUp: SliceSetUp, settings: Settings): void {
    const { clock, random, log, metrics, isDryRun } = this.#options;
    const { isLeading, isHostRecent } = setUp;
    // A kind that is switched off must not be written: vCluster may own its objects by now.
    const isLeader = (): boolean => setUp.settings().endpointSlices.enabled && isLeading();
    const rules = this.#rulesOf(settings);
    const sync = new Sync({
      windows: this.#windows.openSync(rules.translation.kind, settings),
      rules,
      virtualWriter: permittedWriter(setUp.virtualWriter, isLeader),
      hostWriter: permittedWriter(setUp.hostWriter, isLeader),
      clock,
      random,
      log,
      metrics,
      isLeader,
      isDryRun,
      references: this.#references.of(rules.translation.kind.kind),
      isHostRecent,
    });
    this.sync = sync;
    this.#accompany(setUp);
    sync.start().catch((error: unknown) => {
      if (!this.#isStopped) log.error({ component: 'main', err: error }, 'the sync of EndpointSlices could not start');
    });
  }

  /** The sync of Endpoints may be switched on later than that of slices. */
  #accompany({ endpoints }: SliceSetUp): void {
    const other = endpoints();
    if (other === undefined) return;
    this.sync?.accompany(other.asCompanion());
    this.sync?.shareNames(other);
  }

  #rulesOf(settings: Settings): SyncRules {
    const patcher = this.#patches.current?.others?.patcher;
    return createRules(sliceKindOf(settings), settings, { mapping: this.#mappings, patcher });
  }

  async stop(withinMs: number): Promise<void> {
    this.#isStopped = true;
    this.#retry?.cancel();
    await this.sync?.stop(withinMs);
  }
}
