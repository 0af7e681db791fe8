// Bounds what all answers together hold that their clients do not read. Each of them is bounded by itself, but a credential may have
// hundreds of requests and connections. When there is too much, answers without progress are cut, of owners who hold
// more than their share, the longest waiting first: a client that reads slowly goes on, and one that reads nothing has no use for its answer.
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { memoryShare } from '../limits/caller-limits.ts';
import { type HeldBytes, makeRoom } from '../limits/give-way.ts';

/** Texts that wait, encryption and the system each hold the same bytes. */
const mostUnreadBytes = 64 * 1024 * 1024;
const shareOfMemory = 1 / 8;
/** What the system holds of an answer that nobody reads cannot be seen here, and is memory of ours too. */
const heldBySystem = 128 * 1024;
/** Every answer waits for a moment, behind a busy network or a busy loop. */
const stalledAfterMs = 250;
/** Looking at thousands of answers costs a millisecond. */
const lookEveryMs = 20;

interface Progress {
  /** Of the access key that asked. */
  owner: string;
  sentBytes: number;
  sinceMs: number;
}

export interface UnreadAnswersOptions {
  clock: Clock;
  log: Log;
  mostBytes?: number;
}

export class UnreadAnswers {
  readonly #open = new Map<ServerResponse, Progress>();
  readonly #options: UnreadAnswersOptions;
  readonly #mostBytes: number;
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(options: UnreadAnswersOptions) {
    this.#options = options;
    this.#mostBytes = options.mostBytes ?? memoryShare(shareOfMemory, mostUnreadBytes);
  }

  /** Called for each request: only a new one can bring more than its own bound. */
  opened(response: ServerResponse, owner: string): void {
    this.#look();
    this.#open.set(response, { owner, sentBytes: 0, sinceMs: this.#options.clock.now() });
    response.once('close', () => this.#open.delete(response));
    if (response.destroyed) this.#open.delete(response);
  }

  #look(): void {
    const nowMs = this.#options.clock.now();
    if (nowMs - this.#lookedMs < lookEveryMs) return;
    this.#lookedMs = nowMs;
    const held: HeldBytes[] = [];
    for (const [response, progress] of this.#open) {
      const { owner } = progress;
      const { socket } = response;
      // An answer that waits behind another on its connection goes with that one.
      const sentBytes = socket === null ? 0 : socket.bytesWritten - socket.writableLength;
      const isMoving = response.writableLength === 0 || sentBytes > progress.sentBytes;
      if (isMoving) Object.assign(progress, { sentBytes, sinceMs: nowMs });
      const isStalled = !isMoving && nowMs - progress.sinceMs >= stalledAfterMs;
      const bytes = response.writableLength + (isStalled ? heldBySystem : 0);
      if (bytes === 0) continue;
      const stalledSinceMs = isStalled ? progress.sinceMs : undefined;
      held.push({ owner, bytes, stalledSinceMs, end: () => (response.socket ?? response).destroy() });
    }
    const cut = makeRoom(held, this.#mostBytes);
    if (cut > 0) this.#options.log.warn({ answers: cut }, 'answers cut that nobody reads');
  }
}
