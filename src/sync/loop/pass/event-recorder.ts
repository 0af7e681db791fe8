// Writes Kubernetes events on virtual objects, to tell the tenant about refusals and failures. Events of one object and reason
// are merged, their rate is limited, those beyond it wait for their turn, and no pass waits for them. Messages must not reveal host
// names to the tenant.
import { createHash } from 'node:crypto';
import type { Clock, Timer } from '../../../clock.ts';
import type { Answer } from '../../../cluster/answer.ts';
import { eventsResource } from '../../../cluster/wire/scope.ts';
import type { Writer } from '../../../cluster/write/writer.ts';
import type { Log } from '../../../log.ts';
import { type Key, type KubeObject, splitKey } from '../../../object/meta/object.ts';
import { TokenBucket } from '../../../pace/token-bucket.ts';
import { safeValue } from '../../../safe-text.ts';
import type { SyncedKind } from '../../plan/kind.ts';

export interface EventNote {
  key: Key;
  uid: string;
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
}

export interface EventRecorder {
  /** Why events may not be written, as the API server says it; undefined while they may, or nobody has tried. */
  readonly forbidden: string | undefined;
  record(note: EventNote): void;
  /** The problem is solved, so the next problem of this object is a new event. */
  forget(key: Key): void;
  stop(): void;
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
const eventRate = { burst: 50, perSecond: 5 };
/** Remembered events. Beyond the limit the oldest is forgotten, so that it may be written again as a new one. */
const memoryLimit = 5000;
/** Events that wait for their turn, a quarter of an hour of them. One beyond that is dropped. */
const waitingLimit = 5000;

interface SentEvent {
  name: string;
  message: string;
  count: number;
  atMs: number;
}

export interface EventRecorderOptions {
  writer: Writer;
  kind: SyncedKind;
  clock: Clock;
  log: Log;
  /** Whoever has lost the lease tells nothing more: the next leader sees the same. */
  mayWrite: () => boolean;
  onOutcome: (outcome: 'written' | 'merged' | 'dropped' | 'failed') => void;
}

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  return new Recorder(options);
}

class Recorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #sent = new Map<string, SentEvent>();
  /** The newest message of each object and reason, the one that has waited longest first. */
  readonly #waiting = new Map<string, EventNote>();
  /** A few: an object's events are found by them, where thousands of other objects have events too. */
  readonly #reasons = new Set<string>();
  readonly #bucket: TokenBucket;
  #turn: Timer | undefined;
  #forbidden: string | undefined;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#bucket = new TokenBucket(eventRate, options.clock.now());
  }

  get forbidden(): string | undefined {
    return this.#forbidden;
  }

  record(note: EventNote): void {
    const id = idOf(note);
    this.#reasons.add(note.reason);
    if (this.#waiting.has(id) || this.#waiting.size < waitingLimit) this.#waiting.set(id, note);
    else this.#options.onOutcome('dropped');
    this.#takeTurns();
  }

  forget(key: Key): void {
    // Another object may later have this name; its events must have their own count.
    for (const reason of this.#reasons)
      for (const events of [this.#sent, this.#waiting]) events.delete(idOf({ key, reason }));
  }

  stop(): void {
    this.#turn?.cancel();
    this.#waiting.clear();
  }

  #takeTurns(): void {
    const { clock, mayWrite } = this.#options;
    if (this.#turn !== undefined) return;
    if (!mayWrite()) this.#waiting.clear();
    for (const [id, note] of this.#waiting) {
      const before = this.#sent.get(id);
      if (!this.#isRepeated(note, before)) {
        const waitMs = this.#bucket.take(clock.now());
        if (waitMs > 0) {
          this.#turn = clock.after(waitMs, () => {
            this.#turn = undefined;
            this.#takeTurns();
          });
          return;
        }
        this.#sendSoon(note, before);
      }
      this.#waiting.delete(id);
    }
  }

  #isRepeated({ message }: EventNote, before: SentEvent | undefined): boolean {
    return before?.message === message && this.#options.clock.now() - before.atMs < repeatMs;
  }

  #sendSoon(note: EventNote, before: SentEvent | undefined): void {
    const { log, onOutcome } = this.#options;
    this.#send(note, before).catch((error: unknown) => {
      log.error({ component: 'sync', key: note.key, err: error }, 'recording an event failed');
      onOutcome('failed');
    });
  }

  async #send(note: EventNote, before: SentEvent | undefined): Promise<void> {
    const { writer, kind, clock, log, onOutcome } = this.#options;
    const time = clock
      .wallTime()
      .toISOString()
      .replace(/\.\d+Z$/, 'Z');
    const count = (before?.count ?? 0) + 1;
    const name = before?.name ?? this.#newName(note, time);
    this.#remember({ name, message: note.message, count, atMs: clock.now() }, note);
    const message = safeValue(note.message).slice(0, messageLimit);
    if (before !== undefined) {
      const { namespace } = splitKey(note.key);
      const patched = await writer.patch(eventsResource, { namespace, name }, { count, lastTimestamp: time, message });
      // Events expire after an hour; an expired event is written as a new one.
      if (patched.kind !== 'notFound') {
        this.#tellRight(patched);
        return onOutcome(patched.kind === 'ok' ? 'merged' : 'failed');
      }
    }
    const answer = await writer.create(eventsResource, newEvent({ note, kind, name, time, count, message }));
    this.#tellRight(answer);
    if (answer.kind !== 'ok')
      log.debug(
        { component: 'sync', key: note.key, reason: note.reason, answer: answer.kind },
        'event was not written',
      );
    onOutcome(answer.kind === 'ok' ? 'written' : 'failed');
  }

  /** Nobody else would say so: what the tenant is not told is no failure of the object. */
  #tellRight(answer: Answer): void {
    const forbidden = answer.kind === 'forbidden' && !answer.namespaceTerminating ? answer.message : undefined;
    if (forbidden !== undefined && this.#forbidden === undefined)
      this.#options.log.warn(
        { component: 'sync', why: forbidden, fix: 'hostward doctor --rights virtual' },
        'events may not be written in the virtual cluster, so tenants are told of no refusal',
      );
    if (forbidden !== undefined || answer.kind === 'ok') this.#forbidden = forbidden;
  }

  #newName({ key, uid, reason }: EventNote, time: string): string {
    return `${splitKey(key).name.slice(0, shownOfName)}.${digest(`${uid}${reason}${time}${this.#options.clock.now()}`)}`;
  }

  #remember(entry: SentEvent, note: EventNote): void {
    const id = idOf(note);
    this.#sent.delete(id);
    this.#sent.set(id, entry);
    if (this.#sent.size > memoryLimit) this.#sent.delete(this.#sent.keys().next().value as string);
  }
}

function idOf({ key, reason }: Pick<EventNote, 'key' | 'reason'>): string {
  return `${key} ${reason}`;
}

interface NewEvent extends Pick<SentEvent, 'name' | 'message' | 'count'> {
  note: EventNote;
  kind: SyncedKind;
  /** RFC 3339. */
  time: string;
}

function newEvent({ note, kind, name, time, count, message }: NewEvent): KubeObject {
  const { namespace, name: involved } = splitKey(note.key);
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace },
    involvedObject: { apiVersion: kind.apiVersion, kind: kind.kind, namespace, name: involved, uid: note.uid },
    reason: note.reason,
    message,
    type: note.type,
    source: { component: 'hostward' },
    reportingComponent: 'hostward',
    reportingInstance: 'hostward',
    firstTimestamp: time,
    lastTimestamp: time,
    count,
  };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digestLength);
}

/** Kubernetes event messages begin with a capital letter. */
export function asSentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}`;
}
