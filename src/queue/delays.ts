// Keys that are due later: a binary heap and one timer for all keys. The heap holds each key once, with its earliest time.
import type { Clock, Timer } from '../clock.ts';

interface Delayed {
  key: string;
  dueMs: number;
  heapIndex: number;
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

  /** Keeps the earlier of two times for a key that already waits. */
  add(key: string, delayMs: number): void {
    const dueMs = this.#clock.now() + delayMs;
    const known = this.#byKey.get(key);
    if (known !== undefined) {
      if (known.dueMs <= dueMs) return;
      known.dueMs = dueMs;
      this.#up(known.heapIndex);
    } else {
      const delayed = { key, dueMs, heapIndex: this.#heap.length };
      this.#heap.push(delayed);
      this.#byKey.set(key, delayed);
      this.#up(delayed.heapIndex);
    }
    this.#arm();
  }

  get keys(): Iterable<string> {
    return this.#byKey.keys();
  }

  /** Returns whether the key waited. */
  remove(key: string): boolean {
    const known = this.#byKey.get(key);
    if (known !== undefined) this.#take(known.heapIndex);
    return known !== undefined;
  }

  clear(): void {
    this.#heap = [];
    this.#byKey.clear();
    this.#timer?.cancel();
    this.#timerMs = Number.POSITIVE_INFINITY;
  }

  /** An early timer only checks the heap and is set again, which is cheaper than moving the timer at every change. */
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

  #take(index: number): void {
    const taken = this.#heap[index] as Delayed;
    const last = this.#heap.pop() as Delayed;
    this.#byKey.delete(taken.key);
    if (last === taken) return;
    this.#put(last, index);
    this.#up(index);
    this.#down(last.heapIndex);
  }

  #put(delayed: Delayed, index: number): void {
    this.#heap[index] = delayed;
    delayed.heapIndex = index;
  }

  #up(from: number): void {
    let index = from;
    while (index > 0) {
      const above = (index - 1) >> 1;
      if (!this.#isEarlier(index, above)) return;
      this.#exchange(index, above);
      index = above;
    }
  }

  #down(from: number): void {
    let index = from;
    for (;;) {
      const left = 2 * index + 1;
      let least = index;
      if (left < this.#heap.length && this.#isEarlier(left, least)) least = left;
      if (left + 1 < this.#heap.length && this.#isEarlier(left + 1, least)) least = left + 1;
      if (least === index) return;
      this.#exchange(index, least);
      index = least;
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
