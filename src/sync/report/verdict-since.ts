// Remembers since when the verdict on the daemon is what it is, and each of its parts. The sentence may change in the meantime:
// counts of objects do.
import type { Verdict } from './verdict.ts';

/** A verdict as the status shows it. */
export type DatedVerdict = Omit<Verdict, 'parts'> & {
  /** Of the state while all is well, and of the worst part otherwise. RFC 3339. */
  since: string;
  /** When there are several. */
  parts?: readonly { part: string; since: string }[];
};

export class VerdictSince {
  #known: { state: Verdict['state'] | undefined; isWell: boolean; since: string } | undefined;
  #parts: ReadonlyMap<string, string> = new Map();

  /** To be called often enough that the times are right to a second. */
  note({ parts, ...verdict }: Verdict, wallTime: Date): DatedVerdict {
    const now = wallTime.toISOString().replace(/\.\d+Z$/, 'Z');
    const { state, isWell } = verdict;
    if (this.#known === undefined || this.#known.state !== state || this.#known.isWell !== isWell)
      this.#known = { state, isWell, since: now };
    const before = this.#parts;
    this.#parts = new Map(parts.map(({ name, since }) => [name, since ?? before.get(name) ?? now]));
    const dated = parts.map(({ name, text }) => ({ part: text, since: this.#parts.get(name) as string }));
    const since = isWell ? this.#known.since : (dated[0]?.since ?? now);
    return { ...verdict, since, ...(dated.length > 1 && { parts: dated }) };
  }
}
