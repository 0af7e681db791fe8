// Opens the writer on one cluster. In: reads and writes of single objects, sent in the given order. Out: one answer for
// each request, without retries. Limits the requests in flight and the write rate, and sends no write without the permit.
// Must never know what an answer means for an object.

import type { Clock, Timer } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { Fifo } from '../../pace/fifo.ts';
import { LastingTrouble } from '../../pace/lasting-trouble.ts';
import { TokenBucket } from '../../pace/token-bucket.ts';
import type { Answer } from '../answer.ts';
import { type WriterMetrics, type WriteVerb, writerMetrics } from '../metrics.ts';
import type { ApiRequest, Connection, RequestHandle } from '../wire/connection.ts';
import type { ResourceRef } from '../wire/scope.ts';
import { collectionPath, objectPath } from '../wire/scope.ts';
import { InFlightLimit } from './in-flight-limit.ts';
import type { Preconditions, StillWanted, Writer } from './writer.ts';

export interface WriterOptions {
  connection: Connection;
  clock: Clock;
  /** Spreads the first request after a pause, because the server gave many clients the same pause. */
  random: () => number;
  log: Log;
  metrics: Metrics;
  /** Called just before a write leaves. */
  permit: () => boolean;
  maxWritesPerSecond?: number;
  fieldManager: string;
  maxInFlight?: number;
  /** Called with every answer to a write of an object and the time it took, except for events. */
  onAnswer?: (answer: Answer, write: WriteRequest, tookMs: number) => void;
}

/** What a right to write is about. */
export interface WriteRequest {
  verb: 'create' | 'patch' | 'delete';
  resource: string;
  /** Of the collection. */
  path: string;
}

export function openWriter(options: WriterOptions): Writer {
  return new PacedWriter(options);
}

interface QueuedRequest {
  verb: WriteVerb;
  /** Absent for a read. */
  write?: WriteRequest;
  request: ApiRequest;
  resolve(answer: Answer): void;
}

/** The pause of all requests after a 429 without Retry-After. */
const pushbackMs = 1_000;
/** A burst of a tenth of a second may leave at once, so that a rate limit does not delay a single change. */
const burstSeconds = 0.1;

class PacedWriter implements Writer {
  #connection: Connection;
  #clock: Clock;
  #random: () => number;
  #log: Log;
  #metrics: WriterMetrics;
  #permit: () => boolean;
  #fieldManager: string;
  #onAnswer: WriterOptions['onAnswer'];
  #limit: InFlightLimit;
  #bucket: TokenBucket | undefined;
  readonly #queue = new Fifo<QueuedRequest>();
  #inFlight = 0;
  #holdUntilMs = 0;
  readonly #pushedBack = new LastingTrouble();
  #timer: Timer | undefined;
  #state: 'open' | 'stopping' = 'open';
  /** All request handles, as many as the most requests in flight so far, and the free ones among them. */
  #handles: RequestHandle[] = [];
  #freeHandles: RequestHandle[] = [];
  #idle: (() => void) | undefined;

