// Leader election by a Lease object: only the holder of the lease may write. The clocks of two machines are never compared:
// a standby waits until it has seen the lease unchanged for the whole duration, and a holder counts from the moment before
// it sent its last renewal. In: a connection. Out: isHeld(), which is true only while no other process can hold the lease.
// Long because the order of its steps, which S6 rests on, is best read in one piece.
import { type Clock, pause, type Timer } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { LastingTrouble } from '../../pace/lasting-trouble.ts';
import { type LeaseMetrics, leaseMetrics } from '../metrics.ts';
import type { Connection } from '../wire/connection.ts';
import { LeaseObject, messageOfAnswer, microTime, recordOf, releaseTimeoutMs, type SeenLease } from './lease-object.ts';

export interface LeaseOptions {
  connection: Connection;
  namespace: string;
  name: string;
  /** Unique, also across restarts of one pod: the name of the pod and a random part. */
  identity: string;
  clock: Clock;
  random: () => number;
  log: Log;
  metrics: Metrics;
  leaseMs?: number;
  /** By default all three follow from leaseMs. `lookMs`: how soon a standby takes a lease that was released. */
  renewMs?: number;
  retryMs?: number;
  lookMs?: number;
}

export type LeaseState =
  | { kind: 'idle' }
  /**
   * `troubleSinceMs`: since when every look at the lease and every renewal has failed. `isRenewed`: this process has seen the holder
   * take or renew the lease; without it, the holder may be a process that was killed.
   */
  | {
      kind: 'standby';
      holder: string | undefined;
      trouble: string | undefined;
      troubleSinceMs?: number;
      isRenewed?: true;
    }
  | { kind: 'leading'; sinceMs: number }
  | { kind: 'stopped' };

export interface Lease {
  start(): void;
  /** Releases the lease, so that another replica can take it at once. */
  stop(): Promise<void>;
  /** True only while no other process can hold the lease. Call it at the moment of writing. */
  isHeld(): boolean;
  readonly state: LeaseState;
  subscribe(listener: (state: LeaseState) => void): () => void;
}

/**
 * The timings of kube-controller-manager, 15, 10 and 2 s, and the same proportions for other leases: a standby waits for
 * `leaseMs`, a holder relies on a renewal for `renewMs`, and `retryMs` separates two attempts. A write that began with
 * a valid lease has `leaseMs` minus `renewMs` to arrive.
 */
const defaultLeaseMs = 15_000;
const renewShare = 10 / 15;
const retryShare = 2 / 15;
/** By default a standby looks more often than a leader renews, so that it takes a released lease at once. */
const standbyLookMs = 400;

