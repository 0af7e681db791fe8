// The process that holds a store for the player, who kills it: one on a file, or a replica of one on an API server. One store at a time, many one after
// the other.
import { systemClock } from '../../../../src/clock.ts';
import { SqliteStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../../../src/store/store.ts';
import { NumberedStore, recordsOn, storeOn } from '../../../contract/store/on-host.ts';
import { LocalReach } from './local-reach.ts';
import { Lurker } from './lurking.ts';
import { type Plant, planted } from './planted.ts';
import { plantedReplicas } from './planted-replica.ts';
import type { FromStore, PlaceOfStore, ToStore } from './process-messages.ts';
import { lagBehind, slowToAnswer, strained } from './strained-host.ts';
import type { OpenWatch } from './subject.ts';

/** On a busy machine a history may take longer than the past is kept, and nobody has asked for that to be forgotten. */
const patient = { maxAgeMs: 24 * 3_600_000 };
const say = (message: FromStore) => process.send?.(message);
const lurker = new Lurker();
const watches = new Map<number, OpenWatch>();
let store: Store | undefined;
let reach: LocalReach | undefined;

async function serve(message: ToStore): Promise<FromStore> {
  const { id } = message;
  const done: FromStore = { id, answered: { kind: 'done' } };
  switch (message.do) {
    case 'open': {
      store = opened(message.on, message.plant);
      await store.start();
      reach = new LocalReach(message.plant === undefined ? store : planted(store, message.plant));
      return done;
    }
    case 'close':
      lurker.lurk(undefined);
      await store?.stop();
      watches.clear();
      return done;
    case 'lurk':
      lurker.lurk(message.lurk);
      return done;
    case 'lag':
      await lagBehind(message.forMs);
      return done;
    case 'aside':
      // A list waits as long as another replica may still answer.
      await store?.list('/', {});
      return store instanceof NumberedStore
        ? { id, aside: [...store.unusable.keys()], late: store.takenLate }
        : { id, aside: [], late: 0 };
    case 'ask':
      return { id, answered: await reached().ask(message.asked) };
    case 'watch': {
      const { watch, prefix, afterRevision } = message;
      const open = await reached().watch(prefix, afterRevision, (delivery) => say({ watch, delivery }));
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

function opened(on: PlaceOfStore, plant: Plant | undefined): Store {
  if (on.kind === 'server') return replicaOn(on, plant);
  const isHasty = plant === 'early acknowledgement';
  const workerUrl = new URL('./hasty-worker.ts', import.meta.url);
  return new SqliteStore({ clock: systemClock, path: on.path, history: patient, ...(isHasty && { workerUrl }) });
}

function replicaOn(
  { server, namespace, replica, isStrained }: PlaceOfStore & { kind: 'server' },
  plant?: Plant,
): Store {
  const plain = recordsOn(server, namespace, replica);
  const host = lurker.beside(isStrained ? strained(plain) : slowToAnswer(plain));
  return storeOn(server, namespace, { replica, host }, plant && plantedReplicas[plant]);
}

function reached(): LocalReach {
  if (reach === undefined) throw new Error('ask the store: wanted an open one');
  return reach;
}

process.on('message', (message: ToStore) => {
  serve(message).then(say, (error: unknown) => say({ id: message.id, fault: String(error) }));
});
// Whoever asks is gone.
process.on('disconnect', () => process.exit(0));
