// Leadership by a Lease object: who holds it may write, everyone else stands by. Clocks of two machines are never
// compared: a standby waits until it has itself seen the lease unchanged for its whole duration, and a holder counts
// from before it sent its last renewal. In comes a connection, out goes a claim that is true at the moment it is asked.
import { type Clock, pause, type Timer } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import type { Answer } from '../answer.ts';
import { type LeaseMetrics, leaseMetrics } from '../metrics.ts';
import type { Connection } from '../wire/connection.ts';
import { LeaseObject, type LeaseRecord, microTime, recordOf } from './lease-object.ts';

export interface LeaseOptions {
  connection: Connection;
  namespace: string;
  name: string;
  /** Ours alone, also across restarts of one pod: its name and something random. */
  identity: string;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: Metrics;
  leaseMs?: number;
  renewMs?: number;
  retryMs?: number;
}

export type LeaseState =
  | { kind: 'idle' }
  | { kind: 'standby'; holder: string | undefined; trouble: string | undefined }
  | { kind: 'leading'; sinceMs: number }
  | { kind: 'stopped' };

export interface Lease {
  start(): void;
  /** Gives the lease back, so that another may take it at once. */
  stop(): Promise<void>;
  /** True only while nobody else can hold it; ask at the moment of writing. */
  isHeld(): boolean;
  readonly state: LeaseState;
  subscribe(listener: (state: LeaseState) => void): () => void;
}

/**
 * The timings of kube-controller-manager: others wait for the first, a holder trusts a renewal for the second, attempts
 * are the third apart. What lies between the first two is the longest a write may be on its way after we were asked.
 */
const defaultLeaseMs = 15_000;
const defaultRenewMs = 10_000;
const defaultRetryMs = 2_000;
/** A standby looks more often than a leader renews: a lease that was given back is to be taken at once. */
const standbyLookMs = 1_000;
/** Stopping must not wait long for a server that does not answer. */
const releaseTimeoutMs = 1_500;

export function openLease(options: LeaseOptions): Lease {
  return new HeldLease(options);
}

interface Seen {
  lease: KubeObject;
  resourceVersion: string;
  record: LeaseRecord;
  sinceMs: number;
  /** Deleted by somebody; its holder may not have noticed. */
  isGone: boolean;
}

