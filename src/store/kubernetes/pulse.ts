// The pulse of one replica: it changes a record of its own every two seconds and looks for the change in the stream of changes. Only
// that shows that the stream lives; a request that is answered does not. Each replica has its own, so none is silenced by the end of
// another. A beat is also the way to a fresh read: when it has come back, everything written before it is here.

import type { Clock, Timer } from '../../clock.ts';
import { backOffMs } from '../../pace/back-off.ts';
import { StoreFault } from '../errors.ts';

export interface PulseOptions {
  clock: Clock;
  /** Writes the beat into this replica's own record. Returns the version that the host gave the write. */
  write(beat: number): Promise<number>;
  /** Resolves when the stream of changes has reached the version. */
  reached(version: number): Promise<void>;
  /** Called when the host answers requests but its stream of changes is silent. */
  isDeaf(): void;
}

const beatEveryMs = 2_000;
/** A replica that has not seen its own change for so long does not know what was revoked. */
export const silenceMs = 5_000;
/** A host may need longer to open its stream, and is not interrupted again and again. */
const reopening = { firstMs: silenceMs, mostMs: 60_000 };

export class Pulse {
  readonly #options: PulseOptions;
  #beat = 0;
  /** When the newest beat that came back was sent. */
  #provenMs = Number.NEGATIVE_INFINITY;
  #lapses = 0;
  #answeredMs = Number.NEGATIVE_INFINITY;
  /** In this silence. */
  #reopened = { times: 0, lastMs: Number.NEGATIVE_INFINITY };
  #fault: string | undefined;
  #timer: Timer | undefined;
  #silenceTimer: Timer | undefined;
  readonly #atSilence = new Set<() => void>();
  #running: Promise<void> | undefined;
  /** The beat that has not begun; all who ask before it begins share it. */
  #next: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: PulseOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#isStopped) return;
    void this.beat().catch(() => undefined);
    this.#lookForSilence();
    this.#timer = this.#options.clock.after(beatEveryMs, () => this.start());
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#silenceTimer?.cancel();
    await this.#running?.catch(() => undefined);
  }

  get count(): number {
    return this.#beat;
  }

  /** Grows when a silence has ended that was so long that nobody was to be believed. */
  get lapses(): number {
    return this.#lapses;
  }

  /** How long ago this replica was last shown to know everything. */
  get silentMs(): number {
    return this.#options.clock.now() - this.#provenMs;
  }

  /** Undefined while the replica knows all changes but those of the last seconds. */
  get trouble(): string | undefined {
    if (this.silentMs <= silenceMs) return undefined;
    if (this.#fault !== undefined) return this.#fault;
    const isMute = this.#options.clock.now() - this.#answeredMs > silenceMs;
    return isMute ? 'it does not answer' : 'it answers, but does not report changes';
  }

  /** Called when a silence begins, until the function that is returned is called. */
  atSilence(begun: () => void): () => void {
    this.#atSilence.add(begun);
    return () => this.#atSilence.delete(begun);
  }

  /** Resolves when everything that was written before the call is here. */
  beat(): Promise<void> {
    if (this.#next !== undefined) return this.#next;
    const next = (this.#running?.catch(() => undefined) ?? Promise.resolve()).then(() => {
      this.#next = undefined;
      this.#running = this.#send();
      return this.#running;
    });
    this.#next = next;
    return next;
  }

  async #send(): Promise<void> {
    const { clock, write, reached } = this.#options;
    const sentMs = clock.now();
    this.#beat++;
    try {
      const version = await write(this.#beat);
      this.#answeredMs = clock.now();
      await reached(version);
      if (this.silentMs > silenceMs) this.#lapses++;
      this.#provenMs = Math.max(this.#provenMs, sentMs);
      this.#fault = undefined;
      this.#awaitSilence();
    } catch (error) {
      this.#fault = error instanceof StoreFault ? error.message : String(error);
      throw error;
    }
  }

  /** To the millisecond: who is asked between two beats must not wait for the next one. */
  #awaitSilence(): void {
    this.#silenceTimer?.cancel();
    if (this.#isStopped) return;
    const leftMs = silenceMs - this.silentMs;
    if (leftMs >= 0) this.#silenceTimer = this.#options.clock.after(leftMs + 1, () => this.#awaitSilence());
    else for (const begun of this.#atSilence) begun();
  }

  #lookForSilence(): void {
    const { clock, isDeaf } = this.#options;
    const nowMs = clock.now();
    if (this.silentMs <= silenceMs) this.#reopened.times = 0;
    else if (nowMs - this.#answeredMs < silenceMs && this.#provenMs > 0) {
      const { times, lastMs } = this.#reopened;
      if (nowMs - lastMs < backOffMs(times, reopening)) return;
      this.#reopened = { times: times + 1, lastMs: nowMs };
      isDeaf();
    }
  }
}
