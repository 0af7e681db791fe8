// One line of the log for each written object while there are few, and one line a second for all others: a restart with other
// patches writes every object, and 150,000 lines tell a reader less than a number. At level debug every write has its line.
import type { Clock, Timer } from '../../clock.ts';
import type { Log } from '../../log.ts';

/** Lines of single writes within a second: as many as a person reads. */
const linesPerSecond = 10;
const windowMs = 1000;

export interface WriteFields {
  component: string;
  /** Side and verb, such as `host create`. */
  request: string;
  [field: string]: unknown;
}

export class WriteLog {
  readonly #log: Log;
  readonly #clock: Clock;
  #component = '';
  #lines = 0;
  /** By side and verb, of writes without a line. */
  #counted = new Map<string, number>();
  #window: Timer | undefined;

  constructor({ log, clock }: { log: Log; clock: Clock }) {
    this.#log = log;
    this.#clock = clock;
  }

  note(fields: WriteFields, message: string): void {
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

  /** Also at the end: what has been counted and not told yet. */
  flush(): void {
    this.#window?.cancel();
    this.#window = undefined;
    this.#lines = 0;
    if (this.#counted.size === 0) return;
    const objects = [...this.#counted.values()].reduce((sum, count) => sum + count, 0);
    const requests = Object.fromEntries(this.#counted);
    this.#counted = new Map();
    this.#log.info(
      { component: this.#component, objects, requests },
      `wrote ${objects} ${objects === 1 ? 'object' : 'objects'}`,
    );
  }
}
