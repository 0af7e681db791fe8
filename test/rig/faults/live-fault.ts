// A fault of a run: it waits for its request, strikes as its effect says, and knows when it has struck and when it is over. With the forms that
// most effects have.

import type { World } from '../play/world.ts';
import type { Meddler, Meddling, OpenWatch } from '../proxy/fault-proxy.ts';
import type { Passing, WatchedLine } from '../proxy/passing.ts';
import type { MemoryWire } from '../stage/memory-wire.ts';
import type { PlacedFault } from './placed.ts';
import type { Recipe } from './recipes/recipe.ts';

export class LiveFault implements Meddler {
  readonly placed: PlacedFault;
  readonly recipe: Recipe;
  readonly world: World;
  /** Requests of its verb and side since the daemon began. */
  seen = 0;
  struck = 0;
  /** Undefined until it strikes. */
  firstMs: number | undefined;
  endMs = 0;
  /** Work of the effect that goes on by itself, such as a server that is down. */
  pending = 0;
  /** The watch that it struck last. */
  hit: OpenWatch | undefined;
  readonly lines: { watch: OpenWatch; text: string }[] = [];
  /** The watches of its side that were open when it struck first. */
  watchesAtStrike: readonly OpenWatch[] = [];
  readonly #effect: Effect;
  #nth: number;
  #about: string | undefined;

  constructor(placed: PlacedFault, recipe: Recipe, world: World, effect: Effect) {
    this.placed = placed;
    this.#nth = placed.nth;
    this.#about = placed.about;
    this.recipe = recipe;
    this.world = world;
    this.#effect = effect;
  }

  /** The how-manieth request of its side and verb is its turn. */
  get nth(): number {
    return this.#nth;
  }

  /** The next one is. */
  hasten(): void {
    if (this.hasStruck) return;
    this.#about = undefined;
    this.#nth = Math.min(this.#nth, this.seen + 1);
  }

  get nowMs(): number {
    return this.world.clock.now();
  }

  get hasStruck(): boolean {
    return this.struck > 0;
  }

  get isOver(): boolean {
    return this.hasStruck && this.pending === 0 && this.nowMs >= this.endMs;
  }

  /** So long over that nothing is left of it. */
  get isMended(): boolean {
    return this.isOver && this.nowMs > this.endMs + this.recipe.boundMs;
  }

  /** Within its time, once it has struck. */
  get isLasting(): boolean {
    return this.hasStruck && this.nowMs < this.endMs;
  }

  strike(forMs = 0): void {
    if (this.struck++ === 0) this.watchesAtStrike = [...this.world.proxies[this.placed.side].watches];
    this.firstMs ??= this.nowMs;
    this.endMs = Math.max(this.endMs, this.nowMs + forMs);
  }

  /** Runs later on the clock of the run, and holds the end of the fault until then. */
  later(ms: number, run: () => void | Promise<void>): void {
    this.pending++;
    this.world.clock.after(ms, () => {
      void Promise.resolve(run()).finally(() => {
        this.pending--;
      });
    });
  }

  matches(passing: Passing): boolean {
    const { side, verb } = this.placed;
    return passing.side === side && passing.verb === verb && !passing.isProof && this.#isAbout(passing);
  }

  #isAbout({ path, body }: Passing): boolean {
    return this.#about === undefined || path.includes(this.#about) || body.includes(`"name":"${this.#about}`);
  }

  request(passing: Passing): Meddling | undefined {
    const isMatch = this.matches(passing);
    if (isMatch) this.seen++;
    const isTurn = isMatch && this.seen >= this.nth && this.struck < this.placed.times;
    return this.#effect.request?.(this, passing, isTurn);
  }

  line(watch: OpenWatch, line: WatchedLine, text: string): readonly string[] | undefined {
    if (watch.passing.side !== this.placed.side) return undefined;
    const before = this.struck;
    const instead = this.#effect.line?.(this, watch, line, text);
    if (this.struck > before) this.hit = watch;
    return instead;
  }

  connect(daemon: string, hostname: string): ReturnType<NonNullable<Meddler['connect']>> {
    return this.#effect.connect?.(this, daemon, hostname);
  }

  wire(wire: MemoryWire, daemon: string): void {
    this.#effect.wire?.(this, wire, daemon);
  }

  /** No strikes after this. */
  withdraw(): void {
    this.#effect.withdraw?.(this);
  }
}

export interface Effect {
  request?(fault: LiveFault, passing: Passing, isTurn: boolean): Meddling | undefined;
  line?(fault: LiveFault, watch: OpenWatch, line: WatchedLine, text: string): readonly string[] | undefined;
  connect?(fault: LiveFault, daemon: string, hostname: string): ReturnType<NonNullable<Meddler['connect']>>;
  wire?(fault: LiveFault, wire: MemoryWire, daemon: string): void;
  withdraw?(fault: LiveFault): void;
}

export type Turn = (fault: LiveFault, passing: Passing) => Meddling | undefined;

/** Strikes at its turn, and at nothing else. */
export const onTurn = (strike: Turn): Effect => ({
  request: (fault, passing, isTurn) => {
    if (!isTurn) return undefined;
    fault.strike();
    return strike(fault, passing);
  },
});

/** From its turn on, everything of its verb and side for a while. */
export const forAWhile = (strike: Turn, isEverything = false): Effect => ({
  request: (fault, passing, isTurn) => {
    if (isTurn && !fault.hasStruck) fault.strike(fault.placed.ms);
    const isMeant = fault.matches(passing) || (isEverything && passing.side === fault.placed.side);
    return fault.isLasting && isMeant ? strike(fault, passing) : undefined;
  },
});

/** Every line of watches of the side, from the moment of its turn on. */
export const onLines = (
  strike: (
    fault: LiveFault,
    at: { watch: OpenWatch; line: WatchedLine; text: string },
  ) => readonly string[] | undefined,
): Effect => ({
  request: (fault, passing, isTurn) => {
    // The turn is counted by watches; the strike comes with a line.
    if (isTurn && fault.matches(passing)) fault.lines.length = 0;
    return undefined;
  },
  line: (fault, watch, line, text) => {
    if (fault.seen < fault.nth || line.type === 'BOOKMARK') return undefined;
    return strike(fault, { watch, line, text });
  },
});

export function statusBody({ status = 500, text = 'InternalError', message = 'the rig says so' }: Recipe): object {
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason: text,
    code: status,
  };
  return body;
}

export const answer = ({ recipe }: LiveFault): Meddling => ({
  kind: 'answer',
  status: recipe.status ?? 500,
  body: statusBody(recipe),
  ...(recipe.headers && { headers: { ...recipe.headers } }),
});

export function failure(code: string): Error {
  return Object.assign(new Error(code), { code });
}

export function isSynced(resource: string): boolean {
  return resource === 'endpoints' || resource === 'endpointslices';
}
