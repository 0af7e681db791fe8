// What a reflector does next, as pure decisions: how a list or a watch ended goes in, the next step and its delay come
// out. All the odd cases of list and watch have their names here.

import type { RestartReason } from '../metrics.ts';
import type { ListResult } from './list-pages.ts';

export type ReflectorState =
  | { kind: 'idle' }
  | { kind: 'listing'; page: number; reason: RestartReason | 'first' }
  | { kind: 'watching'; resourceVersion: string }
  | { kind: 'retrying'; next: 'list' | 'watch'; delayMs: number; reason: RestartReason }
  | { kind: 'stopped' };

export interface Step {
  next: 'list' | 'watch';
  delayMs: number;
  reason: RestartReason | 'first';
  /** Set when something is wrong, not when a watch has ended as watches do. */
  trouble?: string;
  /** Whose count the trouble adds to. */
  failed?: keyof Failures;
  /** The next watch is to make sure first that the server has not gone back in time. */
  checkVersion?: boolean;
}

export type WatchEnd =
  | { kind: 'ended' }
  | { kind: 'aborted' }
  | { kind: 'broken' | 'silent' | 'gone' | 'fault' | 'rollback' | 'disorder'; message: string }
  | { kind: 'throttled' | 'failed' | 'refused'; retryAfterMs: number | undefined; message: string };

/**
 * Failures in a row. Two counts, since a server that serves us again after an hour of refusals should be asked at once for
 * what was missed, and one that serves us nonsense should be asked less and less often although it serves.
 */
export interface Failures {
  /** Not served: no way to it, no right, no time for us. Over with the first success. */
  unserved: number;
  /** Served, but with something of no use, or not for long. Over when a watch has lived for a while. */
  spoilt: number;
}

export interface History {
  failures: Failures;
  /** The watch had begun when it ended. */
  wasOpened: boolean;
  watchedMs: number;
  sinceListMs: number;
}

/** A server that closes each watch at once is asked once a second, not in a hot loop. */
export const watchFloorMs = 1_000;
const backoffBaseMs = 200;
export const backoffCapMs = 30_000;
/** What a lost event can do is bounded by this: a watch that ends after it is followed by a list. */
export const auditIntervalMs = 30 * 60_000;

export function backoffMs(failures: number, random: () => number): number {
  const fullMs = backoffBaseMs * 2 ** Math.min(failures, 10);
  return Math.min(backoffCapMs, fullMs * (0.5 + random()));
}

export function afterWatch(end: WatchEnd, history: History, random: () => number): Step {
  const failed = history.wasOpened || isSpoilt(end) ? 'spoilt' : 'unserved';
  const waitMs = backoffMs(history.failures[failed], random);
  switch (end.kind) {
    case 'aborted':
      return { next: 'list', delayMs: 0, reason: 'requested' };
    case 'ended':
      if (history.sinceListMs >= auditIntervalMs) return { next: 'list', delayMs: 0, reason: 'audit' };
      return { next: 'watch', delayMs: Math.max(0, watchFloorMs - history.watchedMs), reason: 'ended' };
    case 'broken':
    case 'silent':
      return { next: 'watch', delayMs: waitMs, reason: end.kind, trouble: end.message, failed, checkVersion: true };
    case 'gone':
    case 'fault':
    case 'rollback':
    case 'disorder':
      return { next: 'list', delayMs: waitMs, reason: end.kind, trouble: end.message, failed };
    case 'refused':
      // 400 and 404 blame what we ask for, so do not ask the same again.
      return { next: 'list', delayMs: waitMs, reason: 'refused', trouble: end.message, failed };
    case 'throttled':
    case 'failed':
      return {
        next: 'watch',
        delayMs: Math.max(end.retryAfterMs ?? 0, waitMs),
        reason: end.kind,
        trouble: end.message,
        failed,
        checkVersion: true,
      };
    default:
      return end satisfies never;
  }
}

/** A refusal of what the watch asked for is an answer too: the list before it succeeded, and so would the next. */
function isSpoilt({ kind }: WatchEnd): boolean {
  return kind === 'gone' || kind === 'fault' || kind === 'rollback' || kind === 'disorder' || kind === 'refused';
}

export function afterList(
  result: Exclude<ListResult, { kind: 'listed' }>,
  history: Pick<History, 'failures'>,
  random: () => number,
): Step {
  const failed = result.kind === 'failed' ? 'unserved' : 'spoilt';
  const waitMs = backoffMs(history.failures[failed], random);
  switch (result.kind) {
    case 'aborted':
      return { next: 'list', delayMs: 0, reason: 'requested' };
    case 'expired':
      return { next: 'list', delayMs: waitMs, reason: 'expired', trouble: result.message, failed };
    case 'fault':
      return { next: 'list', delayMs: waitMs, reason: 'fault', trouble: result.message, failed };
    case 'failed': {
      const { answer } = result;
      if (answer.kind === 'notSent') return { next: 'list', delayMs: waitMs, reason: 'failed' };
      const asked = answer.kind === 'throttled' || answer.kind === 'failed' ? (answer.retryAfterMs ?? 0) : 0;
      const reason = answer.kind === 'throttled' || answer.kind === 'failed' ? answer.kind : 'refused';
      return { next: 'list', delayMs: Math.max(asked, waitMs), reason, trouble: answer.message, failed };
    }
    default:
      return result satisfies never;
  }
}
