// What the sandbox process was asked and has not answered yet: what waits, what it has in hand, and which of that was in it
// when it died. Nothing is lost and nothing is answered twice. Knows nothing of processes and channels.
import { sandboxLimits } from '../limits.ts';
import type { SandboxOutcome } from './sandbox.ts';

interface Request {
  id: number;
  text: string;
  alone: boolean;
  /** How often the process died while this request was the only one in it. */
  deaths: number;
  settle: (outcome: SandboxOutcome) => void;
}

export interface Death {
  cause: string;
  wasHung: boolean;
  /** Not by a SIGKILL from elsewhere. */
  isSelfInflicted: boolean;
}

export class RequestBook {
  #waiting: Request[] = [];
  /** No map: what is taken out of one stays in tables that V8 leaves behind, and with it all that hangs on it. */
  #inFlight: Request[] = [];
  #hasLoner = false;
  #nextId = 1;

  /** How many the process has in hand. */
  get inFlight(): number {
    return this.#inFlight.length;
  }

  get isFull(): boolean {
    return this.#waiting.length >= sandboxLimits.waiting;
  }

  add(text: string, alone: boolean, settle: (outcome: SandboxOutcome) => void): void {
    this.#waiting.push({ id: this.#nextId, text, alone, deaths: 0, settle });
    this.#nextId = (this.#nextId + 1) >>> 0;
  }

  /** The next that may be sent now; one that wants to be alone waits until the process is empty and keeps it empty. */
  next(): { id: number; text: string } | undefined {
    const [next] = this.#waiting;
    if (next === undefined || this.#inFlight.length >= sandboxLimits.inFlight) return undefined;
    if (this.#inFlight.length > 0 && (next.alone || this.#hasLoner)) return undefined;
    this.#waiting.shift();
    this.#hasLoner = next.alone;
    this.#inFlight.push(next);
    return next;
  }

  /** The one that is answered; undefined when the answer comes too late. */
  take(id: number): Pick<Request, 'settle'> | undefined {
    const at = this.#inFlight.findIndex((request) => request.id === id);
    return at < 0 ? undefined : this.#inFlight.splice(at, 1)[0];
  }

  /** Several in the process: any of them may have done it, so each is run again alone. One: it did it. */
  takeBack({ cause, wasHung, isSelfInflicted }: Death): void {
    const suspects = this.#inFlight;
    this.#inFlight = [];
    const [only] = suspects.length === 1 ? suspects : [];
    if (only !== undefined) {
      only.deaths++;
      const limit = isSelfInflicted ? sandboxLimits.deaths : sandboxLimits.killedDeaths;
      if (only.deaths >= limit) {
        suspects.pop();
        only.settle(wasHung ? { kind: 'timeout' } : { kind: 'crash', message: `the sandbox died of it (${cause})` });
      }
    }
    for (const suspect of suspects) suspect.alone = true;
    this.#waiting = [...suspects, ...this.#waiting];
  }

  failAll(message: string): void {
    const all = [...this.#inFlight, ...this.#waiting];
    this.#inFlight = [];
    this.#waiting = [];
    for (const request of all) request.settle({ kind: 'unavailable', message });
  }
}
