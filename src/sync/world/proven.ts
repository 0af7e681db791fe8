// Knows which objects are proven: both clusters had, at that time, exactly the two objects that the last pass called equal, under
// the configuration in force. In: the windows, whose items carry the times of their proofs, and the ledger. Out: times, and the
// keys with other heads than in their last pass. Never part of a decision.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Key, keyOf } from '../../object/meta/object.ts';
import type { Facts } from '../plan/step.ts';
import type { LedgerPage } from './ledger.ts';
import type { World } from './world.ts';

/** Objects looked at before the event loop gets its turn. */
const sliceKeys = 250;

/** The heads of a pair and the configuration, of the pass that called the pair equal. */
export function headsOf({ virtual, host }: Pick<Facts, 'virtual' | 'host'>, generation: number): string {
  return [virtual?.resourceVersion, host?.resourceVersion, generation].join(' ');
}

export interface ProvenSummary {
  objects: number;
  /** The oldest proof among them. */
  oldestMs: number | undefined;
}

export class Proven {
  readonly #world: World;
  readonly #ledger: LedgerPage;
  readonly #generation: () => number;
  #summary: ProvenSummary = { objects: 0, oldestMs: undefined };
  #sweep = 0;

  constructor(options: { world: World; ledger: LedgerPage; generation: () => number }) {
    this.#world = options.world;
    this.#ledger = options.ledger;
    this.#generation = options.generation;
  }

  /** The counts at the last proof of the host. */
  get summary(): ProvenSummary {
    return this.#summary;
  }

  /** Monotonic time of the last proof of an object; undefined if the object, its copy or the configuration changed since. */
  provenMs(key: Key): number | undefined {
    const hostKey = this.#equalCopyOf(key);
    if (hostKey === undefined) return undefined;
    const { virtual, host } = this.#world.windows;
    const ofVirtual = virtual.provenMs(key);
    const ofHost = host.provenMs(hostKey);
    return ofVirtual === undefined || ofHost === undefined ? undefined : Math.min(ofVirtual, ofHost);
  }

  /** The place of the copy, if the windows show the very pair that the last pass called equal. */
  #equalCopyOf(key: Key): Key | undefined {
    if (!this.#isSettled(key)) return undefined;
    const { virtual, host } = this.#world.windows;
    const place = this.#world.placeOf(key);
    if (place === undefined) return undefined;
    const hostKey = keyOf(place.namespace, place.name);
    const heads = [virtual.versionOf(key), host.versionOf(hostKey), this.#generation()].join(' ');
    return this.#ledger.equalHeads(key) === heads ? hostKey : undefined;
  }

  #isSettled(key: Key): boolean {
    return !this.#ledger.isDirty(key) && this.#ledger.outcomeOf(key)?.kind === 'inSync';
  }

  /**
   * Counts the proven objects. `doubtful` gets each object that is called in sync although its heads are others: most often only
   * a resourceVersion has changed, and the next pass finds nothing to do.
   */
  async sweep(doubtful: (key: Key) => void): Promise<void> {
    const sweep = ++this.#sweep;
    const found: ProvenSummary = { objects: 0, oldestMs: undefined };
    let count = 0;
    for (const key of this.#world.windows.virtual.keys()) {
      if (++count % sliceKeys === 0) await nextTurn();
      // A later proof has begun a sweep of its own.
      if (sweep !== this.#sweep) return;
      const atMs = this.provenMs(key);
      if (atMs === undefined) {
        if (this.#isSettled(key) && this.#equalCopyOf(key) === undefined) doubtful(key);
        continue;
      }
      found.objects++;
      if (found.oldestMs === undefined || atMs < found.oldestMs) found.oldestMs = atMs;
    }
    this.#summary = found;
  }

  stop(): void {
    this.#sweep++;
  }
}
