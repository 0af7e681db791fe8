// Events on the virtual object, for what its owner must know: merged per object and reason, limited in rate, never in the
// way of the sync itself. Messages speak of virtual names only; host names are not the tenant's business.
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
  /** The trouble is over: the next one of this object is news again. */
  forget(key: Key): void;
}

/** Kubernetes refuses longer messages. */
const messageLimit = 1024;
/** Of the object's name in that of the event: with the digest behind it the API server's 253 characters are enough. */
const shownOfName = 200;
/** Hexadecimal digits: names of two events meet once in 2^64. */
const digestLength = 16;
/** The same news about the same object is repeated at most this often. */
const repeatMs = 5 * 60_000;
/** Tokens for new events: a storm of refusals must not become a storm of writes. */
const burst = 50;
const tokensPerSecond = 5;
/** Objects remembered; beyond it the oldest are forgotten and may be told again. */
const memoryLimit = 5000;

interface Told {
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
  const told = new Map<string, Told>();
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

  const send = async (note: EventNote, before: Told | undefined): Promise<void> => {
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
      // Events live an hour; a merged one that is gone is written anew.
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

  const remember = (entry: Told, note: EventNote): void => {
    const id = `${note.key} ${note.reason}`;
    told.delete(id);
    told.set(id, entry);
    if (told.size > memoryLimit) told.delete(told.keys().next().value as string);
  };

  return {
    record(note) {
      const before = told.get(`${note.key} ${note.reason}`);
      if (before !== undefined && before.message === note.message && clock.now() - before.atMs < repeatMs) return;
      if (!takeToken()) return onOutcome('dropped');
      send(note, before).catch((error: unknown) => {
        log.error({ component: 'sync', key: note.key, err: error }, 'recording an event failed');
        onOutcome('failed');
      });
    },
    forget(key) {
      // A later event of another object under this name starts its own count.
      for (const id of [...told.keys()]) if (id.startsWith(`${key} `)) told.delete(id);
    },
  };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digestLength);
}
