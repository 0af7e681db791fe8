// Keeps the public keys of tokens as the platform last published them. In: a way to fetch the key set. Out: the newest good set.
// When the platform does not answer, the known keys stay in use. A token with an unknown key id causes a new fetch, at a limited
// rate.
import type { Clock, Timer } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import { type KeySet, readKeySet } from '../../credentials/claims/key-set.ts';

export interface KnownKeysOptions {
  fetch(): Promise<unknown>;
  /** Called after the set has changed. */
  changed(): void;
  clock: Clock;
  log: Log;
}

/** The platform permits to keep the set for this time. */
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

  /** Called for a token with an unknown key id. Resolves when the set may have the key. */
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