class HeldLease implements Lease {
  #options: LeaseOptions;
  #clock: Clock;
  #metrics: LeaseMetrics;
  #object: LeaseObject;
  #leaseMs: number;
  #renewMs: number;
  #retryMs: number;
  #state: LeaseState = { kind: 'idle' };
  #listeners = new Set<(state: LeaseState) => void>();
  /** Monotonic; counted from before the last successful renewal was sent. */
  #heldUntilMs = Number.NEGATIVE_INFINITY;
  /** What we last saw, and when we first saw it so. */
  #seen: Seen | undefined;
  #expiry: Timer | undefined;
  #ended = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#leaseMs = options.leaseMs ?? defaultLeaseMs;
    this.#renewMs = options.renewMs ?? defaultRenewMs;
    this.#retryMs = options.retryMs ?? defaultRetryMs;
    this.#object = new LeaseObject(options);
    this.#metrics = leaseMetrics(options.metrics, `${options.namespace}/${options.name}`);
  }

  get state(): LeaseState {
    return this.#state;
  }

  start(): void {
    if (this.#state.kind !== 'idle') return;
    this.#enter({ kind: 'standby', holder: undefined, trouble: undefined });
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    if (this.#state.kind === 'stopped') return;
    this.#ended.abort();
    await this.#running;
    this.#expiry?.cancel();
    // Before the lease is given back, nothing more is written under it.
    this.#heldUntilMs = Number.NEGATIVE_INFINITY;
    this.#enter({ kind: 'stopped' });
    if (this.#seen !== undefined && this.#isOurs(this.#seen)) await this.#release(this.#seen.lease);
  }

  isHeld(): boolean {
    return this.#state.kind === 'leading' && this.#clock.now() < this.#heldUntilMs;
  }

  subscribe(listener: (state: LeaseState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #run(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      const trouble = await this.#attempt();
      if (this.#ended.signal.aborted) return;
      if (trouble !== undefined) {
        this.#metrics.renewFailed();
        this.#options.log.warn({ lease: this.#options.name, trouble }, 'lease request failed');
      }
      this.#judge(trouble);
      await pause(this.#clock, this.#nextAttemptMs(), this.#ended.signal);
    }
  }

  /** A standby wakes when the lease it watches runs out; standbys spread, so that seldom two reach for it at once. */
  #nextAttemptMs(): number {
    if (this.#state.kind === 'leading') return this.#retryMs;
    const lookMs = Math.min(this.#retryMs, standbyLookMs) * (1 + 0.2 * this.#options.random());
    const freeInMs = this.#seen === undefined ? 0 : this.#freeAtMs(this.#seen) - this.#clock.now();
    return freeInMs > 0 ? Math.min(lookMs, freeInMs) : lookMs;
  }

  /** A leader whose renewals fail stops to be one when its time is up, not when somebody tells it. */
  #judge(trouble: string | undefined): void {
    const nowMs = this.#clock.now();
    if (nowMs < this.#heldUntilMs) {
      if (this.#state.kind !== 'leading') this.#enter({ kind: 'leading', sinceMs: nowMs });
      return;
    }
    const holder = this.#seen?.record.holderIdentity;
    this.#enter({ kind: 'standby', holder: holder === '' ? undefined : holder, trouble });
  }

  /** One round: look, and then renew, take or create. Gives back what went wrong. */
  async #attempt(): Promise<string | undefined> {
    const known = this.#seen;
    if (known === undefined || known.isGone || !(this.#isOurs(known) || this.#isFree(known))) {
      const trouble = await this.#look();
      if (trouble !== undefined) return trouble;
    }
    const seen = this.#seen;
    if (seen === undefined) return this.#create();
    if (!this.#isOurs(seen) && !this.#isFree(seen)) return undefined;
    return seen.isGone ? this.#create() : this.#take(seen);
  }

  #isOurs(seen: Seen): boolean {
    return seen.record.holderIdentity === this.#options.identity;
  }

  #isFree(seen: Seen): boolean {
    return this.#clock.now() >= this.#freeAtMs(seen);
  }

  #freeAtMs(seen: Seen): number {
    if (seen.record.holderIdentity === '') return Number.NEGATIVE_INFINITY;
    return seen.sinceMs + Math.max(this.#leaseMs, seen.record.leaseDurationSeconds * 1000);
  }

  async #look(): Promise<string | undefined> {
    const answer = await this.#object.read({ timeoutMs: this.#renewMs / 2, signal: this.#ended.signal });
    if (answer.kind === 'ok') {
      this.#see(answer.object);
      return undefined;
    }
    if (answer.kind === 'notFound') {
      // The holder may not know yet that it holds nothing: its time is waited out before there is a new lease.
      if (this.#seen !== undefined) this.#seen.isGone = true;
      return undefined;
    }
    return messageOfAnswer(answer);
  }

  async #create(): Promise<string | undefined> {
    const now = microTime(this.#clock.wallTime());
    const spec = this.#spec({ acquireTime: now, renewTime: now, leaseTransitions: 0 });
    const sentMs = this.#clock.now();
    const answer = await this.#object.create(spec, { timeoutMs: this.#renewMs, signal: this.#ended.signal });
    if (answer.kind === 'ok') return this.#won(answer.object, sentMs);
    // Somebody was quicker; look next time.
    return answer.kind === 'alreadyExists' ? undefined : messageOfAnswer(answer);
  }

  async #take(seen: Seen): Promise<string | undefined> {
    const isOurs = this.#isOurs(seen);
    const now = microTime(this.#clock.wallTime());
    const sentMs = this.#clock.now();
    const spec = this.#spec({
      acquireTime: isOurs ? (seen.record.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: seen.record.leaseTransitions + (isOurs ? 0 : 1),
    });
    const answer = await this.#object.replace(seen.lease, spec, {
      timeoutMs: this.#renewMs,
      signal: this.#ended.signal,
    });
    if (answer.kind === 'ok') return this.#won(answer.object, sentMs);
    if (answer.kind !== 'conflict' && answer.kind !== 'notFound') return messageOfAnswer(answer);
    const trouble = await this.#look();
    // Our own renewal, whose answer was lost, makes a conflict too. Any other holder, or none, ends our time at once.
    const isStillOurs = this.#seen !== undefined && !this.#seen.isGone && this.#isOurs(this.#seen);
    if (trouble === undefined && !isStillOurs) this.#heldUntilMs = Number.NEGATIVE_INFINITY;
    return trouble;
  }

  /** Twice, because a renewal that was cut short by our stopping may have moved the version. */
  async #release(known: KubeObject): Promise<void> {
    const { log, name } = this.#options;
    let lease = known;
    for (let attempt = 1; ; attempt++) {
      const spec = { holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(this.#clock.wallTime()) };
      const answer = await this.#object.replace(lease, spec, { timeoutMs: releaseTimeoutMs });
      if (answer.kind === 'ok') return log.info({ lease: name }, 'lease released');
      const isMoved = answer.kind === 'conflict' && attempt === 1;
      const read = isMoved ? await this.#object.read({ timeoutMs: releaseTimeoutMs }) : answer;
      const isStillOurs = read.kind === 'ok' && recordOf(read.object).holderIdentity === this.#options.identity;
      if (!isStillOurs) {
        log.warn({ lease: name, trouble: messageOfAnswer(answer) }, 'lease not released');
        return;
      }
      lease = read.object;
    }
  }

  #spec(times: { acquireTime: string; renewTime: string; leaseTransitions: number }): object {
    return {
      holderIdentity: this.#options.identity,
      leaseDurationSeconds: Math.ceil(this.#leaseMs / 1000),
      ...times,
    };
  }

  #won(lease: KubeObject, sentMs: number): undefined {
    this.#see(lease);
    this.#heldUntilMs = sentMs + this.#renewMs;
    this.#expiry?.cancel();
    this.#expiry = this.#clock.after(this.#heldUntilMs - this.#clock.now(), () => this.#judge('no renewal in time'));
  }

  #see(lease: KubeObject): void {
    const resourceVersion = lease.metadata.resourceVersion ?? '';
    if (this.#seen?.resourceVersion === resourceVersion && !this.#seen.isGone) return;
    this.#seen = { lease, resourceVersion, record: recordOf(lease), sinceMs: this.#clock.now(), isGone: false };
  }

  #enter(state: LeaseState): void {
    const before = this.#state;
    this.#state = state;
    this.#metrics.held(state.kind === 'leading');
    if (before.kind === state.kind && holderOf(before) === holderOf(state)) return;
    if (before.kind === 'leading' || state.kind === 'leading') this.#metrics.transition();
    this.#options.log.info(
      { lease: this.#options.name, state: state.kind, holder: holderOf(state) },
      'lease state changed',
    );
    for (const listener of this.#listeners) {
      try {
        listener(state);
      } catch (error) {
        this.#options.log.error({ err: error }, 'a listener of the lease failed');
      }
    }
  }
}

function holderOf(state: LeaseState): string | undefined {
  return state.kind === 'standby' ? state.holder : undefined;
}

function messageOfAnswer(answer: Exclude<Answer, { kind: 'ok' }>): string {
  return answer.kind === 'notSent' ? 'the request was not sent' : answer.message;
}
