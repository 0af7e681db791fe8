// Decides whether one API server accepts writes at all. In: the answers to writes. Out: the time since which every write
// fails, and a message. An answer about one object, such as a conflict or a refusal, shows that the server accepts writes.
import type { Clock } from '../../clock.ts';
import type { Answer } from '../answer.ts';

export class WriteOutage {
  readonly #clock: Clock;
  readonly #fails: (answer: Answer) => boolean;
  #current: { sinceMs: number; message: string } | undefined;
  /** The last time at which the server was known to accept writes, or at which no write was pending. */
  #fineMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, fails: (answer: Answer) => boolean = isFailure) {
    this.#clock = clock;
    this.#fails = fails;
  }

  /** An outage begins when its first write was sent: a server that does not answer holds a write until its time is over. */
  note(answer: Answer, tookMs: number): void {
    if (answer.kind === 'notSent') return;
    if (!this.#fails(answer)) this.clear();
    else if ('message' in answer) {
      const sinceMs = this.#current?.sinceMs ?? Math.max(this.#fineMs, this.#clock.now() - tookMs);
      this.#current = { sinceMs, message: answer.message };
    }
  }

  /** Call when no write is pending: old failures then say nothing about the next write. */
  clear(): void {
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
