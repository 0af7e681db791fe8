// Whole API servers: restarts, backups, compaction, partitions: F35 to F38.
import { everything, lateMs, type Recipe } from './recipe.ts';

export const serverRecipes: readonly Recipe[] = [
  {
    class: 'F35',
    name: 'restart of an API server',
    effect: 'restartServer',
    verbs: everything,
    ms: [500, 10_000],
    boundMs: 20_000,
  },
  {
    class: 'F35',
    name: 'five restarts in a row',
    effect: 'restartServer',
    verbs: everything,
    times: [5],
    ms: [800],
    boundMs: 20_000,
  },
  {
    class: 'F36',
    name: 'revisions go back',
    effect: 'rollBack',
    verbs: everything,
    size: [1, 5, 30],
    boundMs: 60_000,
  },
  {
    class: 'F37',
    name: 'compaction while disconnected',
    effect: 'compact',
    verbs: everything,
    ms: [3_000],
    boundMs: 20_000,
  },
  {
    class: 'F38',
    name: 'one side cannot be reached',
    effect: 'partition',
    verbs: everything,
    ms: [10_000, 120_000],
    boundMs: 60_000,
  },
  {
    class: 'F38',
    name: 'watches cut off, requests pass',
    effect: 'muteWatches',
    verbs: ['watch'],
    ms: [30_000, 90_000],
    boundMs: lateMs,
  },
];
