// Which records were deleted in the last minutes, and when: the writer of a copy had read less than the deletion. The timeline knows that
// too, but only as far as this process has followed; who starts, or has missed changes, hears it from the heartbeats of others.

/** In a heartbeat, which must stay small. */
export const mostTold = 1_000;
/** Two minutes at 170 deletions a second. */
const mostKept = 20_000;

export class Graves {
  /** By short name, oldest deletion first. */
  readonly #gone = new Map<string, number>();
  /** Older deletions are forgotten. */
  #since = 0;

  /** Who had read less than this cannot be judged any more. */
  get since(): number {
    return this.#since;
  }

  add(name: string, version: number): void {
    this.#add(shortOf(name), version);
  }

  /** From a heartbeat. */
  hear(told: readonly string[]): void {
    for (const place of told) {
      const [short = '', version = ''] = place.split('@');
      this.#add(short, Number.parseInt(version, 36));
    }
  }

  /** `read`: the version that the writer of the record had read, or that the record was made as. */
  isGoneAfter(name: string, read: number): boolean {
    return read < (this.#gone.get(shortOf(name)) ?? 0);
  }

  /** Of deletions up to this version nothing needs to be known. */
  forget(upTo: number): void {
    for (const [short, version] of this.#gone) if (version <= upTo) this.#gone.delete(short);
  }

  /** The newest ones. `since`: who had read less cannot be judged by them. */
  told(): { gone: readonly string[]; since: number } {
    const sorted = [...this.#gone].sort(([, a], [, b]) => b - a);
    const since = Math.max(this.#since, sorted[mostTold]?.[1] ?? 0);
    return { gone: sorted.slice(0, mostTold).map(([short, version]) => `${short}@${version.toString(36)}`), since };
  }

  #add(short: string, version: number): void {
    if (!Number.isSafeInteger(version) || version <= (this.#gone.get(short) ?? 0)) return;
    this.#gone.delete(short);
    this.#gone.set(short, version);
    if (this.#gone.size <= mostKept) return;
    const [oldest] = this.#gone;
    if (oldest === undefined) return;
    this.#gone.delete(oldest[0]);
    this.#since = Math.max(this.#since, oldest[1]);
  }
}

/** 80 bits of the key's hash. */
function shortOf(name: string): string {
  return name.slice(3, 19);
}
