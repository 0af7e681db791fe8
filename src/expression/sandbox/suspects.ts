// Remembers which requests may keep a process busy: those with the same causes as a request that failed or took long. A request is
// suspected for all of its causes together and for each of them alone. The failure of a batch only raises a doubt about its
// requests, and the first quick answer to one of them ends that doubt.
import type { Clock } from '../../clock.ts';

interface Suspicion {
  untilMs: number;
  isProven: boolean;
}

/** As long as a failed value is remembered after its pause: most bad values come back within this time. */
const suspectedMs = 60_000;
/** A configuration has far fewer expressions; their combinations in objects are counted as well. */
const maxSuspicions = 1_000;

export class Suspects {
  readonly #clock: Clock;
  readonly #suspicions = new Map<string, Suspicion>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has(causes: readonly number[]): boolean {
    return this.#suspicionsOf(causes).length > 0;
  }

  hasProven(causes: readonly number[]): boolean {
    return this.#suspicionsOf(causes).some(({ isProven }) => isProven);
  }

  doubt(causes: readonly number[]): void {
    if (causes.length > 0 && !this.hasProven(causes)) this.#keep(causes, false);
  }

  prove(causes: readonly number[]): void {
    if (causes.length > 0) this.#keep(causes, true);
  }

  /** After a quick answer. */
  clear(causes: readonly number[]): void {
    if (this.#suspicions.size === 0) return;
    for (const key of keysOf(causes)) if (this.#suspicions.get(key)?.isProven === false) this.#suspicions.delete(key);
  }

  forgetAll(): void {
    this.#suspicions.clear();
  }

  #suspicionsOf(causes: readonly number[]): Suspicion[] {
    if (this.#suspicions.size === 0) return [];
    const now = this.#clock.now();
    const found: Suspicion[] = [];
    for (const key of keysOf(causes)) {
      const suspicion = this.#suspicions.get(key);
      if (suspicion === undefined) continue;
      if (suspicion.untilMs > now) found.push(suspicion);
      else this.#suspicions.delete(key);
    }
    return found;
  }

  #keep(causes: readonly number[], isProven: boolean): void {
    const key = causes.join();
    this.#suspicions.delete(key);
    this.#suspicions.set(key, { untilMs: this.#clock.now() + suspectedMs, isProven });
    const [oldest] = this.#suspicions.keys();
    if (this.#suspicions.size > maxSuspicions && oldest !== undefined) this.#suspicions.delete(oldest);
  }
}

function keysOf(causes: readonly number[]): readonly string[] {
  return causes.length > 1 ? [causes.join(), ...causes.map(String)] : causes.map(String);
}
