import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import type { ListEnd } from '../../../src/cluster/window/list-pages.ts';
import {
  afterList,
  afterWatch,
  type Failures,
  type History,
  type ReflectorStep,
  relist,
  relistMs,
  type WatchEnd,
  watchFloorMs,
} from '../../../src/cluster/window/reflector-steps.ts';

const middle = () => 0.5;
/** The waits after one failure of each unserved kind and after three of each spoilt one, without randomness. */
const failures: Failures = {
  unreached: 1,
  throttled: 1,
  failed: 1,
  cut: 3,
  gone: 3,
  fault: 3,
  rollback: 3,
  disorder: 3,
  refused: 3,
};
const unservedMs = 400;
const spoiltMs = 1_600;
const opened: History = { failures, wasOpened: true, watchedMs: 0 };
const notOpened: History = { ...opened, wasOpened: false };

interface WatchRow {
  rule: string;
  end: WatchEnd;
  history: History;
  step: Partial<ReflectorStep>;
}

const message = 'words';
const watchRows: WatchRow[] = [
  {
    rule: 'a requested list begins at once',
    end: { kind: 'aborted' },
    history: opened,
    step: { next: 'list', delayMs: 0, reason: 'requested', trouble: undefined },
  },
  {
    rule: 'a watch that ended at once is opened again after a second',
    end: { kind: 'ended' },
    history: opened,
    step: { next: 'watch', delayMs: watchFloorMs, reason: 'ended', trouble: undefined },
  },
  {
    rule: 'a long watch is opened again at once',
    end: { kind: 'ended' },
    history: { ...opened, watchedMs: 5_000 },
    step: { next: 'watch', delayMs: 0, reason: 'ended' },
  },
  {
    rule: 'a cut watch is counted, and the version is checked',
    end: { kind: 'broken', message },
    history: opened,
    step: {
      next: 'watch',
      delayMs: spoiltMs,
      reason: 'broken',
      failed: 'cut',
      checkVersion: true,
      trouble: message,
    },
  },
  {
    rule: 'a watch that never opened shows a server that is not reached',
    end: { kind: 'silent', message },
    history: notOpened,
    step: {
      next: 'watch',
      delayMs: unservedMs,
      reason: 'silent',
      failed: 'unreached',
      isAnswered: false,
      checkVersion: true,
    },
  },
  ...(['fault', 'rollback', 'disorder'] as const).map((kind) => ({
    rule: `${kind} needs a list and counts for itself, even before the watch opened`,
    end: { kind, message },
    history: notOpened,
    step: { next: 'list' as const, delayMs: spoiltMs, reason: kind, failed: kind, isAnswered: true },
  })),
  {
    rule: 'the first 410 lists at once, whatever failed before',
    end: { kind: 'gone', message },
    history: { ...notOpened, failures: { ...failures, gone: 0, unreached: 12 } },
    step: { next: 'list', delayMs: 0, reason: 'gone', failed: 'gone', isAnswered: true },
  },
  {
    rule: 'a server that says 410 again and again is given time',
    end: { kind: 'gone', message },
    history: notOpened,
    step: { next: 'list', delayMs: spoiltMs / 2, reason: 'gone', failed: 'gone' },
  },
  {
    rule: 'a refused watch is not repeated: a list follows',
    end: { kind: 'refused', retryAfterMs: undefined, message, isAnswered: true },
    history: notOpened,
    step: { next: 'list', delayMs: spoiltMs, reason: 'refused', failed: 'refused' },
  },
  {
    rule: 'a longer Retry-After wins over the backoff',
    end: { kind: 'throttled', retryAfterMs: 9_000, message, isAnswered: true },
    history: notOpened,
    step: { next: 'watch', delayMs: 9_000, reason: 'throttled', failed: 'throttled', checkVersion: true },
  },
  {
    rule: 'a longer backoff wins over Retry-After',
    end: { kind: 'failed', retryAfterMs: 1, message, isAnswered: true },
    history: notOpened,
    step: {
      next: 'watch',
      delayMs: unservedMs,
      reason: 'failed',
      failed: 'failed',
      isAnswered: true,
      checkVersion: true,
    },
  },
];

describe('afterWatch()', () => {
  it.each(watchRows)('$rule', ({ end, history, step }) => {
    const found = afterWatch(end, history, middle);
    expect({ trouble: undefined, ...found }).toMatchObject(step);
  });
});

type FailedList = Exclude<ListEnd, { kind: 'listed' }>;
const failed = (answer: Exclude<Answer, { kind: 'ok' | 'gone' }>): FailedList => ({ kind: 'failed', answer });

const listRows: { rule: string; result: FailedList; step: Partial<ReflectorStep> }[] = [
  {
    rule: 'a requested list begins at once',
    result: { kind: 'aborted' },
    step: { delayMs: 0, reason: 'requested', trouble: undefined },
  },
  {
    rule: 'an expired continue token counts as a 410',
    result: { kind: 'expired', message },
    step: { delayMs: spoiltMs / 2, reason: 'expired', failed: 'gone', isAnswered: true },
  },
  {
    rule: 'an unusable list counts as a fault of a server that answers',
    result: { kind: 'fault', message },
    step: { delayMs: spoiltMs, reason: 'fault', failed: 'fault', isAnswered: true },
  },
  {
    rule: 'a list that a server answers with a failure counts as such',
    result: failed({ kind: 'failed', status: 500, retryAfterMs: undefined, message }),
    step: { delayMs: unservedMs, reason: 'failed', failed: 'failed', isAnswered: true, trouble: message },
  },
  {
    rule: 'a list without an answer shows a server that is not reached',
    result: failed({ kind: 'failed', status: undefined, retryAfterMs: undefined, message }),
    step: { delayMs: unservedMs, reason: 'failed', failed: 'unreached', isAnswered: false },
  },
  {
    rule: 'Retry-After delays the next list',
    result: failed({ kind: 'throttled', retryAfterMs: 7_000, message }),
    step: { delayMs: 7_000, reason: 'throttled', failed: 'throttled' },
  },
  {
    rule: 'a missing right is a refusal',
    result: failed({ kind: 'forbidden', namespaceTerminating: false, message }),
    step: { delayMs: unservedMs, reason: 'refused', failed: 'failed' },
  },
  {
    rule: 'a request that was not sent is no trouble of the server',
    result: failed({ kind: 'notSent', reason: 'stopped' }),
    step: { delayMs: unservedMs, reason: 'failed', trouble: undefined, failed: undefined },
  },
];

describe('afterList() always lists again', () => {
  it.each(listRows)('$rule', ({ result, step }) => {
    const found = afterList(result, { failures }, middle);
    expect({ trouble: undefined, failed: undefined, ...found }).toMatchObject({ next: 'list', ...step });
  });
});

describe('relistMs()', () => {
  it.each([
    { rule: 'begins at 200 ms', failed: 0, random: 0.5, ms: 200 },
    { rule: 'doubles with each failure', failed: 4, random: 0.5, ms: 3_200 },
    { rule: 'spreads down to half', failed: 4, random: 0, ms: 1_600 },
    { rule: 'never passes its maximum', failed: 1_000, random: 1, ms: relist.mostMs },
  ])('$rule', ({ failed: count, random, ms }) => {
    expect(relistMs(count, () => random)).toBe(ms);
  });
});
