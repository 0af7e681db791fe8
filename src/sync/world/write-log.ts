// Logs the first writes of each second one by one, and the number of all others in one line: a restart with other patches
// writes every object, and no reader needs 150,000 lines. At level debug every write has its line.

import type { Clock, Timer } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { counted } from '../../object/text/in-words.ts';

/** Single writes logged per second; a person cannot read more. */
const linesPerSecond = 10;
const windowMs = 1000;

export interface WriteFields {
  component: string;
  /** Side and verb, such as `host create`. */
  request: string;
  /** An object that another writer had made got our marks. */
  isTakeOver?: boolean;
  [field: string]: unknown;
}

export class WriteLog {
  readonly #log: Log;
  readonly #clock: Clock;
  #component = '';
  #lines = 0;
  /** Number of writes without a line of their own, by side and verb. */
  #counted = new Map<string, number>();
  #window: Timer | undefined;

  constructor({ log, clock }: { log: Log; clock: Clock }) {
    this.#log = log;
    this.#clock = clock;
  }

  note({ isTakeOver = false, ...fields }: WriteFields, noun: 'object' | 'content'): void {
    const message = `${noun} ${isRemoval(fields.request) ? 'removed' : isTakeOver ? 'taken over' : 'written'}`;
    this.#component = fields.component;
    this.#window ??= this.#clock.after(windowMs, () => this.flush());
    this.#lines++;
    if (this.#lines <= linesPerSecond) {
      this.#log.info(fields, message);
      return;
    }
    this.#counted.set(fields.request, (this.#counted.get(fields.request) ?? 0) + 1);
    this.#log.debug(fields, message);
  }

  /** Logs the counted writes; also called at the end of the process, so that no write is lost. */
  flush(): void {
    this.#window?.cancel();
    this.#window = undefined;
    this.#lines = 0;
    if (this.#counted.size === 0) return;
    let [written, removed] = [0, 0];
    for (const [request, count] of this.#counted) {
      if (isRemoval(request)) removed += count;
      else written += count;
    }
    const requests = Object.fromEntries(this.#counted);
    this.#counted = new Map();
    this.#log.info(
      { component: this.#component, objects: written + removed, requests },
      written === 0
        ? `removed ${counted(removed, 'object')}`
        : `wrote ${counted(written, 'object')}${removed > 0 ? ` and removed ${removed}` : ''}`,
    );
  }
}

function isRemoval(request: string): boolean {
  return request.endsWith(' remove');
}
