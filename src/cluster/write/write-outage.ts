// Whether one API server takes writes at all: since when every answer to a write says that it cannot be made. In: answers. Out:
// a time and a sentence. An answer about one object, such as a conflict or a refusal, shows that the server takes writes.
import type { Clock } from '../../clock.ts';
import type { Answer } from '../answer.ts';

export class WriteOutage {
  readonly #clock: Clock;
  readonly #fails: (answer: Answer) => boolean;
  #current: { sinceMs: number; message: string } | undefined;

  constructor(clock: Clock, fails: (answer: Answer) => boolean = isFailure) {
    this.#clock = clock;
    this.#fails = fails;
  }

  note(answer: Answer): void {
    if (answer.kind === 'notSent') return;
    if (!this.#fails(answer)) this.clear();
    else if ('message' in answer)
      this.#current = { sinceMs: this.#current?.sinceMs ?? this.#clock.now(), message: answer.message };
  }

  /** Nothing wants to be written any more, so old failures say nothing about the next write. */
  clear(): void {
    this.#current = undefined;
  }

  /** Undefined when the last answer was good, and before the first. */
  get current(): { sinceMs: number; message: string } | undefined {
    return this.#current;
  }
}

/** A missing permission stops every write as surely as a server that is gone. */
export function isFailure(answer: Answer): boolean {
  const { kind } = answer;
  return kind === 'failed' || kind === 'throttled' || kind === 'unauthorized' || isForbidden(answer);
}

function isForbidden(answer: Answer): boolean {
  return answer.kind === 'forbidden' && !answer.namespaceTerminating;
}

/** A tenant's own webhooks and roles may refuse writes to the virtual cluster; that is no outage of it. */
export function isUnreachable(answer: Answer): boolean {
  return answer.kind === 'unauthorized' || (answer.kind === 'failed' && answer.status === undefined);
}
