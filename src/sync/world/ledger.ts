// Remembers for each key: the outcome for status, the version that tells a host-side change from a virtual one, and
// the time since which a change waits. A restart can compute all of it again, so it lives in memory only.
import type { Key } from '../../object/meta/object.ts';
import type { ObjectRef } from '../plan/kind.ts';
import type { BackflowFailures, Outcome, PatchFailure } from '../plan/step.ts';

/** Every kind of object that is synced ends its passes with outcomes of this shape. */
interface AnyOutcome {
  kind: string;
  reason?: string;
  failure?: Pick<PatchFailure, 'patch'>;
  cause?: string;
}

export interface LedgerEntry<O extends AnyOutcome = Outcome> {
  outcome: O;
  sinceMs: number;
}

/** Number of lags kept for the percentiles in status. */
const lagSamples = 1024;

/** One row in the list of a dry run. */
export interface Difference {
  /** `host create`, `host patch`, `host remove` or `virtual patch`. */
  request: string;
  reason: string;
  touches: string[];
}

/** The ledger of one engine: a page for each kind. */
export class Ledger {
  readonly #pages = new Map<string, LedgerPage<never>>();
  readonly #listeners = new Set<(object: ObjectRef) => void>();

  page<O extends AnyOutcome = Outcome>(kind: string): LedgerPage<O> {
    const page =
      (this.#pages.get(kind) as LedgerPage<O> | undefined) ??
      new LedgerPage<O>((key) => {
        for (const listener of this.#listeners) listener({ kind, key });
      });
    this.#pages.set(kind, page as LedgerPage<never>);
    return page;
  }

  /** `changed` hears of every recorded outcome. */
  subscribe(changed: (object: ObjectRef) => void): () => void {
    this.#listeners.add(changed);
    return () => this.#listeners.delete(changed);
  }
}

export class LedgerPage<O extends AnyOutcome = Outcome> {
  readonly #changed: (key: Key) => void;
  readonly #entries = new Map<Key, LedgerEntry<O>>();
  /** The version of the virtual side and the rules with which the host copy last agreed. */
  readonly #settledAt = new Map<Key, string>();
  /** The heads of each pair that its last pass called equal, with the configuration. */
  readonly #equalHeads = new Map<Key, string>();
  readonly #dirtySince = new Map<Key, number>();
  /** The writes that a dry run would have made, in order. */
  readonly #differences = new Map<Key, readonly Difference[]>();
  readonly #counts = new Map<string, number>();
  readonly #failedBy = new Map<string, number>();
  readonly #causedBy = new Map<string, number>();
  readonly #inSync = new Set<Key>();
  /** Failed patches that their objects were written without. */
  readonly #lapses = new Map<Key, PatchFailure>();
  /** Host values that could not be carried back to the virtual object. */
  readonly #backflowFailures = new Map<Key, BackflowFailures>();
  readonly #lagsMs: number[] = [];
  #lagAt = 0;
  #changes = 0;

  constructor(changed: (key: Key) => void) {
    this.#changed = changed;
  }

  /** The lag of a change counts from its first event, so later events do not move the time. */
  noteDirty(key: Key, nowMs: number): void {
    if (!this.#dirtySince.has(key)) this.#dirtySince.set(key, nowMs);
  }

  takeDirtySince(key: Key): number | undefined {
    const since = this.#dirtySince.get(key);
    this.#dirtySince.delete(key);
    return since;
  }

  /** Whether a change of the object waits for its pass. */
  isDirty(key: Key): boolean {
    return this.#dirtySince.has(key);
  }

  /** Changes that have not reached the other side yet. Visits all of them, so it is for status only. */
  dirty(counts: (key: Key) => boolean): { count: number; oldestMs: number | undefined } {
    let [count, oldestMs]: [number, number | undefined] = [0, undefined];
    for (const [key, since] of this.#dirtySince) {
      if (!counts(key)) continue;
      count++;
      if (oldestMs === undefined || since < oldestMs) oldestMs = since;
    }
    return { count, oldestMs };
  }

  entry(key: Key): LedgerEntry<O> | undefined {
    return this.#entries.get(key);
  }

  outcomeOf(key: Key): O | { kind: 'inSync' } | undefined {
    return this.#inSync.has(key) ? { kind: 'inSync' } : this.#entries.get(key)?.outcome;
  }

  /** Returns the previous entry. Objects in sync have no entry, so that ten thousand of them need no memory. */
  set(key: Key, outcome: O | undefined, nowMs: number): LedgerEntry<O> | undefined {
    const before = this.#set(key, outcome, nowMs);
    this.#changes++;
    this.#changed(key);
    return before;
  }

  #set(key: Key, outcome: O | undefined, nowMs: number): LedgerEntry<O> | undefined {
    const before = this.#entries.get(key);
    if (before !== undefined) this.#count(before.outcome, -1);
    if (outcome?.kind === 'inSync') this.#inSync.add(key);
    else {
      this.#inSync.delete(key);
      this.#equalHeads.delete(key);
    }
    if (outcome === undefined || outcome.kind === 'inSync') {
      this.#entries.delete(key);
      return before;
    }
    const isSame = before !== undefined && labelOf(before.outcome) === labelOf(outcome);
    this.#entries.set(key, { outcome, sinceMs: isSame ? before.sinceMs : nowMs });
    this.#count(outcome, 1);
    return before;
  }

  /** Rises with everything that changes, so that a reader knows that nothing did. */
  get changes(): number {
    return this.#changes;
  }

  get inSync(): number {
    return this.#inSync.size;
  }

  noteLag(lagMs: number): void {
    this.#lagsMs[this.#lagAt] = lagMs;
    this.#lagAt = (this.#lagAt + 1) % lagSamples;
  }

  /** Percentiles of the last changes; zeros before the first change. */
  lags(): { p50Ms: number; p99Ms: number; samples: number } {
    const sorted = this.#lagsMs.toSorted((a, b) => a - b);
    const at = (share: number): number =>
      Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) * 100) / 100;
    return { p50Ms: at(0.5), p99Ms: at(0.99), samples: sorted.length };
  }

