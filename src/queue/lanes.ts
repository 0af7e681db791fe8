// The order in which waiting keys are taken: one line per lane, lanes in turn, so that a lane with ten thousand keys does
// not keep a lane with one waiting. Within a lane first come, first served. Every operation is O(1).

interface Waiting {
  key: string;
  sinceMs: number;
}

interface Lane {
  name: string;
  line: Line<Waiting>;
}

export class Lanes {
  #laneOf: (key: string) => string;
  #keys = new Set<string>();
  #byName = new Map<string, Lane>();
  /** Lanes that have keys, in the order of their next turn. */
  #turns = new Line<Lane>();

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
      lane = { name, line: new Line() };
      this.#byName.set(name, lane);
      this.#turns.push(lane);
    }
    lane.line.push({ key, sinceMs });
  }

  take(): Waiting | undefined {
    const lane = this.#turns.shift();
    const taken = lane?.line.shift();
    if (lane === undefined || taken === undefined) return undefined;
    this.#keys.delete(taken.key);
    if (lane.line.first === undefined) this.#byName.delete(lane.name);
    else this.#turns.push(lane);
    return taken;
  }

  /** When the longest waiting key came. Looks at the head of each lane: for metrics and status, not for each key. */
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
    this.#turns = new Line();
  }
}

/** What was shifted is dropped in one go at this many, so that neither end costs more than O(1). */
const compactAt = 1_024;

/**
 * First in, first out. An array with a moving head: the first entry of a Map is found only past the holes of all that
 * were deleted before it, which makes a long line quadratic.
 */
class Line<T> {
  #entries: T[] = [];
  #head = 0;

  get first(): T | undefined {
    return this.#entries[this.#head];
  }

  push(entry: T): void {
    this.#entries.push(entry);
  }

  shift(): T | undefined {
    const entry = this.#entries[this.#head];
    if (entry === undefined) return undefined;
    this.#head++;
    if (this.#head === this.#entries.length || (this.#head >= compactAt && this.#head * 2 >= this.#entries.length)) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
    return entry;
  }
}
