// Asks the database thread with one message for all records that are wanted in one turn of the event loop: sixteen requests that come
// at once would wake the thread sixteen times, which costs more than the reading. In: keys. Out: what is there now, for each.
import type { StoredRecord } from '../store.ts';
import type { SqliteThread } from './sqlite-thread.ts';

interface Found {
  record: StoredRecord | undefined;
  revision: number;
}

interface Get {
  key: string;
  resolve: (found: Found) => void;
  reject: (fault: unknown) => void;
}

export class GatheredGets {
  readonly #thread: Pick<SqliteThread, 'ask'>;
  #waiting: Get[] = [];

  constructor(thread: Pick<SqliteThread, 'ask'>) {
    this.#thread = thread;
  }

  get(key: string): Promise<Found> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ key, resolve, reject });
      if (this.#waiting.length > 1) return;
      setImmediate(() => {
        const gets = this.#waiting;
        this.#waiting = [];
        void this.#ask(gets);
      });
    });
  }

  async #ask(gets: readonly Get[]): Promise<void> {
    try {
      const { records, revision } = await this.#thread.ask('get', { keys: gets.map(({ key }) => key) });
      for (const [index, record] of records.entries()) gets[index]?.resolve({ record: record ?? undefined, revision });
      // Long texts end an answer early.
      if (records.length < gets.length) void this.#ask(gets.slice(records.length));
    } catch (fault) {
      // One row that cannot be read must not keep the others from whoever wants them.
      if (gets.length > 1) for (const one of gets) void this.#ask([one]);
      else gets[0]?.reject(fault);
    }
  }
}