  setLapse(key: Key, lapse: PatchFailure | undefined): PatchFailure | undefined {
    const before = this.#lapses.get(key);
    if (lapse?.message === before?.message) return before;
    this.#changes++;
    this.#countFailed(lapsedState, before, -1);
    this.#countFailed(lapsedState, lapse, 1);
    if (lapse === undefined) this.#lapses.delete(key);
    else this.#lapses.set(key, lapse);
    return before;
  }

  get lapses(): ReadonlyMap<Key, PatchFailure> {
    return this.#lapses;
  }

  /** Returns what was known before. */
  setBackflowFailures(key: Key, failures: BackflowFailures | undefined): BackflowFailures | undefined {
    const before = this.#backflowFailures.get(key);
    if (failures !== before) this.#changes++;
    this.#countFailed(backflowState, firstFailure(before), -1);
    this.#countFailed(backflowState, firstFailure(failures), 1);
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

  setEqualHeads(key: Key, heads: string): void {
    this.#equalHeads.set(key, heads);
  }

  equalHeads(key: Key): string | undefined {
    return this.#equalHeads.get(key);
  }

  forget(key: Key): void {
    this.#settledAt.delete(key);
    this.#differences.delete(key);
  }

  setDifferences(key: Key, differences: readonly Difference[]): void {
    if (differences.length === 0) this.#differences.delete(key);
    else this.#differences.set(key, differences);
  }

  get differences(): ReadonlyMap<Key, readonly Difference[]> {
    return this.#differences;
  }

  keys(): IterableIterator<Key> {
    return this.#entries.keys();
  }

  /** Every key of which anything is said, some of them twice. */
  *known(): Generator<Key> {
    for (const said of [this.#entries, this.#lapses, this.#backflowFailures]) yield* said.keys();
    yield* this.#inSync;
  }

  get size(): number {
    return this.#entries.size;
  }

  entries(): IterableIterator<[Key, LedgerEntry<O>]> {
    return this.#entries.entries();
  }

  /** `kind` or `kind/reason` → number of objects. */
  counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** `STATE PATCH` → number of objects that this patch keeps in the state, so that no failing patch hides another one. */
  failedBy(): ReadonlyMap<string, number> {
    return this.#failedBy;
  }

  /** `STATE CAUSE` → number of objects that a server keeps in the state for this cause. */
  causedBy(): ReadonlyMap<string, number> {
    return this.#causedBy;
  }

  #countFailed(state: string, failure: Pick<PatchFailure, 'patch'> | undefined, by: number): void {
    if (failure?.patch !== undefined) countIn(this.#failedBy, failedName(state, failure.patch), by);
  }

  #count(outcome: O, by: number): void {
    this.#countFailed(labelOf(outcome), outcome.failure, by);
    if (outcome.cause !== undefined) countIn(this.#causedBy, failedName(labelOf(outcome), outcome.cause), by);
    for (const name of new Set([outcome.kind, labelOf(outcome)])) {
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + by);
    }
  }
}

/** States of objects that are on the host. */
export const lapsedState = 'inSync/PatchFailed';
export const backflowState = 'inSync/BackflowFailed';

/** `by` is the number of a patch, or the cause of a refusal. */
export function failedName(state: string, by: number | string): string {
  return `${state} ${by}`;
}

function countIn(counts: Map<string, number>, name: string, by: number): void {
  const count = (counts.get(name) ?? 0) + by;
  if (count > 0) counts.set(name, count);
  else counts.delete(name);
}

/** The one that the message names. */
export function firstFailure(failures: BackflowFailures | undefined): PatchFailure | undefined {
  return failures && [...failures.labels.values(), ...failures.annotations.values()][0];
}

export function labelOf(outcome: AnyOutcome): string {
  return 'reason' in outcome ? `${outcome.kind}/${outcome.reason}` : outcome.kind;
}
