// The keys that prove tokens, as the platform last showed them. In: a way to fetch the key set. Out: the newest good set. When the
// platform does not answer, the keys that are known go on; an unknown key is asked for again, but not all the time.
import type { Clock, Timer } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { type KeySet, readKeySet } from '../tokens/key-set.ts';

export interface KnownKeysOptions {
  fetch(): Promise<unknown>;
  /** After the set has changed. */
  changed(): void;
  clock: Clock;
  log: Log;
}

/** As long as the platform says that the set may be kept. */
const refreshMs = 300_000;
/** Tokens with made-up key ids must not become requests to the platform. */
export const refetchMs = 10_000;

export class KnownKeys {
  readonly #options: KnownKeysOptions;
  #keys: KeySet = new Map();
  #ids = '';
  #fetching: Promise<void> | undefined;
  #fetchedMs: number | undefined;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: KnownKeysOptions) {
    this.#options = options;
  }

  get keys(): KeySet {
    return this.#keys;
  }

  start(): Promise<void> {
    return this.#refresh();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /** A token names a key that is not known. Resolves when it makes sense to look again. */
  async askAgain(): Promise<void> {
    const sinceMs = this.#fetchedMs === undefined ? refetchMs : this.#options.clock.now() - this.#fetchedMs;
    if (this.#fetching === undefined && sinceMs < refetchMs) return;
    await this.#fetch();
  }

  async #refresh(): Promise<void> {
    await this.#fetch();
    if (this.#isStopped) return;
    const delayMs = this.#keys.size === 0 ? refetchMs : refreshMs;
    this.#timer = this.#options.clock.after(delayMs, () => void this.#refresh());
  }

  #fetch(): Promise<void> {
    this.#fetching ??= this.#fetchOnce().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetchOnce(): Promise<void> {
    const { fetch, changed, clock, log } = this.#options;
    this.#fetchedMs = clock.now();
    try {
      const document = await fetch();
      const keys = readKeySet(document);
      if (keys === undefined || keys.size === 0) throw new Error('want a key set with a key of Ed25519, got none');
      const ids = JSON.stringify(document);
      this.#keys = keys;
      if (ids !== this.#ids) changed();
      this.#ids = ids;
    } catch (error) {
      log.warn({ component: 'direct', error: String(error), known: this.#keys.size }, 'key set not fetched');
    }
  }
}
