// Every consequence of a pass on one screen: what status says, what is counted, who is told, and when to look again. Nobody
// else in the room may put a key back into the queue because of an outcome.
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Key } from '../object/object.ts';
import type { WorkQueue } from '../queue/work-queue.ts';
import type { Contest } from './contest.ts';
import type { EventNote } from './event-recorder.ts';
import { forbiddenDelayMs } from './forbidden-delay.ts';
import { versionOf } from './hands.ts';
import { type Ledger, labelOf } from './ledger.ts';
import type { SyncMetrics } from './metrics.ts';
import type { Facts, Outcome } from './step.ts';

export interface ConcludeOptions {
  ledger: Ledger;
  contest: Contest;
  queue: WorkQueue;
  metrics: SyncMetrics;
  clock: Clock;
  log: Log;
  generation: () => number;
  enqueue: (key: Key) => void;
  /** No watch will tell when the host object that stands there changes or goes. */
  isHostUnseen: (key: Key) => boolean;
  tell: (note: EventNote) => void;
  untell: (key: Key) => void;
}

/** Names are seldom given up, and every look is a request. */
const unseenRetryMs = 60_000;

export function conclude(
  key: Key,
  { outcome, facts }: { outcome: Outcome; facts: Facts },
  options: ConcludeOptions,
): void {
  const { ledger, queue, clock } = options;
  const now = clock.now();
  const before = ledger.set(key, outcome, now)?.outcome;
  const dirtySince = ledger.takeDirtySince(key);
  switch (outcome.kind) {
    case 'inSync':
      if (dirtySince !== undefined) {
        options.metrics.lag.observe((now - dirtySince) / 1000);
        ledger.noteLag(now - dirtySince);
      }
      ledger.settle(key, versionOf(facts, options.generation()));
      ledger.setDifference(key, undefined);
      queue.forget(key);
      if (facts.patchLapse?.retryAfterMs !== undefined) queue.addAfter(key, facts.patchLapse.retryAfterMs);
      break;
    case 'ineligible':
      ledger.forget(key);
      options.contest.forget(key);
      queue.forget(key);
      if (facts.virtual === undefined && facts.host === undefined) ledger.set(key, undefined, now);
      break;
    case 'left':
      if (outcome.reason !== 'DryRun') ledger.forget(key);
      queue.forget(key);
      break;
    case 'refused':
      queue.forget(key);
      if (outcome.reason === 'Forbidden') {
        queue.addAfter(key, forbiddenDelayMs(now - (ledger.entry(key)?.sinceMs ?? now)));
      }
      if (outcome.failure?.retryAfterMs !== undefined) queue.addAfter(key, outcome.failure.retryAfterMs);
      break;
    case 'waiting':
      if (dirtySince !== undefined) ledger.noteDirty(key, dirtySince);
      if (outcome.retryAfterMs !== undefined) queue.addAfter(key, outcome.retryAfterMs);
      // Once: two that wait for each other would do nothing else.
      if (outcome.wakes !== undefined && (before?.kind !== 'waiting' || before.wakes !== outcome.wakes))
        options.enqueue(outcome.wakes);
      break;
    case 'retry':
      if (dirtySince !== undefined) ledger.noteDirty(key, dirtySince);
      if (outcome.retryAfterMs !== undefined) queue.addAfter(key, outcome.retryAfterMs);
      else queue.retry(key);
      break;
    default:
      outcome satisfies never;
  }
  const isHeldUp = outcome.kind === 'refused' || outcome.kind === 'waiting' || outcome.kind === 'left';
  if (isHeldUp && options.isHostUnseen(key)) queue.addAfter(key, unseenRetryMs);
  tell(key, { outcome, facts, before }, options);
}

function tell(
  key: Key,
  { outcome, facts, before }: { outcome: Outcome; facts: Facts; before: Outcome | undefined },
  options: ConcludeOptions,
): void {
  const isNews = (before === undefined ? 'inSync' : labelOf(before)) !== labelOf(outcome);
  tellLapse(key, outcome.kind === 'refused' ? { ...facts, patchLapse: undefined } : facts, options);
  if (outcome.kind === 'refused') {
    const fields = { room: 'sync', key, reason: outcome.reason, message: outcome.message, detail: outcome.detail };
    if (isNews) options.log.warn(fields, 'object refused');
    // A missing permission of the daemon is the operator's business, not the tenant's.
    if (facts.virtual === undefined || outcome.reason === 'Forbidden') return;
    const message = asSentence(outcome.message);
    options.tell({ key, uid: facts.virtual.uid, type: 'Warning', reason: outcome.reason, message });
    return;
  }
  if (before?.kind === 'refused') options.untell(key);
  if (!isNews) return;
  const message = 'message' in outcome ? outcome.message : undefined;
  if (outcome.kind === 'waiting' && outcome.reason === 'HostNamespaceMissing') {
    // Nothing but this line would tell an operator who has mapped to a namespace that nobody makes.
    options.log.warn({ room: 'sync', key, reason: outcome.reason, message }, 'object waits');
    return;
  }
  options.log.debug({ room: 'sync', key, outcome: labelOf(outcome), message }, 'object changed state');
}

/** A patch that failed without failing its object: the copy is not what the configuration says, and its owner must know. */
function tellLapse(key: Key, { patchLapse, virtual }: Facts, options: ConcludeOptions): void {
  const message = patchLapse?.message;
  const before = options.ledger.setLapse(key, message);
  if (message === before) return;
  if (message === undefined || virtual === undefined) {
    options.untell(key);
    return;
  }
  options.log.warn({ room: 'sync', key, reason: 'PatchFailed', message }, 'patch left out');
  options.tell({ key, uid: virtual.uid, type: 'Warning', reason: 'PatchFailed', message: asSentence(message) });
}

/** Events begin with a capital. */
function asSentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}`;
}
