// What sync remembers per key between passes, and nothing that could not be worked out again: outcomes for status, versions
// to tell a host-side change from a virtual one, and since when a change has been waiting.
import type { Key } from '../../object/meta/object.ts';
import type { BackflowFailures, Outcome, Request } from '../plan/step.ts';

export interface LedgerEntry {
  outcome: Outcome;
  sinceMs: number;
}

/** Lags remembered for the percentiles in status. */
const lagSamples = 1024;

/** What a dry run would have done. */
export interface Difference {
  request: string;
  reason: string;
  touches: string[];
}

export class Ledger {
  readonly #entries = new Map<Key, LedgerEntry>();
  /** Version of the virtual side (and rules) at which the host copy last agreed. */
  readonly #settledAt = new Map<Key, string>();
  readonly #dirtySince = new Map<Key, number>();
  readonly #differences = new Map<Key, Difference>();
  readonly #counts = new Map<string, number>();
  readonly #inSync = new Set<Key>();
  /** What is said of patches that failed and were left out. */
  readonly #lapses = new Map<Key, string>();
  /** Host values that could not be carried back to the virtual object. */
  readonly #backflowFailures = new Map<Key, BackflowFailures>();
  readonly #lagsMs: number[] = [];
  #lagAt = 0;

  /** The change is dated by its first sight, however often it is seen again before it is served. */
  noteDirty(key: Key, nowMs: number): void {
    if (!this.#dirtySince.has(key)) this.#dirtySince.set(key, nowMs);
  }

  takeDirtySince(key: Key): number | undefined {
    const since = this.#dirtySince.get(key);
    this.#dirtySince.delete(key);
    return since;
  }

  entry(key: Key): LedgerEntry | undefined {
    return this.#entries.get(key);
  }

  /** Returns what was there before; `inSync` is the absence of an entry, so that ten thousand of them cost nothing. */
  set(key: Key, outcome: Outcome | undefined, nowMs: number): LedgerEntry | undefined {
    const before = this.#entries.get(key);
    if (before !== undefined) this.#count(before.outcome, -1);
    if (outcome?.kind === 'inSync') this.#inSync.add(key);
    else this.#inSync.delete(key);
    if (outcome === undefined || outcome.kind === 'inSync') {
      this.#entries.delete(key);
      return before;
    }
    const isSame = before !== undefined && labelOf(before.outcome) === labelOf(outcome);
    this.#entries.set(key, { outcome, sinceMs: isSame ? before.sinceMs : nowMs });
    this.#count(outcome, 1);
    return before;
  }

  get inSync(): number {
    return this.#inSync.size;
  }

  noteLag(lagMs: number): void {
    this.#lagsMs[this.#lagAt] = lagMs;
    this.#lagAt = (this.#lagAt + 1) % lagSamples;
  }

  /** Of the last changes; zeros before the first. */
  lags(): { p50Ms: number; p99Ms: number; samples: number } {
    const sorted = this.#lagsMs.toSorted((a, b) => a - b);
    const at = (share: number): number =>
      Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) * 100) / 100;
    return { p50Ms: at(0.5), p99Ms: at(0.99), samples: sorted.length };
  }

  /** Returns what was said before. */
  setLapse(key: Key, message: string | undefined): string | undefined {
    const before = this.#lapses.get(key);
    if (message === undefined) this.#lapses.delete(key);
    else if (message !== before) this.#lapses.set(key, message);
    return before;
  }

  get lapses(): ReadonlyMap<Key, string> {
    return this.#lapses;
  }

  /** Returns what was known before. */
  setBackflowFailures(key: Key, failures: BackflowFailures | undefined): BackflowFailures | undefined {
    const before = this.#backflowFailures.get(key);
    if (failures === undefined) this.#backflowFailures.delete(key);
    else this.#backflowFailures.set(key, failures);
    return before;
  }

  get backflowFailures(): ReadonlyMap<Key, BackflowFailures> {
    return this.#backflowFailures;
  }

  settle(key: Key, version: string): void {
    this.#settledAt.set(key, version);
  }

  settledAt(key: Key): string | undefined {
    return this.#settledAt.get(key);
  }

  forget(key: Key): void {
    this.#settledAt.delete(key);
    this.#differences.delete(key);
  }

  setDifference(key: Key, request: Request | undefined): void {
    if (request === undefined) {
      this.#differences.delete(key);
      return;
    }
    const reason = request.verb === 'get' ? '' : request.reason;
    const touches = request.side === 'host' && request.verb === 'patch' ? request.touches : [];
    this.#differences.set(key, { request: `${request.side} ${request.verb}`, reason, touches });
  }

  get differences(): ReadonlyMap<Key, Difference> {
    return this.#differences;
  }

  keys(): IterableIterator<Key> {
    return this.#entries.keys();
  }

  get size(): number {
    return this.#entries.size;
  }

  entries(): IterableIterator<[Key, LedgerEntry]> {
    return this.#entries.entries();
  }

  /** `kind` or `kind/reason` → how many. */
  counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  #count(outcome: Outcome, by: number): void {
    for (const name of new Set([outcome.kind, labelOf(outcome)])) {
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + by);
    }
  }
}

export function labelOf(outcome: Outcome): string {
  return 'reason' in outcome ? `${outcome.kind}/${outcome.reason}` : outcome.kind;
}
