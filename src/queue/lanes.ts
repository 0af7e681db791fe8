// The order in which waiting keys are taken: the lanes take turns, so that a lane with ten thousand keys does not delay a
// lane with one key. Within a lane the first key comes first. Every operation is O(1).
import { Fifo } from '../pace/fifo.ts';

interface WaitingKey {
  key: string;
  sinceMs: number;
}

interface Lane {
  name: string;
  line: Fifo<WaitingKey>;
}

export class Lanes {
  #laneOf: (key: string) => string;
  #keys = new Set<string>();
  #byName = new Map<string, Lane>();
  /** Lanes that have keys, in the order of their next turn. */
  #turns = new Fifo<Lane>();

  constructor(laneOf: (key: string) => string) {
    this.#laneOf = laneOf;
  }

  get size(): number {
    return this.#keys.size;
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  push(key: string, sinceMs: number): void {
    if (this.#keys.has(key)) return;
    this.#keys.add(key);
    const name = this.#laneOf(key);
    let lane = this.#byName.get(name);
    if (lane === undefined) {
      lane = { name, line: new Fifo() };
      this.#byName.set(name, lane);
      this.#turns.push(lane);
    }
    lane.line.push({ key, sinceMs });
  }

  take(): WaitingKey | undefined {
    const lane = this.#turns.shift();
    const taken = lane?.line.shift();
    if (lane === undefined || taken === undefined) return undefined;
    this.#keys.delete(taken.key);
    if (lane.line.first === undefined) this.#byName.delete(lane.name);
    else this.#turns.push(lane);
    return taken;
  }

  /** When the oldest waiting key was added. For metrics and status only, because it reads the head of every lane. */
  oldestSinceMs(): number | undefined {
    let oldest: number | undefined;
    for (const lane of this.#byName.values()) {
      const sinceMs = lane.line.first?.sinceMs;
      if (sinceMs !== undefined && (oldest === undefined || sinceMs < oldest)) oldest = sinceMs;
    }
    return oldest;
  }

  clear(): void {
    this.#keys.clear();
    this.#byName.clear();
    this.#turns = new Fifo();
  }
}
