// Listens to the windows of one sync and says which keys must be looked at. In: changes of both sides. Out: keys, and word of a
// first list, a proof, or a change of the owner. It must never write.
import { type Key, keyOf } from '../../object/meta/object.ts';
import type { VirtualList } from '../world/doubt/delete-guard.ts';
import type { MassDelete } from '../world/doubt/mass-delete.ts';
import type { Windows } from '../world/sources.ts';
import type { SyncWorld } from './pass/rules.ts';

export interface WindowFollowerOptions {
  world: SyncWorld;
  massDelete: MassDelete;
  isLeader: () => boolean;
  /** Whether a write of ours for this key is under way. */
  isWriting: (key: Key) => boolean;
  enqueue: (key: Key) => void;
  noteChanges: () => void;
  ownerChanged: () => void;
  doubtOwner: () => void;
  hostProven: () => void;
}

export function allWindows(windows: Windows): Windows['virtual'][] | NonNullable<Windows['owner']>[] {
  const { virtual, services, host, owner, hostServices } = windows;
  const some = [owner, hostServices].filter((window) => window !== undefined);
  return [virtual, services, host, ...some] as Windows['virtual'][];
}

export class WindowFollower {
  readonly #options: WindowFollowerOptions;
  #unsubscribe: readonly (() => void)[] = [];

  constructor(options: WindowFollowerOptions) {
    this.#options = options;
  }

  listen(): void {
    const { virtual, services, host, owner, hostServices } = this.#options.world.windows;
    const hostServiceChanged = (hostKey: Key): void => {
      for (const key of this.#options.world.objectsOfHostService(hostKey)) this.#options.enqueue(key);
    };
    this.#unsubscribe = [
      ...allWindows(this.#options.world.windows).map((one) => one.subscribe({ changed: this.#options.noteChanges })),
      this.#listenVirtual(virtual, 'objects', (key) => [key]),
      this.#listenVirtual(services, 'services', (key) => this.#options.world.objectsOfService(key)),
      host.subscribe({
        changed: ({ key, kind }) => this.#hostChanged(key, { isRemoved: kind === 'removed' }),
        proven: () => this.#options.hostProven(),
      }),
      ...(owner ? [owner.subscribe({ changed: () => this.#options.ownerChanged() })] : []),
      ...(hostServices ? [hostServices.subscribe({ changed: ({ key }) => hostServiceChanged(key) })] : []),
    ];
  }

  #listenVirtual(
    window: Windows['virtual'] | Windows['services'],
    list: VirtualList,
    keysOf: (changed: Key) => readonly Key[],
  ): () => void {
    return window.subscribe({
      changed: ({ key: changed, kind, origin }) => {
        for (const key of keysOf(changed)) {
          const isAbsentFromList = kind === 'removed' && origin === 'list';
          const isListed = kind === 'set' && origin === 'list';
          this.#options.massDelete.noteChange(key, list, { isAbsentFromList, isListed });
          const rivals = list === 'objects' ? this.#options.world.noteVirtual(key) : this.#options.world.rivalsOf(key);
          for (const one of [key, ...rivals]) this.#options.enqueue(one);
        }
        const rivals = list === 'services' ? this.#options.world.noteService(changed) : [];
        for (const rival of rivals) this.#options.enqueue(rival);
      },
      listed: ({ isFirst }) => {
        if (!isFirst) this.#options.massDelete.judgeList(list);
      },
    });
  }

  #hostChanged(hostKey: Key, { isRemoved }: { isRemoved: boolean }): void {
    const keys = this.#options.world.noteHost(hostKey);
    // Our own removals reach the window before their watch event, so this event is a removal by another client.
    const isLost =
      isRemoved && this.#options.isLeader() && [...keys].some((key) => this.#options.world.windows.virtual.has(key));
    if (isLost) this.#options.doubtOwner();
    for (const key of keys) if (!this.#isOwnEcho(key, hostKey)) this.#options.enqueue(key);
  }

  /** An event during our own write is ignored: the pass looks again if the answer differs from the request. */
  #isOwnEcho(key: Key, hostKey: Key): boolean {
    const place = this.#options.isWriting(key) ? this.#options.world.placeOf(key) : undefined;
    return place !== undefined && keyOf(place.namespace, place.name) === hostKey;
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }
}
