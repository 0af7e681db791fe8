// Reaches a store in the same process.
import { StoreFault } from '../../../../src/store/errors.ts';
import type { Store } from '../../../../src/store/store.ts';
import type { Answered, Asked, Delivery } from '../history.ts';
import type { OpenWatch, Reach } from './subject.ts';

/** After these a write may be in the log all the same. Any other fault says that nothing happened, or is a bug. */
const undecided = new Set([
  ...['STORE_WRITE_FAILED', 'STORE_WORKER_GONE', 'STORE_HOST_FAILED', 'STORE_HOST_SILENT', 'STORE_HOST_LAPSED'],
  ...['STORE_HOST_AWAY', 'STORE_OVERLOADED'],
  // Its writer was killed before it answered, and nobody lives who knows. One that was answered is missing in the next list.
  'STORE_RECORD_ASIDE',
]);

export class LocalReach implements Reach {
  #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async ask(asked: Asked): Promise<Answered> {
    try {
      return await this.#answer(asked);
    } catch (error) {
      if (error instanceof StoreFault && undecided.has(error.code)) return { kind: 'unknown', why: error.code };
      throw error;
    }
  }

  async watch(
    prefix: string,
    afterRevision: number,
    deliver: (delivery: Delivery) => void,
  ): Promise<OpenWatch | { compactedRevision: number }> {
    const watch = await this.#store.watch(prefix, afterRevision);
    if ('kind' in watch) return { compactedRevision: watch.compactedRevision };
    let last = afterRevision;
    void (async () => {
      for await (const events of watch.events()) {
        last = events.at(-1)?.revision ?? last;
        deliver({ kind: 'events', events: [...events] });
      }
      deliver({ kind: 'end', how: watch.ended });
    })();
    return {
      // As the watch verb of the API server makes its bookmarks: what was handed out when it asked has been delivered a turn later.
      bookmark: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        if (watch.ended === 'open') deliver({ kind: 'bookmark', revision: Math.max(watch.upTo, last) });
      },
      close: () => watch.close(),
    };
  }

  async #answer(asked: Asked): Promise<Answered> {
    const store = this.#store;
    switch (asked.verb) {
      case 'write': {
        const result = await store.write(asked.key, { expect: asked.expect, value: asked.value });
        if (!result.ok) return { kind: 'refused', current: result.current, revision: result.revision };
        return { kind: 'written', revision: result.revision, createRevision: result.createRevision };
      }
      case 'get': {
        const { record, revision } = await store.get(asked.key, { fresh: asked.isFresh });
        return { kind: 'record', record, revision };
      }
      case 'list': {
        const { prefix, atRevision, afterKey, limit } = asked;
        return store.list(prefix, {
          ...(atRevision !== undefined && { atRevision }),
          ...(afterKey !== undefined && { afterKey }),
          ...(limit !== undefined && { limit }),
        });
      }
      case 'read': {
        const read = await store.read(asked.keys, asked.atRevision);
        return read.kind === 'read' ? { ...read, records: read.records.map((record) => record ?? null) } : read;
      }
      case 'revision':
        return { kind: 'revision', revision: await store.currentRevision({ fresh: true }) };
      case 'compact':
        await store.compact(asked.upTo);
        return { kind: 'done' };
    }
  }
}
