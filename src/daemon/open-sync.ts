// Opens the sync of one kind on the parts that the syncs of all kinds share.
import { permittedWriter } from '../cluster/write/permitted-writer.ts';
import type { CompiledMappings } from '../config/settings/namespace-mappings.ts';
import type { Settings } from '../config/settings/settings.ts';
import type { SyncRules } from '../sync/loop/rules.ts';
import { Sync } from '../sync/loop/sync.ts';
import type { SyncOptions } from '../sync/loop/sync-options.ts';
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

/** The writers of both clusters, which the syncs of all kinds share. */
export interface Writing extends Pick<SyncOptions, 'virtualWriter' | 'hostWriter' | 'isHostRecent'> {
  /** Whether this process holds the lease, where one is needed. */
  isLeading: () => boolean;
}

export interface OneKind
  extends Pick<SyncParts, 'options' | 'windows' | 'references'>,
    Pick<SyncOptions, 'awaitsOther'> {
  rules: SyncRules;
  writing: Writing;
  /** Whether this process may write objects of this kind now. */
  isLeader: () => boolean;
  settings: Settings;
}

export function openSync(parts: OneKind): Sync {
  const { options, windows, references, rules, writing, isLeader, settings, awaitsOther = false } = parts;
  const { clock, random, log, metrics, isDryRun } = options;
  const { kind } = rules.translation;
  return new Sync({
    windows: windows.openSync(kind, settings),
    rules,
    virtualWriter: permittedWriter(writing.virtualWriter, isLeader),
    hostWriter: permittedWriter(writing.hostWriter, isLeader),
    clock,
    random,
    log,
    metrics,
    isLeader,
    isDryRun,
    references: references.of(kind.kind),
    isHostRecent: writing.isHostRecent,
    awaitsOther,
  });
}
