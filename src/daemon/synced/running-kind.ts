// Runs one kind from the moment on that the configuration asks for it and, where the daemon can go on without the kind, both
// clusters grant its verbs. In: settings and what the virtual cluster has opened. Out: a Sync, and the missing verbs for status.
import type { Timer } from '../../clock.ts';
import type { Connection } from '../../cluster/wire/connection.ts';
import type { CompiledMappings } from '../../config/settings/namespace-mappings.ts';
import type { Settings } from '../../config/settings/settings.ts';
import type { Engine } from '../../sync/loop/engine.ts';
import { createRules, type SyncRules } from '../../sync/loop/pass/rules.ts';
import type { Sync } from '../../sync/loop/sync.ts';
import type { DaemonOptions } from '../options/daemon-options.ts';
import type { RegisteredKind } from './kinds.ts';
import type { RunningPatches } from './patches.ts';
import { missingPermissions, sentencesOf } from './permissions.ts';
import type { DaemonWindows } from './windows.ts';

/** People grant a missing verb, so a look a minute is enough. */
const askAgainMs = 60_000;

export interface RunningKindOptions {
  options: Pick<DaemonOptions, 'isDryRun' | 'clock' | 'log'>;
  settings: () => Settings;
  windows: DaemonWindows;
  patches: RunningPatches;
  mappings: CompiledMappings | undefined;
  /** Called when a kind that the daemon cannot go on without could not start. */
  end: (why: string) => void;
}

/** What exists once both clusters are reached. */
export interface Begun {
  engine: Engine;
  /** Whether this process holds the lease, where one is needed. */
  isLeading: () => boolean;
  connections: { virtual: Connection; host: Connection };
  copyNamespaces: readonly (string | undefined)[];
}

/** In place of a kind that is switched off. */
export const noKind = { sync: undefined, missingVerbs: [], notServed: [] } as const;

export class RunningKind {
  sync: Sync | undefined;
  readonly registered: RegisteredKind;
  readonly #parts: RunningKindOptions;
  #missingVerbs: readonly string[] = [];
  #retry: Timer | undefined;
  #isStopped = false;

  constructor(registered: RegisteredKind, parts: RunningKindOptions) {
    this.registered = registered;
    this.#parts = parts;
  }

  get name(): string {
    return this.registered.of(this.#parts.settings()).kind;
  }

  /** Sentences, one for each missing verb. */
  get missingVerbs(): readonly string[] {
    return this.#missingVerbs;
  }

  /** Sentences about clusters that do not serve a kind that the daemon can go on without. */
  get notServed(): readonly string[] {
    const { of, isOn, rights } = this.registered;
    const settings = this.#parts.settings();
    if (rights === undefined || !isOn(settings)) return [];
    const unserved = this.#parts.windows.opened.filter(({ window }) => window.trouble?.isUnserved);
    if (unserved.length === 0) return [];
    const { path, resource } = of(settings).resource;
    const wayOut = `this shows what it serves: kubectl get --raw /${path}`;
    const windows = unserved.filter(({ name }) => name.split(' ')[1] === resource);
    const troubles = windows.flatMap(({ window: { trouble } }) => trouble?.message ?? []);
    return [...new Set(troubles)].map((message) => `${message}; ${wayOut}`);
  }

  /** Whether the configuration asks for a sync that has not begun. */
  get isAwaited(): boolean {
    return this.registered.isOn(this.#parts.settings()) && this.sync === undefined;
  }

  /** Called once both clusters are reached, and again with every new configuration. */
  async take(begun: Begun): Promise<void> {
    if (this.#isStopped) return;
    this.#retry?.cancel();
    if (this.sync !== undefined) {
      this.sync.setRules(this.#rules());
      return;
    }
    const { rights } = this.registered;
    this.#missingVerbs = rights !== undefined && this.isAwaited ? await this.#missing(rights, begun) : [];
    const isWanted = this.isAwaited && !this.#isStopped;
    if (!isWanted || this.#missingVerbs.length > 0) begun.engine.goOnWithout(this.name);
    if (!isWanted) return;
    if (this.#missingVerbs.length === 0) return this.#begin(begun);
    const { clock, log } = this.#parts.options;
    log.warn({ component: 'main', missing: this.#missingVerbs }, `${this.name}s are not synced, verbs are missing`);
    this.#retry = clock.after(askAgainMs, () => {
      this.take(begun).catch((error: unknown) =>
        log.error({ component: 'main', err: error }, `${this.name}s cannot begin`),
      );
    });
  }

  async #missing(
    rights: NonNullable<RegisteredKind['rights']>,
    { connections, copyNamespaces }: Begun,
  ): Promise<readonly string[]> {
    const { isDryRun } = this.#parts.options;
    return sentencesOf(await missingPermissions(connections, rights({ copyNamespaces, isDryRun })));
  }

  #begin({ engine, isLeading }: Begun): void {
    const { windows, settings, options, end } = this.#parts;
    const { isOn, rights } = this.registered;
    const rules = this.#rules();
    const { kind } = rules.translation;
    this.sync = engine.open({
      windows: windows.openSync(kind, settings()),
      rules,
      // A kind that is switched off must not be written: vCluster may own its objects by now.
      isLeader: () => isOn(settings()) && isLeading(),
    });
    this.sync.start().catch((error: unknown) => {
      if (this.#isStopped) return;
      const message = rights === undefined ? 'sync could not start' : `the sync of ${kind.kind}s could not start`;
      options.log.error({ component: 'main', err: error }, message);
      if (rights === undefined) end(`${message}, see the log`);
    });
  }

  #rules(): SyncRules {
    const { patches, mappings, settings } = this.#parts;
    const { of, patcherOf } = this.registered;
    const patcher = patches.current && patcherOf?.(patches.current);
    return createRules(of(settings()), settings(), { mapping: mappings, patcher });
  }

  stop(): void {
    this.#isStopped = true;
    this.#retry?.cancel();
  }
}
