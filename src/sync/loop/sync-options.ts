// What the sync of one kind is opened with.
import type { Clock } from '../../clock.ts';
import type { Writer } from '../../cluster/write/writer.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { Referrers } from '../references/count/referrers.ts';
import type { Windows } from '../world/sources.ts';
import type { SyncRules } from './rules.ts';

export interface SyncOptions {
  windows: Windows;
  rules: SyncRules;
  virtualWriter: Writer;
  hostWriter: Writer;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: Metrics;
  /** Whether this process may write now; the writers check again when they send. */
  isLeader: () => boolean;
  isDryRun: boolean;
  /** Names and content for reference patches; without them, names follow from rules alone. */
  references?: Referrers;
  /** From Kubernetes 1.33 on, a controller labels the objects that it takes over, so a removed label may flow back at once. */
  isHostRecent: boolean;
  /** Another sync will share the names of Services: shareNames() or goOnAlone() will be called. */
  awaitsOther?: boolean;
}
