// Records the outcome of a pass in the ledger, the metrics, the log and an event, and schedules the next look. No other file
// may put a key back into the queue because of an outcome.
import type { Clock } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import type { Key } from '../../../object/meta/object.ts';
import type { QueuePart } from '../../../queue/queue-part.ts';
import { backflowFailuresIn, backflowMessage, backflowRetryMs } from '../../plan/backflow.ts';
import type { Facts, Outcome } from '../../plan/step.ts';
import type { Contest } from '../../world/contest.ts';
import { type LedgerPage, labelOf } from '../../world/ledger.ts';
import { headsOf } from '../../world/proven.ts';
import { refusedDelayMs, unwatchedDelayMs } from '../../world/refused-requests.ts';
import { asSentence, type EventNote } from './event-recorder.ts';
import type { SyncMetrics } from './metrics.ts';
import type { Recent } from './recent.ts';
import { versionOf } from './reconcile-ports.ts';
import type { SyncWorld } from './rules.ts';

export interface RecordOutcomeOptions {
  ledger: LedgerPage;
  recent: Recent;
  contest: Contest;
  queue: QueuePart;
  metrics: SyncMetrics;
  clock: Clock;
  log: Log;
  generation: () => number;
  enqueue: (key: Key) => void;
  world: SyncWorld;
  tell: (note: EventNote) => void;
  forgetEvents: (key: Key) => void;
}

/** Pause between reads of an unwatched host object: its owner seldom gives up the name, and every look is a request. */
const unseenRetryMs = 60_000;

/** Pause between reads of the host Service that Services of several namespaces claim: it is not watched. */
const hostServiceRetryMs = 30_000;

export function recordOutcome(
  key: Key,
  { outcome, facts }: { outcome: Outcome; facts: Facts },
  options: RecordOutcomeOptions,
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
        options.recent.hour.noteDelay(now - dirtySince, now);
      }
      ledger.settle(key, versionOf(facts, options.generation()));
      ledger.setEqualHeads(key, headsOf(facts, options.generation()));
      ledger.setDifferences(key, []);
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
    case 'refused': {
      queue.forget(key);
      const refusedForMs = now - (ledger.entry(key)?.sinceMs ?? now);
      const delayMs = refusedDelayMs(outcome.reason, refusedForMs);
      if (delayMs !== undefined) queue.addAfter(key, delayMs);
      if (outcome.reason === 'HostNameTaken' && options.world.windows.hostServices === undefined)
        queue.addAfter(key, unwatchedDelayMs(refusedForMs));
      if (outcome.failure?.retryAfterMs !== undefined) queue.addAfter(key, outcome.failure.retryAfterMs);
      break;
    }
    case 'waiting':
      if (dirtySince !== undefined) ledger.noteDirty(key, dirtySince);
      if (outcome.retryAfterMs !== undefined) queue.addAfter(key, outcome.retryAfterMs);
      // Only once: two keys that wait for each other would otherwise wake each other forever.
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
  if (facts.nameClash && facts.nameClash.rivals.length > 0) queue.addAfter(key, hostServiceRetryMs);
  // Rivals for the name see this in no window, so they are woken.
  const isGivenUp = hasGivenUp(outcome);
  if (isGivenUp !== undefined && options.world.candidates.noteGivenUp(key, isGivenUp))
    for (const rival of options.world.rivalsFor(facts)) options.enqueue(rival);
  const askAgainMs = backflowRetryMs(facts.backflowFailures);
  if (askAgainMs !== undefined) queue.addAfter(key, askAgainMs);
  const isHeldUp = outcome.kind === 'refused' || outcome.kind === 'waiting' || outcome.kind === 'left';
  if (isHeldUp && options.world.unseenOnHost(key) !== undefined) queue.addAfter(key, unseenRetryMs);
  tell(key, { outcome, facts, before }, options);
}

/**
 * Whether an object may not be on the host because of its addresses, which a patch may have made, or because of what it was made from.
 * Undefined for a pass that has decided nothing: rivals that heard of each wait would wake the source of the object, and then wait
 * for their own source, and so on without an end.
 */
