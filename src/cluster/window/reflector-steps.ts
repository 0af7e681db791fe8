// Decides the next step of a reflector. In: how a list or a watch ended, and the failures before. Out: the next step and
// its delay. Every odd end of a list or a watch has a name here. Pure.

import type { RestartReason } from '../metrics.ts';
import type { ListResult } from './list-pages.ts';

export type ReflectorState =
  | { kind: 'idle' }
  | { kind: 'listing'; page: number; reason: RestartReason | 'first' }
  | { kind: 'watching'; resourceVersion: string }
  | { kind: 'retrying'; next: 'list' | 'watch'; delayMs: number; reason: RestartReason }
  | { kind: 'stopped' };

export interface ReflectorStep {
  next: 'list' | 'watch';
  delayMs: number;
  reason: RestartReason | 'first';
  /** Set for a failure; absent after the normal end of a watch. */
  trouble?: string;
  /** The failure count that increases. */
  failed?: keyof Failures;
  /** Before the next watch, check that the server has not gone back in time. */
  checkVersion?: boolean;
}

export type WatchEnd =
  | { kind: 'ended' }
  | { kind: 'aborted' }
  | { kind: 'broken' | 'silent' | 'gone' | 'fault' | 'rollback' | 'disorder'; message: string }
  | { kind: 'throttled' | 'failed' | 'refused'; retryAfterMs: number | undefined; message: string };

/**
 * Consecutive failures, in two counts. When a server recovers after an hour of refusals, the missed changes should be fetched
 * at once. A server that answers with nonsense should be asked less and less often, although it answers.
 */
export interface Failures {
  /** The server was unreachable, overloaded or refused us. The first success resets this count. */
  unserved: number;
  /** The server answered with something unusable, or the watch ended early. A long watch resets this count. */
  spoilt: number;
}

export interface History {
  failures: Failures;
  /** The server had accepted the watch before it ended. */
  wasOpened: boolean;
  watchedMs: number;
}

/** A server that closes every watch at once gets one watch a second, instead of a busy loop. */
export const watchFloorMs = 1_000;
const backoffBaseMs = 200;
export const backoffCapMs = 30_000;

export function backoffMs(failures: number, random: () => number): number {
  const fullMs = backoffBaseMs * 2 ** Math.min(failures, 10);
  return Math.min(backoffCapMs, fullMs * (0.5 + random()));
}

export function afterWatch(end: WatchEnd, history: History, random: () => number): ReflectorStep {
  const failed = history.wasOpened || isSpoilt(end) ? 'spoilt' : 'unserved';
  const waitMs = backoffMs(history.failures[failed], random);
  switch (end.kind) {
    case 'aborted':
      return { next: 'list', delayMs: 0, reason: 'requested' };
    case 'ended':
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
      // 400 and 404 refuse the request itself, so the same watch would fail again.
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

/** A refused watch counts as spoilt, not as unserved: the list before it succeeded, and so would the next list. */
function isSpoilt({ kind }: WatchEnd): boolean {
  return kind === 'gone' || kind === 'fault' || kind === 'rollback' || kind === 'disorder' || kind === 'refused';
}

export function afterList(
  result: Exclude<ListResult, { kind: 'listed' }>,
  history: Pick<History, 'failures'>,
  random: () => number,
): ReflectorStep {
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
