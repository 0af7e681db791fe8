// What the references of patches may do and ask through the sync of one kind: write with its writers, look its objects up, and
// have an object looked at again.
import type { Writer } from '../../cluster/write/writer.ts';
import type { Key } from '../../object/meta/object.ts';
import { namesIn } from '../patch/entry/names-in.ts';
import type { ReferencePorts } from '../references/count/joint-ports.ts';
import type { EventNote } from './event-recorder.ts';
import type { SyncWorld } from './rules.ts';

export interface ReferencePortsOptions {
  world: SyncWorld;
  /** The keys whose deletion is withheld. */
  guard: { readonly size: number };
  virtualWriter: Writer;
  hostWriter: Writer;
  isLeader: () => boolean;
  isDryRun: boolean;
  doubtOwner: () => void;
  enqueue: (key: Key) => void;
  tell: (note: EventNote) => void;
}

const serviceKind = 'Service';

export function createReferencePorts(options: ReferencePortsOptions): ReferencePorts {
  const { world, guard, virtualWriter, hostWriter, isLeader, isDryRun, doubtOwner, enqueue } = options;
  return {
    virtualWriter,
    hostWriter,
    mayWrite: () => isLeader() && !isDryRun,
    isDryRun,
    rules: () => world.rules,
    owner: () => world.ownerState(),
    doubtOwner,
    isListInDoubt: () => guard.size > 0,
    isMentioned: (referrer, text) => {
      const place = world.placeOf(referrer);
      return place !== undefined && JSON.stringify(world.hostOf(place) ?? '').includes(text);
    },
    virtualOf: (kind) => {
      const { virtual, services } = world.windows;
      const shown = kind === world.rules.translation.kind.kind ? virtual : undefined;
      return kind === serviceKind ? services : shown;
    },
    *namedInText() {
      const { translation, patcher } = world.rules;
      if (patcher === undefined) return;
      for (const key of world.windows.virtual.keys()) {
        const virtual = world.windows.virtual.get(key);
        if (virtual !== undefined) yield* namesIn(virtual, patcher.set, translation);
      }
    },
    enqueue,
    tell: (key, note) => {
      const uid = world.windows.virtual.get(key)?.uid;
      if (uid !== undefined) options.tell({ key, uid, type: 'Warning', ...note });
    },
  };
}
