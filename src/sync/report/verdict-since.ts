// Remembers since when the verdict on the daemon is what it is. The sentence may change in the meantime: counts of objects do.
import type { Verdict } from './verdict.ts';

export class VerdictSince {
  #known: { state: Verdict['state'] | undefined; isWell: boolean; since: string } | undefined;

  /** To be called often enough that the time is right to a second. Returns RFC 3339. */
  note({ state, isWell }: Partial<Verdict>, wallTime: Date): string {
    const known = this.#known;
    if (known !== undefined && known.state === state && known.isWell === isWell) return known.since;
    const since = wallTime.toISOString().replace(/\.\d+Z$/, 'Z');
    this.#known = { state, isWell: isWell === true, since };
    return since;
  }
}