export function openLease(options: LeaseOptions): Lease {
  return new HeldLease(options);
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
  /** Monotonic time, counted from the moment before the last successful renewal was sent. */
  #heldUntilMs = Number.NEGATIVE_INFINITY;
  /** The lease as last read, and the time when it was first read in this state. */
  #seen: SeenLease | undefined;
  /** Who last took or renewed the lease while this process looked. */
  #renewedBy: string | undefined;
  /** A request that would make the lease ours has no answer: the server may have carried it out all the same. */
  #isClaiming = false;
  #expiry: Timer | undefined;
  readonly #trouble = new LastingTrouble();
  #ended = new AbortController();
  /** Ends later than the rest: the server may carry out a claim that nobody waits for, and the lease would be ours after our end. */
  #claimsEnded = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#leaseMs = options.leaseMs ?? defaultLeaseMs;
    this.#renewMs = options.renewMs ?? Math.round(this.#leaseMs * renewShare);
    this.#retryMs = options.retryMs ?? Math.round(this.#leaseMs * retryShare);
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
    const patience = this.#clock.after(releaseTimeoutMs, () => this.#claimsEnded.abort());
    await this.#running;
    patience.cancel();
    this.#expiry?.cancel();
    // Writes must end before the release, because another replica may write right after it.
    this.#heldUntilMs = Number.NEGATIVE_INFINITY;
    this.#enter({ kind: 'stopped' });
    if (this.#seen !== undefined && this.#isOurs(this.#seen)) await this.#release(this.#seen.lease);
    else if (this.#isClaiming) await this.#release(undefined);
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
      this.#tell(trouble);
      this.#judge(trouble);
      await pause(this.#clock, this.#nextAttemptMs(), this.#ended.signal);
    }
  }

  /** A standby asks twice a second. */
  #tell(trouble: string | undefined): void {
    const { log, name } = this.#options;
    if (trouble !== undefined) this.#metrics.renewFailed();
    if (trouble === undefined && this.#trouble.over()) log.info({ lease: name }, 'lease requests are answered again');
    else if (trouble !== undefined && this.#trouble.isNews(trouble, this.#clock.now()))
      log.warn({ lease: name, trouble }, 'lease request failed');
  }

  /** A standby wakes when the lease expires. The random part makes it unlikely that two standbys try at once. */
  #nextAttemptMs(): number {
    if (this.#state.kind === 'leading') return this.#retryMs;
    const lookMs =
      (this.#options.lookMs ?? Math.min(this.#retryMs, standbyLookMs)) * (1 + 0.2 * this.#options.random());
    const freeInMs = this.#seen === undefined ? 0 : this.#freeAtMs(this.#seen) - this.#clock.now();
    return freeInMs > 0 ? Math.min(lookMs, freeInMs) : lookMs;
  }

  /** A leader whose renewals fail steps down when its time is up, without an answer from the server. */
  #judge(trouble: string | undefined): void {
    const nowMs = this.#clock.now();
    if (nowMs < this.#heldUntilMs) {
      if (this.#state.kind !== 'leading') this.#enter({ kind: 'leading', sinceMs: nowMs });
      return;
    }
    // A lease that ran out in our own name holds nobody.
    const holder = this.#seen === undefined || this.#isOurs(this.#seen) ? '' : this.#seen.record.holderIdentity;
    const sinceMs = this.#state.kind === 'standby' ? this.#state.troubleSinceMs : undefined;
    this.#enter({
      kind: 'standby',
      holder: holder === '' ? undefined : holder,
      trouble,
      ...(trouble !== undefined && { troubleSinceMs: sinceMs ?? nowMs }),
      ...(holder !== '' && holder === this.#renewedBy && { isRenewed: true }),
    });
  }

  /** One round: reads the lease if needed, then renews, takes or creates it. Returns the failure, if any. */
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

  #isOurs(seen: SeenLease): boolean {
    return seen.record.holderIdentity === this.#options.identity;
  }

  #isFree(seen: SeenLease): boolean {
    return this.#clock.now() >= this.#freeAtMs(seen);
  }

  #freeAtMs(seen: SeenLease): number {
    if (seen.record.holderIdentity === '') return Number.NEGATIVE_INFINITY;
    return seen.sinceMs + Math.max(this.#leaseMs, seen.record.leaseDurationSeconds * 1000);
  }

  async #look(): Promise<string | undefined> {
    const answer = await this.#object.read({ timeoutMs: this.#renewMs / 2, signal: this.#ended.signal });
    if (answer.kind === 'ok') return this.#see(answer.object);
    if (answer.kind === 'notFound') {
      // The old holder may not have noticed the deletion, so its time must pass before a new lease is created.
      if (this.#seen !== undefined) this.#seen.isGone = true;
      return undefined;
    }
    return messageOfAnswer(answer);
  }

  async #create(): Promise<string | undefined> {
    const now = microTime(this.#clock.wallTime());
    const spec = this.#spec({ acquireTime: now, renewTime: now, leaseTransitions: 0 });
    const sentMs = this.#clock.now();
    const answer = await this.#object.create(spec, { timeoutMs: this.#renewMs, signal: this.#claimsEnded.signal });
    this.#isClaiming = answer.kind === 'failed';
    if (answer.kind === 'ok') return this.#won(answer.object, sentMs);
    // After alreadyExists another replica was quicker; the next round reads its lease.
    return answer.kind === 'alreadyExists' ? undefined : messageOfAnswer(answer);
  }

  async #take(seen: SeenLease): Promise<string | undefined> {
    const isOurs = this.#isOurs(seen);
    const now = microTime(this.#clock.wallTime());
    const sentMs = this.#clock.now();
    const spec = this.#spec({
      acquireTime: isOurs ? (seen.record.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: seen.record.leaseTransitions + (isOurs ? 0 : 1),
    });
    const { signal } = isOurs ? this.#ended : this.#claimsEnded;
    const limits = { timeoutMs: this.#renewMs, signal };
    const answer = await this.#object.replace(seen.lease, spec, limits);
    this.#isClaiming = !isOurs && answer.kind === 'failed';
    if (answer.kind === 'ok') return this.#won(answer.object, sentMs);
    if (answer.kind !== 'conflict' && answer.kind !== 'notFound') return messageOfAnswer(answer);
    const trouble = await this.#look();
    // A renewal whose answer was lost also causes a conflict. If the lease is no longer ours, our time ends at once.
    const isStillOurs = this.#seen !== undefined && !this.#seen.isGone && this.#isOurs(this.#seen);
    if (trouble === undefined && !isStillOurs) this.#heldUntilMs = Number.NEGATIVE_INFINITY;
    return trouble;
  }

  async #release(lease: KubeObject | undefined): Promise<void> {
    const { name, identity, log } = this.#options;
    const trouble = await this.#object.release(lease, { identity, now: microTime(this.#clock.wallTime()) });
    if (trouble === undefined) log.info({ lease: name }, 'lease released');
    else log.warn({ lease: name, trouble }, 'lease not released');
  }

  #spec(times: { acquireTime: string; renewTime: string; leaseTransitions: number }): object {
    const leaseDurationSeconds = Math.ceil(this.#leaseMs / 1000);
    return { holderIdentity: this.#options.identity, leaseDurationSeconds, ...times };
  }

  #won(lease: KubeObject, sentMs: number): string | undefined {
    const trouble = this.#see(lease);
    if (trouble !== undefined) return trouble;
    this.#heldUntilMs = sentMs + this.#renewMs;
    this.#expiry?.cancel();
    this.#expiry = this.#clock.after(this.#heldUntilMs - this.#clock.now(), () => this.#judge('no renewal in time'));
  }

  /** A proxy may answer 200 with something else; returns what is wrong with it. */
  #see(lease: KubeObject): string | undefined {
    const resourceVersion = (lease.metadata as KubeObject['metadata'] | undefined)?.resourceVersion;
    if (resourceVersion === undefined) return 'the answer about the lease is no Lease';
    if (this.#seen?.resourceVersion === resourceVersion && !this.#seen.isGone) return undefined;
    const record = recordOf(lease);
    const before = this.#seen?.record;
    const isNews = before?.holderIdentity !== record.holderIdentity || before.renewTime !== record.renewTime;
    if (before !== undefined && isNews) this.#renewedBy = record.holderIdentity;
    this.#seen = { lease, resourceVersion, record, sinceMs: this.#clock.now(), isGone: false };
    return undefined;
  }

  #enter(state: LeaseState): void {
    const before = this.#state;
    this.#state = state;
    this.#metrics.held(state.kind === 'leading');
    if (before.kind === state.kind && holderOf(before) === holderOf(state)) return;
    if (before.kind === 'leading' || state.kind === 'leading') this.#metrics.transition();
    const { log, name } = this.#options;
    log.info({ lease: name, state: state.kind, holder: holderOf(state) }, 'lease state changed');
    for (const listener of this.#listeners) {
      try {
        listener(state);
      } catch (error) {
        log.error({ err: error }, 'a listener of the lease failed');
      }
    }
  }
}

function holderOf(state: LeaseState): string | undefined {
  return state.kind === 'standby' ? state.holder : undefined;
}
