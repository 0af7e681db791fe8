// Bugs that stores have had in the world, planted into a good store: a checker that misses one of them has a hole.
import type { Store, StoreEvent, StoreWatch } from '../../../../src/store/store.ts';

/** Each with the judge that must speak. */
export const plants = {
  'lost update': 'linearizable',
  'skipped event': 'resumable',
  'stale previous': 'previous',
  'page of the present': 'page',
  'read of the present': 'page',
  /** Only over HTTP: each step of the first state of a watch shows the present of its own moment. */
  'state in steps': 'http',
  'early bookmark': 'bookmarkable',
  'event twice': 'unique',
  /** Only of a store on a disk: its database thread says done before it has written, and after a kill a revision is given out again. */
  'early acknowledgement': 'unique',
  /** Only of a replica: a list after a loss ends no watch, so what was missed never comes. */
  'watches after a loss': 'reliable',
  /** Only of a replica: a fresh read does not wait until the stream is as far as its answer. */
  'hasty live read': 'time',
  /** Only of a replica: the same of a record that is gone, so that it is absent at a revision at which it was there. */
  'hasty absence': 'state',
} as const;

export type Plant = keyof typeof plants;

const turn = () => new Promise((resolve) => setImmediate(resolve));

export function planted(store: Store, plant: Plant): Store {
  const changed = changes[plant]?.(store);
  if (changed === undefined) return store;
  return new Proxy(store, {
    get: (_target, name) => {
      const own = Reflect.get(changed, name) ?? Reflect.get(store, name);
      return typeof own === 'function' ? own.bind(store) : own;
    },
  });
}

const changes: Partial<Record<Plant, (store: Store) => Partial<Store>>> = {
  'lost update': (store) => ({
    write: async (key, { expect, value }) => {
      const { record, revision } = await store.get(key);
      if (expect !== undefined && expect !== (record?.revision ?? 0)) return { ok: false, current: record, revision };
      await turn();
      return store.write(key, { expect: undefined, value });
    },
  }),
  'skipped event': (store) => ({
    watch: async (prefix, afterRevision) => {
      const isOld = afterRevision < (await store.currentRevision());
      const watch = await store.watch(prefix, afterRevision);
      if ('kind' in watch || !isOld) return watch;
      let skipped = 0;
      return through(watch, (event) => (skipped++ === 0 ? [] : [event]));
    },
  }),
  'event twice': (store) => ({
    watch: async (prefix, afterRevision) => {
      const watch = await store.watch(prefix, afterRevision);
      if ('kind' in watch) return watch;
      let nth = 0;
      return through(watch, (event) => (nth++ === 2 ? [event, event] : [event]));
    },
  }),
  'stale previous': (store) => ({
    watch: async (prefix, afterRevision) => {
      const watch = await store.watch(prefix, afterRevision);
      if ('kind' in watch) return watch;
      const older = new Map<string, string | undefined>();
      return through(watch, (event) => {
        const previous = older.has(event.key) ? older.get(event.key) : event.previous;
        older.set(event.key, event.previous);
        return [{ ...event, previous }];
      });
    },
  }),
  'page of the present': (store) => ({
    list: async (prefix, { atRevision, ...rest } = {}) => {
      const asked = await store.list(prefix, { ...rest, ...(atRevision !== undefined && { atRevision }) });
      if (asked.kind !== 'page' || rest.afterKey === undefined) return asked;
      const now = await store.list(prefix, rest);
      return now.kind === 'page' ? { ...now, revision: asked.revision } : asked;
    },
  }),
  'state in steps': (store) => {
    const begun = new Set<number>();
    return {
      list: async (prefix, { atRevision, ...rest } = {}) => {
        const asked = await store.list(prefix, { ...rest, ...(atRevision !== undefined && { atRevision }) });
        if (asked.kind !== 'page' || atRevision === undefined) return asked;
        // Clients ask for pages of one or two.
        if (rest.afterKey === undefined && (rest.limit ?? 0) > 2) begun.add(atRevision);
        if (rest.afterKey === undefined || !begun.has(atRevision)) return asked;
        const now = await store.list(prefix, rest);
        return now.kind === 'page' ? { ...now, revision: asked.revision } : asked;
      },
    };
  },
  'read of the present': (store) => ({
    read: async (keys) => store.read(keys, await store.currentRevision()),
  }),
  'early bookmark': (store) => {
    let writing = 0;
    return {
      write: async (key, change) => {
        writing++;
        // The number is given out before the change can be seen.
        await turn();
        await turn();
        return store.write(key, change).finally(() => writing--);
      },
      watch: async (prefix, afterRevision) => {
        const watch = await store.watch(prefix, afterRevision);
        if ('kind' in watch) return watch;
        return through(
          watch,
          (event) => [event],
          () => writing,
        );
      },
    };
  },
};

function through(watch: StoreWatch, change: (event: StoreEvent) => StoreEvent[], ahead = () => 0): StoreWatch {
  return {
    get upTo() {
      return watch.upTo + ahead();
    },
    get ended() {
      return watch.ended;
    },
    close: () => watch.close(),
    async *events() {
      for await (const events of watch.events()) {
        const changed = events.flatMap(change);
        if (changed.length > 0) yield changed;
      }
    },
  };
}
