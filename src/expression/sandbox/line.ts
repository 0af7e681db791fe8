// The waiting requests in one line with two ends. The quick process takes batches from the front, where requests of different
// causes take turns. A batch that runs out goes to the back, with every waiting request of the same causes, and requests of these
// causes that come while it waits go there too. The slow process takes one request at a time from the back: those of known objects and
// then the newest first, each for a short slice; when none waits for a slice, and now and then, the oldest for its whole time.
import type { Clock } from '../../clock.ts';
import { sandboxLimits } from '../limits.ts';
import type { RanOut, SandboxOutcome } from './sandbox.ts';

export interface SandboxRequest {
  text: string;
  causes: readonly number[];
  isOfKnown?: boolean;
  settle: (outcome: SandboxOutcome) => void;
}

/** Requests that run in one call. */
export interface Batch {
  requests: readonly SandboxRequest[];
  /** With the whole time for one request, not a short slice. */
  isLong: boolean;
}

/** What a process knows of the line: the end that it takes from. */
export interface LineEnd {
  take(): Batch | undefined;
  ranOut(batch: Batch, outcome: RanOut): void;
  /** The process died before it began the batch. */
  putBack(batch: Batch): void;
  failAll(message: string): void;
}

interface Turn {
  key: string;
  causes: readonly number[];
  requests: SandboxRequest[];
}

interface Waiting {
  request: SandboxRequest;
  sinceMs: number;
}

const { batchRequests, batchChars, patienceMs } = sandboxLimits;

export class Line {
  readonly #clock: Clock;
  readonly #onBack: () => void;
  /** The front: a list for each combination of causes, in the order of their turns. */
  #turns: Turn[] = [];
  /** The back: requests that wait for a slice, and those that have had theirs. */
  #fresh: Waiting[] = [];
  #tried: Waiting[] = [];
  /** Unsettled requests at the back by their causes. */
  readonly #causesAtBack = new Map<string, number>();
  #oldestTakenMs = 0;
  #requests = 0;
  #chars = 0;

  constructor(clock: Clock, onBack: () => void) {
    this.#clock = clock;
    this.#onBack = onBack;
  }

  get isFull(): boolean {
    return this.#requests >= sandboxLimits.waiting || this.#chars >= sandboxLimits.waitingChars;
  }

  get isBackEmpty(): boolean {
    return this.#causesAtBack.size === 0;
  }

  add(request: SandboxRequest, { isSuspected = false, alone = false } = {}): void {
    if (alone) this.#toBack(request, this.#tried);
    else if (isSuspected || this.#areAtBack(request.causes)) this.#toBack(request, this.#fresh);
    else this.#toFront([request], 'last');
  }

  readonly front: LineEnd = {
    take: () => this.#takeFront(),
    ranOut: ({ requests }) => {
      // A request that ran by itself has had its slice; of a batch nobody knows which request is to blame.
      for (const request of requests) this.#toBack(request, requests.length === 1 ? this.#tried : this.#fresh);
      for (const turn of this.#takeTurns(({ causes }) => this.#areAtBack(causes)))
        for (const request of turn.requests) this.#toBack(request, this.#fresh);
    },
    putBack: ({ requests }) => this.#toFront(requests, 'first'),
    failAll: (message) => {
      for (const turn of this.#takeTurns(() => true)) fail(turn.requests, message);
    },
  };

  readonly back: LineEnd = {
    take: () => this.#takeBack(),
    ranOut: ({ requests, isLong }, outcome) => {
      for (const request of requests) {
        if (isLong) request.settle(outcome);
        else this.#enqueue(request, this.#tried);
      }
    },
    putBack: ({ requests, isLong }) => {
      for (const request of requests) this.#enqueue(request, isLong ? this.#tried : this.#fresh);
    },
    failAll: (message) => {
      const waiting = [...this.#fresh, ...this.#tried].map(({ request }) => request);
      this.#fresh = [];
      this.#tried = [];
      for (const request of waiting) this.#count(request, -1);
      fail(waiting, message);
    },
  };

  #toFront(requests: readonly SandboxRequest[], where: 'first' | 'last'): void {
    for (const request of where === 'first' ? requests.toReversed() : requests) {
      const { causes } = request;
      const key = causes.join();
      let turn = this.#turns.find((one) => one.key === key);
      if (turn === undefined) {
        turn = { key, causes, requests: [] };
        this.#turns.push(turn);
      }
      if (where === 'first') turn.requests.unshift(request);
      else turn.requests.push(request);
      this.#count(request, 1);
    }
  }

  /** Only requests of the same causes share a batch, so that one that runs out takes no others with it. */
  #takeFront(): Batch | undefined {
    const turn = this.#turns.shift();
    if (turn === undefined) return undefined;
    let [size, chars] = [0, 0];
    for (const { text } of turn.requests) {
      if (size >= batchRequests || (size > 0 && chars + text.length > batchChars)) break;
      size++;
      chars += text.length;
    }
    const requests = turn.requests.splice(0, size);
    if (turn.requests.length > 0) this.#turns.push(turn);
    for (const request of requests) this.#count(request, -1);
    return { requests, isLong: false };
  }

  #takeTurns(isWanted: (turn: Turn) => boolean): Turn[] {
    const taken = this.#turns.filter(isWanted);
    this.#turns = this.#turns.filter((turn) => !taken.includes(turn));
    for (const { requests } of taken) for (const request of requests) this.#count(request, -1);
    return taken;
  }

  #areAtBack(causes: readonly number[]): boolean {
    return this.#causesAtBack.size > 0 && keysOf(causes).some((key) => this.#causesAtBack.has(key));
  }

