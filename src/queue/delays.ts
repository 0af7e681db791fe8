// Keys that are due later: a binary heap and one timer for all of them. A key stands in it once, with its earliest time.
import type { Clock, Timer } from '../clock.ts';

interface Delayed {
  key: string;
  dueMs: number;
  place: number;
}

export class Delays {
  #clock: Clock;
  #due: (key: string) => void;
  #heap: Delayed[] = [];
  #byKey = new Map<string, Delayed>();
  #timer: Timer | undefined;
  #timerMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, due: (key: string) => void) {
    this.#clock = clock;
    this.#due = due;
  }

  get size(): number {
    return this.#heap.length;
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  /** Keeps the earlier time when the key waits already. */
  add(key: string, delayMs: number): void {
    const dueMs = this.#clock.now() + delayMs;
    const known = this.#byKey.get(key);
    if (known !== undefined) {
      if (known.dueMs <= dueMs) return;
      known.dueMs = dueMs;
      this.#up(known.place);
    } else {
      const delayed = { key, dueMs, place: this.#heap.length };
      this.#heap.push(delayed);
      this.#byKey.set(key, delayed);
      this.#up(delayed.place);
    }
    this.#arm();
  }

  remove(key: string): void {
    const known = this.#byKey.get(key);
    if (known !== undefined) this.#take(known.place);
  }

  clear(): void {
    this.#heap = [];
    this.#byKey.clear();
    this.#timer?.cancel();
    this.#timerMs = Number.POSITIVE_INFINITY;
  }

  /** A timer that is too early only looks and sets itself again: cheaper than moving it at every change. */
  #arm(): void {
    const first = this.#heap[0];
    if (first === undefined || first.dueMs >= this.#timerMs) return;
    this.#timer?.cancel();
    this.#timerMs = first.dueMs;
    this.#timer = this.#clock.after(Math.max(0, first.dueMs - this.#clock.now()), () => this.#fire());
  }

  #fire(): void {
    this.#timerMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#clock.now();
    for (let first = this.#heap[0]; first !== undefined && first.dueMs <= nowMs; first = this.#heap[0]) {
      this.#take(0);
      this.#due(first.key);
    }
    this.#arm();
  }

  #take(place: number): void {
    const taken = this.#heap[place] as Delayed;
    const last = this.#heap.pop() as Delayed;
    this.#byKey.delete(taken.key);
    if (last === taken) return;
    this.#put(last, place);
    this.#up(place);
    this.#down(last.place);
  }

  #put(delayed: Delayed, place: number): void {
    this.#heap[place] = delayed;
    delayed.place = place;
  }

  #up(from: number): void {
    let place = from;
    while (place > 0) {
      const above = (place - 1) >> 1;
      if (!this.#isEarlier(place, above)) return;
      this.#exchange(place, above);
      place = above;
    }
  }

  #down(from: number): void {
    let place = from;
    for (;;) {
      const left = 2 * place + 1;
      let least = place;
      if (left < this.#heap.length && this.#isEarlier(left, least)) least = left;
      if (left + 1 < this.#heap.length && this.#isEarlier(left + 1, least)) least = left + 1;
      if (least === place) return;
      this.#exchange(place, least);
      place = least;
    }
  }

  #isEarlier(a: number, b: number): boolean {
    return (this.#heap[a] as Delayed).dueMs < (this.#heap[b] as Delayed).dueMs;
  }

  #exchange(a: number, b: number): void {
    const first = this.#heap[a] as Delayed;
    this.#put(this.#heap[b] as Delayed, a);
    this.#put(first, b);
  }
}
