// Opens the sync of one kind on the parts that the syncs of all kinds share.
import type { CompiledMappings } from '../config/settings/namespace-mappings.ts';
import type { Settings } from '../config/settings/settings.ts';
import type { Engine } from '../sync/loop/engine.ts';
import type { SyncRules } from '../sync/loop/rules.ts';
import type { Sync } from '../sync/loop/sync.ts';
import type { References } from '../sync/references/references.ts';
import type { DaemonOptions } from './daemon-options.ts';
import type { RunningPatches } from './patches.ts';
import type { DaemonWindows } from './windows.ts';

export interface SyncParts {
  options: DaemonOptions;
  windows: DaemonWindows;
  patches: RunningPatches;
  references: References;
  mappings: CompiledMappings | undefined;
}

/** What exists once both clusters are reached. */
export interface Writing {
  engine: Engine;
  /** Whether this process holds the lease, where one is needed. */
  isLeading: () => boolean;
}

export interface OneKind extends Pick<SyncParts, 'windows' | 'references'> {
  rules: SyncRules;
  engine: Engine;
  /** Whether this process may write objects of this kind now. */
  isLeader: () => boolean;
  settings: Settings;
}

export function openSync({ windows, references, rules, engine, isLeader, settings }: OneKind): Sync {
  const { kind } = rules.translation;
  return engine.open({
    windows: windows.openSync(kind, settings),
    rules,
    isLeader,
    references: references.of(kind.kind),
  });
}
