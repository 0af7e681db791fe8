// Where oracles write what is wrong. One sentence of each kind is enough: the rest follows from it.

export interface Violation {
  /** `S1` to `S8`, `liveness`, `end`, `model`, `silence`, `status`, `counts`. */
  oracle: string;
  /** The same for the same mistake, whatever the seed: schedules are minimised by it. */
  kind: string;
  what: string;
  atMs: number;
}

export class Board {
  readonly violations: Violation[] = [];
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  say(oracle: string, kind: string, what: string): void {
    if (this.violations.some((one) => one.oracle === oracle && one.kind === kind)) return;
    this.violations.push({ oracle, kind, what, atMs: this.#nowMs() });
  }
}
