// The requests of the quick process, where each request gets one short slice. A request that does not finish in it, or that may
// have killed the process, is handed over to the slow process, so that it delays the others once at most.
import { sandboxLimits } from '../limits.ts';
import { maxBatchChars, maxBatchRequests } from './batches.ts';
import { FairQueue } from './fair-queue.ts';
import type { Frame } from './frames.ts';
import type { ProcessDeath, RequestBook, RunOutcome, SandboxRequest } from './requests.ts';
import { firstSliceMs } from './time-slice.ts';

/** certain: the request failed by itself. possible: a request of the same batch failed. costly: the request was answered, but late. */
export type Blame = 'certain' | 'possible' | 'costly';

interface SentRequest {
  id: number;
  request: SandboxRequest;
}

/** Two batches, or two requests that are longer than a batch: the process works on one while the next is on its way. */
const maxCharsInFlight = 2 * maxBatchChars;
const fewestInFlight = 2;

export class QuickBook implements RequestBook {
  readonly #queue = new FairQueue();
  readonly #onBlame: (request: SandboxRequest, blame: Blame) => void;
  /** A list, because the dead tables that V8 leaves behind a growing map would keep deleted requests in memory. */
  #inFlight: SentRequest[] = [];
  #charsInFlight = 0;
  #nextId = 1;

  /** A request with the blame `costly` is settled already. */
  constructor(onBlame: (request: SandboxRequest, blame: Blame) => void) {
    this.#onBlame = onBlame;
  }

  get inFlight(): number {
    return this.#inFlight.length;
  }

  get waiting(): { requests: number; chars: number } {
    return this.#queue.waiting;
  }

  add(request: SandboxRequest): void {
    this.#queue.add(request);
  }

  /** Only requests of the same causes share a batch, so that a batch that fails takes no others with it. */
  next(): Frame | undefined {
    const chars = this.#queue.first?.text.length;
    if (chars === undefined || this.#inFlight.length >= sandboxLimits.inFlight) return undefined;
    if (this.#inFlight.length >= fewestInFlight && this.#charsInFlight + chars > maxCharsInFlight) return undefined;
    const request = this.#queue.take() as SandboxRequest;
    const id = this.#nextId;
    this.#nextId = (id + 1) >>> 0;
    this.#inFlight.push({ id, request });
    this.#charsInFlight += chars;
    const isLikeLast = hasSameCauses(this.#inFlight.at(-2)?.request, request);
    return { id, kind: isLikeLast ? 'run' : 'apart', text: request.text };
  }

  recordOutcome(id: number, { kind, text }: RunOutcome): void {
    const at = this.#inFlight.findIndex((sent) => sent.id === id);
    const [sent] = at < 0 ? [] : this.#inFlight.splice(at, 1);
    if (sent === undefined) return;
    const { request } = sent;
    this.#charsInFlight -= request.text.length;
    if (kind === 'answer' || kind === 'costly') request.settle({ kind: 'answer', text });
    if (kind !== 'answer')
      this.#onBlame(request, kind === 'costly' ? 'costly' : kind === 'unsure' ? 'possible' : 'certain');
  }

  /**
   * The process runs requests in their order and sends the answers to a batch before it begins the next one, so only the oldest
   * batch can have killed it.
   */
  recordDeath({ isBlamedOnRequest }: ProcessDeath): void {
    const taken = this.#takeInFlight();
    const [first] = taken;
    const others = taken.findIndex((request) => !hasSameCauses(first, request));
    const suspects = taken.splice(0, Math.min(maxBatchRequests, others < 0 ? taken.length : others));
    this.#queue.putBack(taken);
    const blame = suspects.length === 1 && isBlamedOnRequest ? 'certain' : 'possible';
    for (const request of suspects) this.#onBlame(request, blame);
  }

  allowedSilenceMs(hardMs: number): number {
    const slices = this.#inFlight.map(({ request }) => firstSliceMs(request.text.length));
    return Math.min(hardMs, sandboxLimits.hangMs + Math.max(0, ...slices));
  }

  takeWaiting(isWanted: (request: SandboxRequest) => boolean): SandboxRequest[] {
    return this.#queue.takeAll(isWanted);
  }

  failAll(message: string): void {
    for (const { settle } of [...this.#takeInFlight(), ...this.#queue.takeAll()])
      settle({ kind: 'unavailable', message });
  }

  #takeInFlight(): SandboxRequest[] {
    const taken = this.#inFlight.map(({ request }) => request);
    this.#inFlight = [];
    this.#charsInFlight = 0;
    return taken;
  }
}

function hasSameCauses(one: SandboxRequest | undefined, other: SandboxRequest): boolean {
  return one?.causes.join() === other.causes.join();
}
