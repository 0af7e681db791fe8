// What a daemon reads that is old, lost, twice or in another order, and what it misses while it is down: F7 to F15.
import { everything, proofMs, type Recipe, soonMs } from './recipe.ts';

export const readRecipes: readonly Recipe[] = [
  {
    class: 'F7',
    name: 'stale list after a restart',
    effect: 'staleRestart',
    verbs: ['list'],
    size: [1, 5, 50],
    boundMs: proofMs,
  },
  {
    class: 'F8',
    name: 'stale watch server',
    effect: 'lateLines',
    verbs: ['watch'],
    ms: [1_000, 30_000],
    boundMs: proofMs,
  },
  {
    class: 'F9',
    name: 'stale read of an own write',
    effect: 'staleList',
    verbs: ['list'],
    size: [1, 3],
    times: [1, 3],
    boundMs: proofMs,
  },
  { class: 'F10', name: 'dropped event', effect: 'swallow', verbs: ['watch'], size: [1, 2, 5], boundMs: proofMs },
  /** No later event of the object tells of it before a proof does. */
  { class: 'F10', name: 'unseen new objects', effect: 'swallowNew', verbs: ['watch'], size: [1, 3], boundMs: proofMs },
  /** What is gone has no later event at all. */
  {
    class: 'F10',
    name: 'unseen removals',
    effect: 'swallowGone',
    weight: 3,
    verbs: ['watch'],
    size: [4, 8],
    boundMs: proofMs,
  },
  { class: 'F11', name: 'duplicated event', effect: 'duplicate', verbs: ['watch'], size: [1, 5], boundMs: soonMs },
  { class: 'F12', name: 'reordered events', effect: 'swap', verbs: ['watch'], size: [1, 3], boundMs: proofMs },
  { class: 'F13', name: 'coalesced events', effect: 'coalesce', verbs: ['watch'], ms: [2_000], boundMs: proofMs },
  {
    class: 'F14',
    name: 'down while things change',
    effect: 'down',
    verbs: everything,
    ms: [5_000, 60_000],
    boundMs: 20_000,
  },
  { class: 'F15', name: 'no bookmarks', effect: 'noBookmarks', verbs: ['watch'], boundMs: proofMs },
];
