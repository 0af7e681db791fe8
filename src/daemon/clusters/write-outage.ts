// Decides whether one API server accepts writes at all. In: the answers to writes. Out: the time since which every write
// fails, and a message. An answer about one object, such as a conflict or a refusal, shows that the server accepts writes.
import type { Clock } from '../../clock.ts';
import type { Answer } from '../../cluster/answer.ts';
import type { WriteRequest } from '../../cluster/write/open-writer.ts';
import { WriteRights } from './write-rights.ts';

export class WriteOutage {
  readonly rights: WriteRights;
  readonly #clock: Clock;
  readonly #fails: (answer: Answer) => boolean;
  #current: { sinceMs: number; message: string } | undefined;
  /** The last time at which the server was known to accept writes, or at which no write was pending. */
  #fineMs = Number.NEGATIVE_INFINITY;
  #isGranted = false;

  constructor(clock: Clock, fails: (answer: Answer) => boolean = isFailure) {
    this.rights = new WriteRights(clock);
    this.#clock = clock;
    this.#fails = fails;
  }

  /** An outage begins when its first write was sent: a server that does not answer holds a write until its time is over. */
  note(answer: Answer, write: WriteRequest, tookMs: number): void {
    if (answer.kind === 'notSent') return;
    if (!this.#fails(answer)) {
      this.#isGranted = this.rights.passed(write) || this.#isGranted;
      this.#fine();
    } else if ('message' in answer) {
      const { message } = answer;
      if (isForbidden(answer)) this.rights.refused(write, { message, tookMs });
      // A verb of one resource is missing, and the server takes others.
      if (isForbidden(answer) && this.rights.doOthersPass(write)) return;
      const sinceMs = this.#current?.sinceMs ?? Math.max(this.#fineMs, this.#clock.now() - tookMs);
      this.#current = { sinceMs, message };
    }
  }

  /** Whether a right that was missing has come since the last question. */
  takeGranted(): boolean {
    const isGranted = this.#isGranted;
    this.#isGranted = false;
    return isGranted;
  }

  /** Call when no write is pending: old failures then say nothing about the next write. */
  clear(): void {
    this.rights.clear();
    this.#fine();
  }

  #fine(): void {
    this.#current = undefined;
    this.#fineMs = this.#clock.now();
  }

  /** Undefined before the first answer and after a good answer. */
  get current(): { sinceMs: number; message: string } | undefined {
    return this.#current;
  }
}

/** A missing permission stops all writes, as an unreachable server does. */
export function isFailure(answer: Answer): boolean {
  const { kind } = answer;
  return kind === 'failed' || kind === 'throttled' || kind === 'unauthorized' || isForbidden(answer);
}

function isForbidden(answer: Answer): boolean {
  return answer.kind === 'forbidden' && !answer.namespaceTerminating;
}

/** A tenant's own webhooks and roles may refuse writes to the virtual cluster; such a refusal is not an outage. */
export function isUnreachable(answer: Answer): boolean {
  return answer.kind === 'unauthorized' || (answer.kind === 'failed' && answer.status === undefined);
}