function hasGivenUp(outcome: Outcome): boolean | undefined {
  if (outcome.kind === 'retry') return undefined;
  if (outcome.kind === 'waiting' && outcome.reason === 'SourcePending') return undefined;
  if (outcome.kind === 'refused') return outcome.reason === 'AddressRefused';
  return outcome.kind === 'ineligible' && outcome.reason === 'SourceFails';
}

function tell(
  key: Key,
  { outcome, facts, before }: { outcome: Outcome; facts: Facts; before: Outcome | undefined },
  options: RecordOutcomeOptions,
): void {
  const isNews = (before === undefined ? 'inSync' : labelOf(before)) !== labelOf(outcome);
  tellLapse(key, outcome.kind === 'refused' ? { ...facts, patchLapse: undefined } : facts, options);
  // A pass that is to be tried again has not looked at everything.
  if (outcome.kind !== 'retry') tellBackflow(key, facts, options);
  if (outcome.kind === 'refused') {
    const fields = {
      component: 'sync',
      kind: kindOf(options),
      key,
      reason: outcome.isBackFlow ? 'BackflowFailed' : outcome.reason,
      message: outcome.message,
      detail: outcome.detail,
    };
    if (isNews) options.log.warn(fields, outcome.isBackFlow ? 'host value not carried back' : 'object refused');
    // The operator must grant a missing permission; the tenant cannot, so the tenant gets no event.
    if (facts.virtual === undefined || outcome.reason === 'Forbidden') return;
    // What the tenant's own API server says of it is no secret of the host.
    const why = outcome.isBackFlow && outcome.detail !== undefined ? `: ${outcome.detail}` : '';
    const message = asSentence(outcome.message + why);
    options.tell({ key, uid: facts.virtual.uid, type: 'Warning', reason: fields.reason, message });
    return;
  }
  if (before?.kind === 'refused') options.forgetEvents(key);
  if (!isNews) return;
  const message = 'message' in outcome ? outcome.message : undefined;
  if (outcome.kind === 'waiting' && outcome.reason === 'HostNamespaceMissing') {
    // This warning is the only sign for an operator who has mapped to a host namespace that does not exist.
    options.log.warn(
      { component: 'sync', kind: kindOf(options), key, reason: outcome.reason, message },
      'object waits',
    );
    return;
  }
  options.log.debug(
    { component: 'sync', kind: kindOf(options), key, outcome: labelOf(outcome), message },
    'object changed state',
  );
}

/** Reports a failed patch that its object was written without: the copy differs from the configuration. */
function tellLapse(key: Key, { patchLapse, virtual }: Facts, options: RecordOutcomeOptions): void {
  const message = patchLapse?.message;
  const before = options.ledger.setLapse(key, patchLapse)?.message;
  if (message === before) return;
  if (message === undefined || virtual === undefined) {
    options.forgetEvents(key);
    return;
  }
  options.log.warn({ component: 'sync', kind: kindOf(options), key, reason: 'PatchFailed', message }, 'patch left out');
  options.tell({ key, uid: virtual.uid, type: 'Warning', reason: 'PatchFailed', message: asSentence(message) });
}

/** A host value that cannot be reversed: both sides keep what they have, and everything else goes on. */
function tellBackflow(key: Key, { backflowFailures, virtual }: Facts, options: RecordOutcomeOptions): void {
  // What nobody has judged is judged again.
  if (backflowFailuresIn(backflowFailures).some(({ failure }) => failure.isPassing)) return;
  const message = backflowMessage(backflowFailures);
  const failures = message === undefined ? undefined : backflowFailures;
  const before = backflowMessage(options.ledger.setBackflowFailures(key, failures));
  if (message === before) return;
  if (message === undefined || virtual === undefined) {
    options.forgetEvents(key);
    return;
  }
  const reason = 'BackflowFailed';
  options.log.warn({ component: 'sync', kind: kindOf(options), key, reason, message }, 'host value not carried back');
  options.tell({ key, uid: virtual.uid, type: 'Warning', reason, message: asSentence(message) });
}

function kindOf({ world }: RecordOutcomeOptions): string {
  return world.rules.translation.kind.kind;
}
