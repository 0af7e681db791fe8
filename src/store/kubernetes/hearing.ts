// What a replica asks of its host while it hears the changes there. Whoever asked was judged by what was known before, and that holds only
// while changes are heard: without this, a revoked key could go through with what it began on a replica that was cut off, when the way
// to the host is open again. A host that stands still ends no request, so the silence does.
import { StoreFault } from '../errors.ts';
import type { Pulse } from './pulse.ts';

export interface HearingOptions {
  pulse: Pulse;
  place: () => string;
  /** Before and after that nobody is answered, and the start and the stop judge for themselves. */
  isOpen: () => boolean;
}

export class Hearing {
  readonly #parts: HearingOptions;

  constructor(parts: HearingOptions) {
    this.#parts = parts;
  }

  /** Changes nothing, so it may be asked again whatever was wrong with the host. */
  async read<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await this.#ask(ask, () => away(`Cannot read: ${this.#lost}`));
    } catch (error) {
      if (error instanceof StoreFault && vague.has(error.code)) throw away(error.message);
      throw error;
    }
  }

  /** After STORE_HOST_LAPSED the change may be made all the same. */
  write<T>(ask: () => Promise<T>): Promise<T> {
    return this.#ask(ask, () => new StoreFault('STORE_HOST_LAPSED', `Cannot write: ${this.#lost}`));
  }

  get #lost(): string {
    return `${this.#parts.place()} was out of reach in the meantime`;
  }

  async #ask<T>(ask: () => Promise<T>, lost: () => StoreFault): Promise<T> {
    const { pulse, isOpen } = this.#parts;
    // A process that was stopped for a while goes on in the middle of a request whose reason may be over.
    if (pulse.trouble !== undefined) throw away(`Cannot ask ${this.#parts.place()}: ${pulse.trouble}`);
    const before = pulse.lapses;
    const silence = Promise.withResolvers<never>();
    const forget = pulse.atSilence(() => silence.reject(lost()));
    try {
      const asked = ask();
      // Nobody waits for an answer that comes after the silence.
      asked.catch(() => undefined);
      const result = await Promise.race([asked, silence.promise]);
      if (pulse.lapses === before && (!isOpen() || pulse.trouble === undefined)) return result;
    } finally {
      forget();
    }
    throw lost();
  }
}

/** They say that a change may have been made. */
const vague: ReadonlySet<string> = new Set(['STORE_HOST_FAILED', 'STORE_HOST_SILENT']);

function away(message: string): StoreFault {
  return new StoreFault('STORE_HOST_AWAY', message);
}
