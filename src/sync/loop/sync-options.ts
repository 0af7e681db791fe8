// What an engine is opened with, and what each of its kinds adds.
import type { Clock } from '../../clock.ts';
import type { Writer } from '../../cluster/write/writer.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { Key } from '../../object/meta/object.ts';
import type { WorkQueue } from '../../queue/work-queue.ts';
import type { ObjectRef } from '../plan/kind.ts';
import type { Withheld } from '../world/doubt/doubted-list.ts';
import type { Ledger } from '../world/ledger.ts';
import type { Registry } from '../world/registry.ts';
import type { Windows } from '../world/sources.ts';
import type { References } from './content/references.ts';
import type { Recent } from './pass/recent.ts';
import type { SyncRules } from './pass/rules.ts';
import type { SelfWakeBrake } from './self-wake-brake.ts';

export interface EngineOptions {
  /** Engines of several virtual clusters may share it. */
  queue: WorkQueue;
  virtualWriter: Writer;
  hostWriter: Writer;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: Metrics;
  isDryRun: boolean;
  /** From Kubernetes 1.33 on, a controller labels the objects that it takes over, so a removed label may flow back at once. */
  isHostRecent: boolean;
  /** Who writes instead of this process, where a lease says so. */
  standbyBehind?: () => string | undefined;
  /** Why this process does not write although nobody is known to write instead. */
  leaderless?: () => string | undefined;
  /** Names and content for reference patches; without them, names follow from rules alone. */
  references?: References;
}

export interface KindOptions {
  windows: Windows;
  rules: SyncRules;
  /** Whether objects of this kind may be written now. */
  isLeader: () => boolean;
}

export type SyncOptions = EngineOptions & KindOptions;

/** What the syncs of all kinds of one engine have in common. */
export interface EngineParts {
  ledger: Ledger;
  registry: Registry;
  brake: SelfWakeBrake;
  /** Called when the first lists of a kind are in. */
  begun: () => void;
  /** The object on the host, of a kind whose objects are named like their Services. */
  namedLike: (service: Key) => ObjectRef | undefined;
  /** What a doubted list withholds for all kinds but this one. */
  withheldForOthers: (kind: string) => Withheld;
  recent: Recent;
}
