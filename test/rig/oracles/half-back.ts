// When a host edit was half on its way back: the tenant's object had it, the copy did not say so yet, and nobody knew of it. A daemon that has written
// the first half remembers it until the second; another process, or one whose answer was lost, finds an edit of the tenant. In: both sides' writes and
// the answers that arrived. Out: times, for the model.
import type { HalfBack } from '../model/words/types.ts';
import type { World, WorldEars } from '../play/world.ts';
import { isWrite, type Passing } from '../proxy/passing.ts';
import type { Written } from '../stage/replayed-store.ts';
import { registry } from '../stage/rig-cluster.ts';

const synced = ['endpoints', 'endpointslices'] as const;
const baseKey = 'hostward.dev/base';

export class HalfBacks implements WorldEars {
  readonly #world: World;
  /** Answers to writes of the tenant's objects that have reached a daemon whole: `hostward-0 17`. */
  readonly #arrived = new Set<string>();

  constructor(world: World) {
    this.#world = world;
  }

  given(passing: Passing, status: number): void {
    if (passing.side === 'virtual' && isWrite(passing) && status < 300 && passing.fate !== 'change')
      this.#arrived.add(`${passing.daemon} ${passing.id}`);
  }

  /** Those that began behind so many writes of the tenant's side. */
  since(virtualWrites: number): HalfBack[] {
    const { virtual, host } = this.#world.clusters;
    return virtual.store.written.slice(virtualWrites).flatMap((first): HalfBack[] => {
      const resource = synced.find((one) => first.key.startsWith(`${registry[one]}/`));
      if (resource === undefined || first.by?.daemon === undefined || !first.before || !first.after) return [];
      const second = host.store.written.find((one) => one.atMs >= first.atMs && isNote(one, first, resource));
      const { daemon, request } = first.by;
      const knows = this.#arrived.has(`${daemon} ${request}`);
      if (knows && (second === undefined ? this.#world.daemonOf(daemon)?.isAlive : second.by?.daemon === daemon))
        return [];
      const { namespace = '', name = '' } = first.after.metadata;
      const kind = resource === 'endpoints' ? 'Endpoints' : 'EndpointSlice';
      return [{ kind, namespace, name, fromMs: first.atMs, toMs: second?.atMs ?? this.#world.clock.now() }];
    });
  }
}

/** A daemon writes down on the copy what both sides have agreed. */
function isNote(
  { key, by, before, after }: Written,
  { after: virtual }: Written,
  resource: (typeof synced)[number],
): boolean {
  const annotations = after?.metadata.annotations;
  return (
    by?.daemon !== undefined &&
    key.startsWith(`${registry[resource]}/`) &&
    annotations?.['vcluster.loft.sh/object-name'] === virtual?.metadata.name &&
    annotations?.['vcluster.loft.sh/object-namespace'] === virtual?.metadata.namespace &&
    annotations?.[baseKey] !== before?.metadata.annotations?.[baseKey]
  );
}