  #toBack(request: SandboxRequest, list: Waiting[]): void {
    const key = request.causes.join();
    const step = (by: 1 | -1) => {
      const left = (this.#causesAtBack.get(key) ?? 0) + by;
      if (left > 0) this.#causesAtBack.set(key, left);
      else this.#causesAtBack.delete(key);
    };
    step(1);
    const settle = (outcome: SandboxOutcome) => {
      step(-1);
      request.settle(outcome);
    };
    this.#enqueue({ ...request, settle }, list);
    this.#onBack();
  }

  #enqueue(request: SandboxRequest, list: Waiting[]): void {
    const sinceMs = this.#clock.now();
    if (this.#fresh.length + this.#tried.length === 0) this.#oldestTakenMs = sinceMs;
    list.push({ request, sinceMs });
    this.#count(request, 1);
  }

  /**
   * The newest first: bad values that came together keep later good ones waiting for a slice or two only. Those of known objects before
   * them: a request that hangs takes a process with it, and forty that came together would cost five seconds. The oldest now and then:
   * however many requests come, none waits for ever.
   */
  #takeBack(): Batch | undefined {
    const now = this.#clock.now();
    const isSlice = this.#fresh.length > 0 && now - this.#oldestTakenMs < patienceMs;
    const list = isSlice || sinceMsOf(this.#fresh) < sinceMsOf(this.#tried) ? this.#fresh : this.#tried;
    const taken = isSlice ? nextFresh(list) : list.shift();
    if (taken === undefined) return undefined;
    if (!isSlice) this.#oldestTakenMs = now;
    this.#count(taken.request, -1);
    return { requests: [taken.request], isLong: !isSlice };
  }

  #count({ text }: SandboxRequest, step: 1 | -1): void {
    this.#requests += step;
    this.#chars += step * text.length;
  }
}

function nextFresh(list: Waiting[]): Waiting | undefined {
  const known = list.findLastIndex(({ request }) => request.isOfKnown === true);
  return known === -1 ? list.pop() : list.splice(known, 1)[0];
}

/** A request shares its causes with others when all of them are the same, or when one of them failed alone. */
function keysOf(causes: readonly number[]): readonly string[] {
  return causes.length > 1 ? [causes.join(), ...causes.map(String)] : causes.map(String);
}

function sinceMsOf([first]: readonly Waiting[]): number {
  return first?.sinceMs ?? Number.POSITIVE_INFINITY;
}

function fail(requests: readonly SandboxRequest[], message: string): void {
  for (const { settle } of requests) settle({ kind: 'unavailable', message });
}
