// The waiting requests in one line with two ends. The quick process takes batches from the front, where requests of different
// causes take turns. A batch that runs out goes to the back, with every waiting request of the same causes, and requests of these
// causes that come while it waits go there too. The slow process takes one request at a time from the back: those of known objects and
// then the newest first, each for a short slice; when none waits for a slice, and now and then, the oldest for its whole time. While one
// after the other runs out, each gets a glance before its slice.
import type { Clock } from '../../clock.ts';
import { sandboxLimits } from '../limits.ts';
import type { RanOut, SandboxOutcome } from './sandbox.ts';

export interface SandboxRequest {
  text: string;
  causes: readonly number[];
  isOfKnown?: boolean;
  settle: (outcome: SandboxOutcome) => void;
}

/** How long a call may run. */
export type SandboxTurn = 'glance' | 'slice' | 'whole';

/** Requests that run in one call. */
export interface Batch {
  requests: readonly SandboxRequest[];
  turn: SandboxTurn;
}

/** What a process knows of the line: the end that it takes from. */
export interface LineEnd {
  take(): Batch | undefined;
  ranOut(batch: Batch, outcome: RanOut): void;
  /** The process died before it began the batch. */
  putBack(batch: Batch): void;
  failAll(message: string): void;
}

interface Group {
  key: string;
  causes: readonly number[];
  requests: SandboxRequest[];
}

interface Waiting {
  request: SandboxRequest;
  sinceMs: number;
}

const shortTurns = ['glance', 'slice'] as const;
const turns = [...shortTurns, 'whole'] as const;

const { batchRequests, batchChars, patienceMs, glanceAfter } = sandboxLimits;

export class Line {
  readonly #clock: Clock;
  readonly #onBack: () => void;
  /** The front: a list for each combination of causes, in the order of their turns. */
  #groups: Group[] = [];
  /** The back, by what each request waits for; the first are new there. */
  readonly #back: Record<SandboxTurn, Waiting[]> = { glance: [], slice: [], whole: [] };
  /** Requests at the back that ran out since the last answer from there. */
  #ranOutInRow = 0;
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
    if (alone) this.#toBack(request, 'whole');
    else if (isSuspected || this.#areAtBack(request.causes)) this.#toBack(request, 'glance');
    else this.#toFront([request], 'last');
  }

  readonly front: LineEnd = {
    take: () => this.#takeFront(),
    ranOut: ({ requests }) => {
      // A request that ran by itself has had its slice; of a batch nobody knows which request is to blame.
      for (const request of requests) this.#toBack(request, requests.length === 1 ? 'whole' : 'glance');
      for (const group of this.#takeGroups(({ causes }) => this.#areAtBack(causes)))
        for (const request of group.requests) this.#toBack(request, 'glance');
    },
    putBack: ({ requests }) => this.#toFront(requests, 'first'),
    failAll: (message) => {
      for (const group of this.#takeGroups(() => true)) fail(group.requests, message);
    },
  };

  readonly back: LineEnd = {
    take: () => this.#takeBack(),
    ranOut: ({ requests, turn }, outcome) => {
      this.#ranOutInRow++;
      for (const request of requests) {
        if (turn === 'whole') request.settle(outcome);
        else this.#enqueue(request, turn === 'glance' ? 'slice' : 'whole');
      }
    },
    putBack: ({ requests, turn }) => {
      for (const request of requests) this.#enqueue(request, turn);
    },
    failAll: (message) => {
      const waiting = turns.flatMap((turn) => this.#back[turn].splice(0).map(({ request }) => request));
      for (const request of waiting) this.#count(request, -1);
      fail(waiting, message);
    },
  };

  #toFront(requests: readonly SandboxRequest[], where: 'first' | 'last'): void {
    for (const request of where === 'first' ? requests.toReversed() : requests) {
      const { causes } = request;
      const key = causes.join();
      let group = this.#groups.find((one) => one.key === key);
      if (group === undefined) {
        group = { key, causes, requests: [] };
        this.#groups.push(group);
      }
      if (where === 'first') group.requests.unshift(request);
      else group.requests.push(request);
      this.#count(request, 1);
    }
  }

  /** Only requests of the same causes share a batch, so that one that runs out takes no others with it. */
  #takeFront(): Batch | undefined {
    const group = this.#groups.shift();
    if (group === undefined) return undefined;
    let [size, chars] = [0, 0];
    for (const { text } of group.requests) {
      if (size >= batchRequests || (size > 0 && chars + text.length > batchChars)) break;
      size++;
      chars += text.length;
    }
    const requests = group.requests.splice(0, size);
    if (group.requests.length > 0) this.#groups.push(group);
    for (const request of requests) this.#count(request, -1);
    return { requests, turn: 'slice' };
  }

  #takeGroups(isWanted: (group: Group) => boolean): Group[] {
    const taken = this.#groups.filter(isWanted);
    this.#groups = this.#groups.filter((group) => !taken.includes(group));
    for (const { requests } of taken) for (const request of requests) this.#count(request, -1);
    return taken;
  }

  #areAtBack(causes: readonly number[]): boolean {
    return this.#causesAtBack.size > 0 && keysOf(causes).some((key) => this.#causesAtBack.has(key));
  }

  #toBack(request: SandboxRequest, turn: SandboxTurn): void {
    const key = request.causes.join();
    const step = (by: 1 | -1) => {
      const left = (this.#causesAtBack.get(key) ?? 0) + by;
      if (left > 0) this.#causesAtBack.set(key, left);
      else this.#causesAtBack.delete(key);
    };
    step(1);
    const settle = (outcome: SandboxOutcome) => {
      step(-1);
      if (outcome.kind === 'answer') this.#ranOutInRow = 0;
      request.settle(outcome);
    };
    this.#enqueue({ ...request, settle }, turn);
    this.#onBack();
  }

  #enqueue(request: SandboxRequest, turn: SandboxTurn): void {
    const sinceMs = this.#clock.now();
    if (turns.every((one) => this.#back[one].length === 0)) this.#oldestTakenMs = sinceMs;
    this.#back[turn].push({ request, sinceMs });
    this.#count(request, 1);
  }

  /**
   * The newest first: bad values that came together keep later good ones waiting for a slice or two only. Those of known objects before
   * them: a request that hangs takes a process with it, and forty that came together would cost five seconds. A glance first while all run
   * out: forty that loop are passed by in half the time. The oldest now and then: however many requests come, none waits for ever.
   */
  #takeBack(): Batch | undefined {
    const now = this.#clock.now();
    const isPatient = now - this.#oldestTakenMs < patienceMs;
    const short = isPatient ? shortTurns.find((one) => this.#back[one].length > 0) : undefined;
    const taken = short === undefined ? this.#oldestAtBack().shift() : nextOf(this.#back[short]);
    if (taken === undefined) return undefined;
    if (short === undefined) this.#oldestTakenMs = now;
    this.#count(taken.request, -1);
    const turn = short === 'glance' && this.#ranOutInRow < glanceAfter ? 'slice' : (short ?? 'whole');
    return { requests: [taken.request], turn };
  }

  #oldestAtBack(): Waiting[] {
    const lists = turns.map((turn) => this.#back[turn]);
    return lists.reduce((oldest, list) => (sinceMsOf(list) < sinceMsOf(oldest) ? list : oldest), this.#back.whole);
  }

  #count({ text }: SandboxRequest, step: 1 | -1): void {
    this.#requests += step;
    this.#chars += step * text.length;
  }
}

function nextOf(list: Waiting[]): Waiting | undefined {
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
