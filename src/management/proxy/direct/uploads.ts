// Sends the audit lines of a direct endpoint, and the last uses of access keys, to the platform. In: lines and uses as they come. Out:
// requests of limited size, tried again with growing pauses until the platform takes them. A limited number of lines waits; the
// files of the endpoint keep those that had to be dropped.

import { type Clock, pause, type Timer } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import { backOffMs } from '../../../pace/back-off.ts';
import type { AuditEntry } from '../../audit/entries.ts';

export interface UploadsOptions {
  report(spec: ReportSpec): Promise<Posted>;
  /** Called with the last line of each batch that the platform has. */
  sent(entry: AuditEntry): Promise<void>;
  clock: Clock;
  log: Log;
}

/** What one report says, besides the cluster that it is about. */
export interface ReportSpec {
  entries?: readonly AuditEntry[];
  uses?: readonly { key: string; time: string }[];
}

export type Posted = { kind: 'taken' } | { kind: 'refused'; code: number; message: string };

/** The platform takes as many lines, and four times as many bytes. */
const maxBatchLines = 500;
const maxBatchBytes = 256 * 1024;
const maxBatchUses = 1_000;
/** Six megabytes at most: some minutes of a busy cluster, or days of a quiet one. */
export const maxWaitingLines = 10_000;
/** More keys than a platform has in use at one cluster. */
const maxWaitingUses = 10_000;
/** Lines of one burst share a request; a shorter life of a key than a few seconds cannot be prolonged. */
export const gatherMs = 1_000;
const backOff = { firstMs: 1_000, mostMs: 60_000 };
/** Time for the last lines of a process that stops. */
const lastTryMs = 2_000;

export class Uploads {
  readonly #options: UploadsOptions;
  readonly #ended = new AbortController();
  #lines: AuditEntry[] = [];
  #uses = new Map<string, number>();
  #lost = 0;
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;
  #failures = 0;

  constructor(options: UploadsOptions) {
    this.#options = options;
  }

  /** Lines that the platform does not have yet. */
  get waiting(): number {
    return this.#lines.length;
  }

  /** Lines that the platform will not get from this process. */
  get lost(): number {
    return this.#lost;
  }

  offer(entry: AuditEntry): void {
    this.#lines.push(entry);
    if (this.#lines.length > maxWaitingLines) this.#drop(1, 'too many lines wait for the platform');
    this.#schedule();
  }

  used(key: string, atMs: number): void {
    if (this.#uses.size >= maxWaitingUses && !this.#uses.has(key)) return;
    this.#uses.set(key, atMs);
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    const { clock } = this.#options;
    if (this.#failures === 0) await Promise.race([this.#send(), pause(clock, lastTryMs, this.#ended.signal)]);
    this.#ended.abort();
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#sending !== undefined || this.#ended.signal.aborted) return;
    this.#timer = this.#options.clock.after(Math.max(gatherMs, backOffMs(this.#failures, backOff)), () => {
      this.#timer = undefined;
      void this.#send();
    });
  }

  #send(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
      if (this.#lines.length > 0 || this.#uses.size > 0) this.#schedule();
    });
    return this.#sending;
  }

  async #sendAll(): Promise<void> {
    try {
      while (this.#lines.length > 0) await this.#sendLines();
      while (this.#uses.size > 0) await this.#sendUses();
      if (this.#failures > 0)
        this.#options.log.info({ component: 'direct' }, 'the platform takes audit and activity again');
      this.#failures = 0;
    } catch (error) {
      if (this.#failures === 0)
        this.#options.log.warn(
          { component: 'direct', error: String(error), waiting: this.#lines.length },
          'audit and activity not sent; trying again',
        );
      this.#failures++;
    }
  }

  async #sendLines(): Promise<void> {
    const batch: AuditEntry[] = [];
    let bytes = 0;
    for (const entry of this.#lines) {
      bytes += JSON.stringify(entry).length;
      if (batch.length === maxBatchLines || (batch.length > 0 && bytes > maxBatchBytes)) break;
      batch.push(entry);
    }
    const posted = await this.#report({ entries: batch });
    // Lines that were dropped in the meantime are no longer at the beginning.
    const taken = new Set(batch);
    const before = this.#lines.length;
    this.#lines = this.#lines.filter((entry) => !taken.has(entry));
    if (posted.kind === 'refused') {
      this.#lost += before - this.#lines.length;
      const { code, message } = posted;
      this.#options.log.error({ component: 'direct', code, message, lines: batch.length }, 'audit lines refused');
    }
    const last = batch.at(-1);
    if (last !== undefined) await this.#options.sent(last);
  }

  async #sendUses(): Promise<void> {
    const batch = [...this.#uses].slice(0, maxBatchUses);
    const uses = batch.map(([key, atMs]) => ({ key, time: new Date(atMs).toISOString() }));
    await this.#report({ uses });
    for (const [key, atMs] of batch) if (this.#uses.get(key) === atMs) this.#uses.delete(key);
  }

  /** A report that is wrong stays wrong, so it must not hold up those behind it. Every other refusal may end. */
  async #report(spec: ReportSpec): Promise<Posted> {
    const posted = await this.#options.report(spec);
    const isWrong = posted.kind === 'refused' && (posted.code === 400 || posted.code === 413 || posted.code === 422);
    if (posted.kind === 'refused' && !isWrong) throw new Error(`want 201, got ${posted.code}: ${posted.message}`);
    return posted;
  }

  #drop(count: number, why: string): void {
    this.#lines.splice(0, count);
    if (this.#lost === 0)
      this.#options.log.error({ component: 'direct' }, `${why}: the oldest stay in the files of the endpoint`);
    this.#lost += count;
  }
}