  constructor(options: WriterOptions) {
    this.#connection = options.connection;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#log = options.log;
    this.#metrics = writerMetrics(options.metrics, options.connection.name, () => ({
      inFlight: this.#inFlight,
      limit: this.#limit.value,
      waiting: this.#queue.size,
    }));
    this.#permit = options.permit;
    this.#fieldManager = encodeURIComponent(options.fieldManager);
    this.#onAnswer = options.onAnswer;
    this.#limit = new InFlightLimit(options.maxInFlight);
    const perSecond = options.maxWritesPerSecond;
    if (perSecond !== undefined) {
      const rate = { perSecond, burst: Math.max(1, perSecond * burstSeconds) };
      this.#bucket = new TokenBucket(rate, options.clock.now(), 1);
    }
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get(ref: ResourceRef, place: { namespace: string; name: string }): Promise<Answer> {
    return this.#enqueue({ verb: 'get', request: { method: 'GET', path: objectPath(ref, place) } });
  }

  create(ref: ResourceRef, object: KubeObject, isWanted?: StillWanted): Promise<Answer> {
    const { namespace } = object.metadata;
    const path = `${collectionPath(ref, namespace)}?fieldManager=${this.#fieldManager}`;
    return this.#enqueueWrite(
      { verb: 'create', ref, namespace },
      {
        method: 'POST',
        path,
        body: JSON.stringify(object),
        contentType: 'application/json',
        permit: this.#permitFor(isWanted),
      },
    );
  }

  patch(
    ref: ResourceRef,
    place: { namespace: string; name: string },
    mergePatch: object,
    isWanted?: StillWanted,
  ): Promise<Answer> {
    return this.#enqueueWrite(
      { verb: 'patch', ref, ...place },
      {
        method: 'PATCH',
        path: `${objectPath(ref, place)}?fieldManager=${this.#fieldManager}`,
        body: JSON.stringify(mergePatch),
        contentType: 'application/merge-patch+json',
        permit: this.#permitFor(isWanted),
      },
    );
  }

  remove(
    ref: ResourceRef,
    place: { namespace: string; name: string },
    preconditions: Preconditions,
    isWanted?: StillWanted,
  ): Promise<Answer> {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background', preconditions };
    return this.#enqueueWrite(
      { verb: 'delete', ref, ...place },
      {
        method: 'DELETE',
        path: objectPath(ref, place),
        body: JSON.stringify(body),
        contentType: 'application/json',
        permit: this.#permitFor(isWanted),
      },
    );
  }

  #permitFor(isWanted: StillWanted | undefined): () => boolean {
    const permit = this.#permit;
    return isWanted === undefined ? permit : () => permit() && isWanted();
  }

  async stop(withinMs: number): Promise<void> {
    this.#state = 'stopping';
    this.#timer?.cancel();
    for (let each = this.#queue.shift(); each !== undefined; each = this.#queue.shift())
      this.#settle(each, { kind: 'notSent', reason: 'stopped' }, 0);
    if (this.#inFlight > 0) {
      const timer = this.#clock.after(withinMs, () => {
        for (const handle of this.#handles) handle.abort?.();
      });
      await new Promise<void>((resolve) => (this.#idle = resolve));
      timer.cancel();
    }
  }

  #enqueueWrite(
    { verb, ref, namespace }: { verb: WriteRequest['verb']; ref: ResourceRef; namespace: string | undefined },
    request: ApiRequest,
  ): Promise<Answer> {
    const write = { verb, resource: ref.resource, path: collectionPath(ref, namespace) };
    return this.#enqueue({ verb, write, request });
  }

  #enqueue(asked: Omit<QueuedRequest, 'resolve'>): Promise<Answer> {
    return new Promise((resolve) => {
      const waiting = { ...asked, resolve };
      if (this.#state !== 'open') return this.#settle(waiting, { kind: 'notSent', reason: 'stopped' }, 0);
      this.#queue.push(waiting);
      this.#pump();
    });
  }

  #pump(): void {
    for (;;) {
      const next = this.#queue.first;
      if (next === undefined || this.#inFlight >= this.#limit.value) return;
      if (next.request.permit?.() === false) {
        this.#queue.shift();
        this.#settle(next, { kind: 'notSent', reason: 'noLease' }, 0);
        continue;
      }
      const waitMs = this.#waitMs(next.verb);
      if (waitMs > 0) {
        this.#timer?.cancel();
        this.#timer = this.#clock.after(waitMs, () => this.#pump());
        return;
      }
      this.#queue.shift();
      void this.#send(next);
    }
  }

  /** The time until the next write may leave. A result of 0 has consumed a token of the rate limit. */
  #waitMs(verb: WriteVerb): number {
    const nowMs = this.#clock.now();
    if (nowMs < this.#holdUntilMs) return this.#holdUntilMs - nowMs;
    return verb === 'get' ? 0 : (this.#bucket?.take(nowMs) ?? 0);
  }

  async #send(sending: QueuedRequest): Promise<void> {
    const startMs = this.#clock.now();
    this.#inFlight++;
    const handle = this.#freeHandles.pop() ?? this.#newHandle();
    sending.request.handle = handle;
    const answer = await this.#connection.request(sending.request);
    this.#freeHandles.push(handle);
    const tookMs = this.#clock.now() - startMs;
    this.#learn(answer, tookMs);
    this.#inFlight--;
    this.#settle(sending, answer, tookMs);
    if (this.#state === 'open') this.#pump();
    else if (this.#inFlight === 0) this.#idle?.();
  }

  #newHandle(): RequestHandle {
    const handle: RequestHandle = { abort: undefined };
    this.#handles.push(handle);
    return handle;
  }

  #learn(answer: Answer, tookMs: number): void {
    const nowMs = this.#clock.now();
    if (answer.kind === 'throttled' || answer.kind === 'failed') {
      this.#limit.pushedBack(nowMs);
      const askedMs = answer.retryAfterMs ?? (answer.kind === 'throttled' ? pushbackMs : 0);
      if (askedMs > 0) this.#hold(nowMs + askedMs + this.#random() * Math.min(askedMs / 4, pushbackMs));
    } else if (answer.kind !== 'notSent') {
      this.#limit.answered(tookMs, this.#inFlight);
      this.#pushedBack.over();
    }
  }

  #hold(untilMs: number): void {
    if (untilMs <= this.#holdUntilMs) return;
    const nowMs = this.#clock.now();
    const waitMs = Math.round(untilMs - nowMs);
    const message = 'the api server asks to wait';
    if (this.#pushedBack.isNews(message, nowMs)) this.#log.warn({ cluster: this.#connection.name, waitMs }, message);
    this.#holdUntilMs = untilMs;
  }

  #settle(waiting: QueuedRequest, answer: Answer, tookMs: number): void {
    this.#metrics.wrote(waiting.verb, answer.kind, tookMs / 1000);
    const { write } = waiting;
    if (write !== undefined && write.resource !== 'events') this.#onAnswer?.(answer, write, tookMs);
    waiting.resolve(answer);
  }
}
