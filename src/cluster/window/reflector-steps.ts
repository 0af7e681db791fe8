// Decides the next step of a reflector. In: how a list or a watch ended, and the failures before. Out: the next step and
// its delay. Every odd end of a list or a watch has a name here. Pure.

import { backOffMs } from '../../pace/back-off.ts';
import type { RestartReason } from '../metrics.ts';
import type { ListEnd } from './list-pages.ts';

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
  failed?: FailedKind;
  /** The server answered, although not with what was wanted. */
  isAnswered?: boolean;
  /** It lets us not read this resource, and perhaps others. */
  isForbidden?: boolean;
  /** It does not know this resource. */
  isUnserved?: boolean;
  /** Before the next watch, check that the server has not gone back in time. */
  checkVersion?: boolean;
}

export type WatchEnd =
  | { kind: 'ended' }
  | { kind: 'aborted' }
  | { kind: 'broken' | 'silent' | 'gone' | 'fault' | 'rollback' | 'disorder'; message: string }
  | {
      kind: 'throttled' | 'failed' | 'refused';
      retryAfterMs: number | undefined;
      message: string;
      isAnswered: boolean;
      isForbidden?: boolean;
    };

/** The server was unreachable, overloaded or refused us. The first success resets these counts. */
export const unservedKinds = ['unreached', 'throttled', 'failed'] as const;
/** The server answered with something unusable, or the watch ended early. A long watch resets these counts. */
const spoiltKinds = ['cut', 'gone', 'fault', 'rollback', 'disorder', 'refused'] as const;
export type FailedKind = (typeof unservedKinds)[number] | (typeof spoiltKinds)[number];

/**
 * Consecutive failures by kind, because a back-off counts failures of one kind: when a server is back after an hour of refusals, its
 * first 410 says only that a list is needed. A server that answers with nonsense is asked less and less often, although it answers.
 */
export type Failures = Partial<Record<FailedKind, number>>;

export function isSpoilt(kind: FailedKind): boolean {
  return (spoiltKinds as readonly FailedKind[]).includes(kind);
}

export interface History {
  failures: Failures;
  /** The server had accepted the watch before it ended. */
  wasOpened: boolean;
  watchedMs: number;
}

/**
 * A watch of this length was healthy. Longer would let a server that answers 410 after each cut be asked less and less often, although
 * every list between two cuts was whole: the pauses themselves would keep the watches short.
 */
const healthyMs = 5_000;

/** Some proxies keep the head of an answer until its first event, so a quiet watch that lasts may never be seen to open. */
export function failuresAfterWatch({ failures, watchedMs, wasOpened }: History): Failures {
  if (watchedMs < healthyMs) return failures;
  const unserved = wasOpened ? [] : unservedKinds.map((kind) => [kind, failures[kind] ?? 0]);
  return Object.fromEntries(unserved);
}

/** A server that closes every watch at once gets one watch a second, instead of a busy loop. */
export const watchFloorMs = 1_000;
export const relist = { firstMs: 200, mostMs: 30_000 };

/** Scattered, because the watches of all kinds end together when a server goes. */
export function relistMs(failures: number, random: () => number): number {
  return Math.min(relist.mostMs, backOffMs(failures + 1, relist) * (0.5 + random()));
}

/** A 410 needs a list, not a pause: only a server that says it again and again is given time. */
function pauseMs(failed: FailedKind, failures: Failures, random: () => number): number {
  const count = failures[failed] ?? 0;
  if (failed !== 'gone') return relistMs(count, random);
  return count === 0 ? 0 : relistMs(count - 1, random);
}

export function afterWatch(end: WatchEnd, history: History, random: () => number): ReflectorStep {
  if (end.kind === 'aborted') return { next: 'list', delayMs: 0, reason: 'requested' };
  if (end.kind === 'ended')
    return { next: 'watch', delayMs: Math.max(0, watchFloorMs - history.watchedMs), reason: 'ended' };
  const failed = failedKind(end, history.wasOpened);
  const waitMs = pauseMs(failed, history.failures, random);
  const about = {
    reason: end.kind,
    trouble: end.message,
    failed,
    isAnswered: isAnswered(end),
    isForbidden: isForbidden(end),
  };
  switch (end.kind) {
    case 'broken':
    case 'silent':
      return { ...about, next: 'watch', delayMs: waitMs, checkVersion: true };
    case 'gone':
    case 'fault':
    case 'rollback':
    case 'disorder':
    // 400 and 404 refuse the request itself, so the same watch would fail again.
    case 'refused':
      return { ...about, next: 'list', delayMs: waitMs };
    case 'throttled':
    case 'failed':
      return { ...about, next: 'watch', delayMs: Math.max(end.retryAfterMs ?? 0, waitMs), checkVersion: true };
    default:
      return end satisfies never;
  }
}

type FailedWatch = Exclude<WatchEnd, { kind: 'aborted' | 'ended' }>;

/** A refused watch counts as spoilt, not as unserved: the list before it succeeded, and so would the next list. */
function failedKind(end: FailedWatch, wasOpened: boolean): FailedKind {
  if (end.kind === 'broken' || end.kind === 'silent') return wasOpened ? 'cut' : 'unreached';
  if (end.kind === 'throttled' || end.kind === 'failed')
    return wasOpened ? 'cut' : end.isAnswered ? end.kind : 'unreached';
  return end.kind;
}

function isAnswered(end: FailedWatch): boolean {
  if (end.kind === 'broken' || end.kind === 'silent') return false;
  return end.kind === 'throttled' || end.kind === 'failed' || end.kind === 'refused' ? end.isAnswered : true;
}

function isForbidden(end: FailedWatch): boolean {
  return end.kind === 'failed' && end.isForbidden === true;
}

/** The server has answered, and the next step is another list. */
const listAgain = { next: 'list', isAnswered: true } as const;

export function afterList(
  result: Exclude<ListEnd, { kind: 'listed' }>,
  history: Pick<History, 'failures'>,
  random: () => number,
): ReflectorStep {
  const pauseFor = (failed: FailedKind): number => pauseMs(failed, history.failures, random);
  switch (result.kind) {
    case 'aborted':
      return { next: 'list', delayMs: 0, reason: 'requested' };
    case 'expired':
      return { ...listAgain, delayMs: pauseFor('gone'), reason: 'expired', trouble: result.message, failed: 'gone' };
    case 'fault':
      return { ...listAgain, delayMs: pauseFor('fault'), reason: 'fault', trouble: result.message, failed: 'fault' };
    case 'failed': {
      const { answer } = result;
      if (answer.kind === 'notSent') return { next: 'list', delayMs: pauseFor('unreached'), reason: 'failed' };
      const isAnswered = answer.kind !== 'failed' || answer.status !== undefined;
      const failed = answer.kind === 'throttled' ? 'throttled' : isAnswered ? 'failed' : 'unreached';
      const asked = answer.kind === 'throttled' || answer.kind === 'failed' ? (answer.retryAfterMs ?? 0) : 0;
      const reason = answer.kind === 'throttled' || answer.kind === 'failed' ? answer.kind : 'refused';
      const delayMs = Math.max(asked, pauseFor(failed));
      const isForbidden = answer.kind === 'forbidden';
      const isUnserved = answer.kind === 'notFound';
      return { next: 'list', delayMs, reason, trouble: answer.message, failed, isAnswered, isForbidden, isUnserved };
    }
    default:
      return result satisfies never;
  }
}
