// A host name of a Service has the objects of one virtual Service behind it, at every moment and over all kinds: whoever asks the host's DNS gets one
// application. In: each accepted write of a copy. What people have written is not the daemon's doing.
import type { World, WorldEars } from '../../play/world.ts';
import { isWrite, type Passing } from '../../proxy/passing.ts';
import { registry } from '../../stage/rig-cluster.ts';
import { virtualCluster } from '../../traffic/acts.ts';
import type { Board } from '../board.ts';
import { type Marked, ownerOf, virtualKeyOf } from '../marks.ts';

const synced = ['endpoints', 'endpointslices'] as const;
const serviceLabel = 'kubernetes.io/service-name';

export class OneName implements WorldEars {
  readonly #world: World;
  readonly #board: Board;

  constructor(world: World, board: Board) {
    this.#world = world;
    this.#board = board;
  }

  answered(passing: Passing, status: number): void {
    const { side, verb, resource, daemon, id } = passing;
    if (side !== 'host' || status >= 300 || !isWrite(passing) || verb === 'delete') return;
    if (!(synced as readonly string[]).includes(resource)) return;
    const { store } = this.#world.clusters.host;
    const done = store.written.findLast(({ by }) => by?.request === id && by.daemon === daemon);
    const copy = done?.after as Marked | undefined;
    const behind = copy && nameBehind(copy, resource);
    // A write that changes no name puts nothing behind one.
    if (behind === undefined || (done?.before && nameBehind(done.before as Marked, resource)?.text === behind.text))
      return;
    for (const other of synced)
      for (const [key, entry] of store.entries(`${registry[other]}/`)) {
        const that = nameBehind(entry as Marked, other);
        if (that?.name !== behind.name || that.tenant === behind.tenant) continue;
        // What people damaged says nothing about who has put it there.
        if (store.written.findLast((one) => one.key === key)?.by?.daemon === undefined) continue;
        this.#board.say(
          'S9',
          'two Services',
          `${daemon} wrote ${passing.path.split('?')[0]}: ${behind.text} beside ${that.text}`,
        );
      }
  }
}

/** The host name of the Service that a copy of ours belongs to, and the namespace of the tenant that it comes from. */
function nameBehind(copy: Marked, resource: string): { name: string; tenant: string; text: string } | undefined {
  const key = virtualKeyOf(copy);
  if (key === undefined || ownerOf(copy, virtualCluster) !== 'ours') return undefined;
  const { namespace = '', name = '', labels = {} } = copy.metadata;
  const service = resource === 'endpoints' ? name : labels[serviceLabel];
  if (service === undefined) return undefined;
  const tenant = key.split('/')[0] ?? '';
  return { name: `${namespace}/${service}`, tenant, text: `${resource} of ${key} behind ${service}` };
}
