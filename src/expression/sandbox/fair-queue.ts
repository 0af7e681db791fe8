// The waiting requests of the quick process. Requests of different causes take turns, a batch at a time, so that a thousand requests
// of one cause delay a request of another by a batch.
import { maxBatchRequests } from './batches.ts';
import type { SandboxRequest } from './requests.ts';

/** Lists that are kept although they are empty, because a map that grows and shrinks all the time burdens the garbage collector. */
const maxLists = 256;

export class FairQueue {
  #lists = new Map<string, SandboxRequest[]>();
  /** The lists that are not empty, in the order of their turns. */
  #turns: SandboxRequest[][] = [];
  #takenInTurn = 0;
  #size = 0;
  #chars = 0;

  get waiting(): { requests: number; chars: number } {
    return { requests: this.#size, chars: this.#chars };
  }

  get first(): SandboxRequest | undefined {
    return this.#turns[0]?.[0];
  }

  add(request: SandboxRequest): void {
    this.#listOf(request).push(request);
    this.#count(request, 1);
  }

  /** The requests go before the others of their cause. */
  putBack(requests: readonly SandboxRequest[]): void {
    for (const request of requests.toReversed()) {
      this.#listOf(request).unshift(request);
      this.#count(request, 1);
    }
  }

  take(): SandboxRequest | undefined {
    const [list] = this.#turns;
    const request = list?.shift();
    if (list === undefined || request === undefined) return undefined;
    this.#takenInTurn++;
    if (list.length === 0 || this.#takenInTurn >= maxBatchRequests) {
      this.#takenInTurn = 0;
      this.#turns.shift();
      if (list.length > 0) this.#turns.push(list);
    }
    this.#count(request, -1);
    return request;
  }

  takeAll(isWanted: (request: SandboxRequest) => boolean = () => true): SandboxRequest[] {
    const all = this.#turns.flatMap((list) => list.splice(0));
    this.#turns = [];
    this.#takenInTurn = 0;
    this.#size = 0;
    this.#chars = 0;
    const wanted: SandboxRequest[] = [];
    for (const request of all) {
      if (isWanted(request)) wanted.push(request);
      else this.add(request);
    }
    return wanted;
  }

  #listOf({ causes }: SandboxRequest): SandboxRequest[] {
    const key = causes.join();
    const list = this.#lists.get(key) ?? this.#newList(key);
    if (list.length === 0) this.#turns.push(list);
    return list;
  }

  #newList(key: string): SandboxRequest[] {
    if (this.#lists.size >= maxLists) this.#lists = new Map([...this.#lists].filter(([, list]) => list.length > 0));
    const list: SandboxRequest[] = [];
    this.#lists.set(key, list);
    return list;
  }

  #count({ text }: SandboxRequest, step: 1 | -1): void {
    this.#size += step;
    this.#chars += step * text.length;
  }
}
