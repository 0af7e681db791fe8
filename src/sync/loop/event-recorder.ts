// Writes Kubernetes events on virtual objects, to tell the tenant about refusals and failures. Events of one object and reason
// are merged, their rate is limited, and no pass waits for them. Messages must not reveal host names to the tenant.
import { createHash } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { eventsResource } from '../../cluster/wire/scope.ts';
import type { Writer } from '../../cluster/write/writer.ts';
import type { Log } from '../../log.ts';
import { type Key, splitKey } from '../../object/meta/object.ts';
import { safeValue } from '../../safe-text.ts';
import type { SyncedKind } from '../plan/kind.ts';

export interface EventNote {
  key: Key;
  uid: string;
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
}

export interface EventRecorder {
  record(note: EventNote): void;
  /** The problem is solved, so the next problem of this object is a new event. */
  forget(key: Key): void;
}

/** Kubernetes rejects longer messages. */
const messageLimit = 1024;
/** Characters of the object's name in the event's name: with the digest it stays within the limit of 253. */
const shownOfName = 200;
/** Hexadecimal digits: two event names collide once in 2^64. */
const digestLength = 16;
/** Shortest time between two equal events of one object. */
const repeatMs = 5 * 60_000;
/** Tokens for new events: a storm of refusals must not become a storm of writes. */
const burst = 50;
const tokensPerSecond = 5;
/** Remembered events. Beyond the limit the oldest is forgotten, so that it may be written again as a new one. */
const memoryLimit = 5000;

interface SentEvent {
  name: string;
  message: string;
  count: number;
  atMs: number;
}

export function createEventRecorder(options: {
  writer: Writer;
  kind: SyncedKind;
  clock: Clock;
  log: Log;
  onOutcome: (outcome: 'written' | 'merged' | 'dropped' | 'failed') => void;
}): EventRecorder {
  const { writer, kind, clock, log, onOutcome } = options;
  const sentEvents = new Map<string, SentEvent>();
  let tokens = burst;
  let refilledMs = clock.now();

  const takeToken = (): boolean => {
    const now = clock.now();
    tokens = Math.min(burst, tokens + ((now - refilledMs) / 1000) * tokensPerSecond);
    refilledMs = now;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  };

  const send = async (note: EventNote, before: SentEvent | undefined): Promise<void> => {
    const place = splitKey(note.key);
    const time = clock
      .wallTime()
      .toISOString()
      .replace(/\.\d+Z$/, 'Z');
    const count = (before?.count ?? 0) + 1;
    const name =
      before?.name ?? `${place.name.slice(0, shownOfName)}.${digest(`${note.uid}${note.reason}${time}${clock.now()}`)}`;
    remember({ name, message: note.message, count, atMs: clock.now() }, note);
    const message = safeValue(note.message).slice(0, messageLimit);
    if (before !== undefined) {
      const patched = await writer.patch(
        eventsResource,
        { namespace: place.namespace, name },
        { count, lastTimestamp: time, message },
      );
      // Events expire after an hour; an expired event is written as a new one.
      if (patched.kind !== 'notFound') return onOutcome(patched.kind === 'ok' ? 'merged' : 'failed');
    }
    const answer = await writer.create(eventsResource, {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace: place.namespace },
      involvedObject: {
        apiVersion: kind.apiVersion,
        kind: kind.kind,
        namespace: place.namespace,
        name: place.name,
        uid: note.uid,
      },
      reason: note.reason,
      message,
      type: note.type,
      source: { component: 'hostward' },
      reportingComponent: 'hostward',
      reportingInstance: 'hostward',
      firstTimestamp: time,
      lastTimestamp: time,
      count,
    });
    if (answer.kind !== 'ok')
      log.debug(
        { component: 'sync', key: note.key, reason: note.reason, answer: answer.kind },
        'event was not written',
      );
    onOutcome(answer.kind === 'ok' ? 'written' : 'failed');
  };

  const remember = (entry: SentEvent, note: EventNote): void => {
    const id = `${note.key} ${note.reason}`;
    sentEvents.delete(id);
    sentEvents.set(id, entry);
    if (sentEvents.size > memoryLimit) sentEvents.delete(sentEvents.keys().next().value as string);
  };

  return {
    record(note) {
      const before = sentEvents.get(`${note.key} ${note.reason}`);
      if (before !== undefined && before.message === note.message && clock.now() - before.atMs < repeatMs) return;
      if (!takeToken()) return onOutcome('dropped');
      send(note, before).catch((error: unknown) => {
        log.error({ component: 'sync', key: note.key, err: error }, 'recording an event failed');
        onOutcome('failed');
      });
    },
    forget(key) {
      // Another object may later have this name; its events must have their own count.
      for (const id of [...sentEvents.keys()]) if (id.startsWith(`${key} `)) sentEvents.delete(id);
    },
  };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digestLength);
}
