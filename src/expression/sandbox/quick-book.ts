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
  /** Number of the batch that the request was sent with. */
  batch: number;
}

/** The process works on one batch while the next is on its way. Each may use up a whole slice before its causes are suspected. */
const batchesInFlight = 2;

export class QuickBook implements RequestBook {
  readonly #queue = new FairQueue();
  readonly #onBlame: (request: SandboxRequest, blame: Blame) => void;
  /** A list, because the dead tables that V8 leaves behind a growing map would keep deleted requests in memory. */
  #inFlight: SentRequest[] = [];
  #batch = 0;
  #isBatchOpen = false;
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
    const first = this.#queue.first;
    const mayJoin = first !== undefined && this.#mayJoin(first);
    const mayBegin = (this.#inFlight[0]?.batch ?? this.#batch + 1) > this.#batch + 1 - batchesInFlight;
    if (first === undefined || !(mayJoin || mayBegin)) {
      // A request that comes later finds the batch on its way.
      this.#isBatchOpen = false;
      return undefined;
    }
    const request = this.#queue.take() as SandboxRequest;
    const id = this.#nextId;
    this.#nextId = (id + 1) >>> 0;
    if (!mayJoin) {
      this.#batch++;
      this.#isBatchOpen = true;
    }
    this.#inFlight.push({ id, request, batch: this.#batch });
    return { id, kind: mayJoin ? 'run' : 'apart', text: request.text };
  }

  #mayJoin(request: SandboxRequest): boolean {
    if (!this.#isBatchOpen) return false;
    const members = this.#inFlight.filter(({ batch }) => batch === this.#batch);
    const chars = members.reduce((sum, { request: { text } }) => sum + text.length, request.text.length);
    return members.length < maxBatchRequests && chars <= maxBatchChars && hasSameCauses(members[0]?.request, request);
  }

  recordOutcome(id: number, { kind, text }: RunOutcome): void {
    const at = this.#inFlight.findIndex((sent) => sent.id === id);
    const [sent] = at < 0 ? [] : this.#inFlight.splice(at, 1);
    if (sent === undefined) return;
    const { request } = sent;
    if (kind === 'answer' || kind === 'costly') request.settle({ kind: 'answer', text });
    if (kind !== 'answer')
      this.#onBlame(request, kind === 'costly' ? 'costly' : kind === 'unsure' ? 'possible' : 'certain');
  }

  /**
   * The process runs requests in their order and sends the answers to a batch before it begins the next one, so only the oldest
   * batch can have killed it.
   */
  recordDeath({ isBlamedOnRequest }: ProcessDeath): void {
    const oldest = this.#inFlight.findLastIndex(({ batch }) => batch === this.#inFlight[0]?.batch);
    const taken = this.#takeInFlight();
    const suspects = taken.splice(0, oldest + 1);
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
    this.#isBatchOpen = false;
    return taken;
  }
}

function hasSameCauses(one: SandboxRequest | undefined, other: SandboxRequest): boolean {
  return one?.causes.join() === other.causes.join();
}
