// The process that holds a SQLite store for the player, who kills it. One store at a time, many one after the other.
import { systemClock } from '../../../../src/clock.ts';
import { SqliteStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { LocalReach } from './local-reach.ts';
import { planted } from './planted.ts';
import type { FromStore, ToStore } from './process-messages.ts';
import type { OpenWatch } from './subject.ts';

const say = (message: FromStore) => process.send?.(message);
const watches = new Map<number, OpenWatch>();
let store: SqliteStore | undefined;
let reach: LocalReach | undefined;

async function serve(message: ToStore): Promise<FromStore> {
  const { id } = message;
  const done: FromStore = { id, answered: { kind: 'done' } };
  switch (message.do) {
    case 'open': {
      const { path, plant } = message;
      const isHasty = plant === 'early acknowledgement';
      store = new SqliteStore({
        clock: systemClock,
        path,
        ...(isHasty && { workerUrl: new URL('./hasty-worker.ts', import.meta.url) }),
      });
      await store.start();
      reach = new LocalReach(plant === undefined ? store : planted(store, plant));
      return done;
    }
    case 'close':
      await store?.stop();
      watches.clear();
      return done;
    case 'ask':
      return { id, answered: await opened().ask(message.asked) };
    case 'watch': {
      const { watch, prefix, afterRevision } = message;
      const open = await opened().watch(prefix, afterRevision, (delivery) => say({ watch, delivery }));
      if ('compactedRevision' in open) return { id, ...open };
      watches.set(watch, open);
      return { id, compactedRevision: undefined };
    }
    case 'bookmark':
      await watches.get(message.watch)?.bookmark();
      return done;
    case 'unwatch':
      watches.get(message.watch)?.close();
      watches.delete(message.watch);
      return done;
  }
}

function opened(): LocalReach {
  if (reach === undefined) throw new Error('ask the store: wanted an open one');
  return reach;
}

process.on('message', (message: ToStore) => {
  serve(message).then(say, (error: unknown) => say({ id: message.id, fault: String(error) }));
});
// Whoever asks is gone.
process.on('disconnect', () => process.exit(0));
