// What a reflector does next, as pure decisions: how a list or a watch ended goes in, the next step and its delay come
// out. All the odd cases of list and watch have their names here.
import type { ListResult } from './list-pages.ts';
import type { RestartReason } from './metrics.ts';

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
  /** The next watch is to make sure first that the server has not gone back in time. */
  checkVersion?: boolean;
}

export type WatchEnd =
  | { kind: 'ended' }
  | { kind: 'aborted' }
  | { kind: 'broken' | 'silent' | 'gone' | 'fault' | 'rollback' | 'disorder'; message: string }
  | { kind: 'throttled' | 'failed' | 'refused'; retryAfterMs: number | undefined; message: string };

export interface History {
  /** Watches or lists in a row that came to nothing. */
  failures: number;
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
  const waitMs = backoffMs(history.failures, random);
  switch (end.kind) {
    case 'aborted':
      return { next: 'list', delayMs: 0, reason: 'requested' };
    case 'ended':
      if (history.sinceListMs >= auditIntervalMs) return { next: 'list', delayMs: 0, reason: 'audit' };
      return { next: 'watch', delayMs: Math.max(0, watchFloorMs - history.watchedMs), reason: 'ended' };
    case 'broken':
      return { next: 'watch', delayMs: waitMs, reason: 'broken', trouble: end.message };
    case 'silent':
      return { next: 'watch', delayMs: waitMs, reason: 'silent', trouble: end.message, checkVersion: true };
    case 'gone':
    case 'fault':
    case 'rollback':
    case 'disorder':
      return { next: 'list', delayMs: waitMs, reason: end.kind, trouble: end.message };
    case 'refused':
      // 400 and 404 blame what we ask for, so do not ask the same again.
      return { next: 'list', delayMs: waitMs, reason: 'refused', trouble: end.message };
    case 'throttled':
    case 'failed':
      return {
        next: 'watch',
        delayMs: Math.max(end.retryAfterMs ?? 0, waitMs),
        reason: end.kind,
        trouble: end.message,
      };
    default:
      return end satisfies never;
  }
}

export function afterList(
  result: Exclude<ListResult, { kind: 'listed' }>,
  history: History,
  random: () => number,
): Step {
  const waitMs = backoffMs(history.failures, random);
  switch (result.kind) {
    case 'aborted':
      return { next: 'list', delayMs: 0, reason: 'requested' };
    case 'expired':
      return { next: 'list', delayMs: waitMs, reason: 'expired', trouble: result.message };
    case 'fault':
      return { next: 'list', delayMs: waitMs, reason: 'fault', trouble: result.message };
    case 'failed': {
      const { answer } = result;
      if (answer.kind === 'notSent') return { next: 'list', delayMs: waitMs, reason: 'failed' };
      const asked = answer.kind === 'throttled' || answer.kind === 'failed' ? (answer.retryAfterMs ?? 0) : 0;
      const reason = answer.kind === 'throttled' || answer.kind === 'failed' ? answer.kind : 'refused';
      return { next: 'list', delayMs: Math.max(asked, waitMs), reason, trouble: answer.message };
    }
    default:
      return result satisfies never;
  }
}
