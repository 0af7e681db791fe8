// When a host edit was half on its way back: the tenant's object had it, the copy did not say so yet, and nobody knew of it. A daemon that has written
// the first half remembers it until the second; another process, or one whose answer was lost, finds an edit of the tenant. A second edit may have come
// before the first half too, when the daemon had not heard of it. In: both sides' writes, lines and answers that arrived. Out: times, for the model.
import type { Clock } from '../../../src/clock.ts';
import type { HalfBack } from '../model/words/types.ts';
import type { World, WorldEars } from '../play/world.ts';
import type { OpenWatch } from '../proxy/fault-proxy.ts';
import { isWrite, type Passing, type WatchedLine } from '../proxy/passing.ts';
import type { Written } from '../stage/replayed-store.ts';
import { registry } from '../stage/rig-cluster.ts';

/** What a run in virtual time and one with real processes have in common. */
export interface Observed extends Pick<World, 'clusters' | 'configurations' | 'absences' | 'ears'> {
  readonly clock: Pick<Clock, 'now'>;
  daemonOf(name: string): { readonly isAlive: boolean } | undefined;
}

const synced = ['endpoints', 'endpointslices'] as const;
const baseKey = 'hostward.dev/base';

export class HalfBacks implements WorldEars {
  readonly #world: Observed;
  /** Answers to writes of the tenant's objects that have reached a daemon whole: `hostward-0 17`. */
  readonly #arrived = new Set<string>();

  /** By daemon: the last revision of the host that it was told. */
  readonly #told = new Map<string, number>();
  /** By write of a tenant's object, in the same words: the revision of the host that it was made from. */
  readonly #madeFrom = new Map<string, number>();

  constructor(world: Observed) {
    this.#world = world;
  }

  delivered({ passing: { side, daemon } }: OpenWatch, { revision }: WatchedLine): void {
    if (side === 'host') this.#told.set(daemon, Math.max(this.#told.get(daemon) ?? 0, Number(revision)));
  }

  passed(passing: Passing): void {
    const { side, daemon, id } = passing;
    const told = this.#told.get(daemon);
    if (side === 'virtual' && isWrite(passing) && told !== undefined) this.#madeFrom.set(`${daemon} ${id}`, told);
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
      const toMs = second?.atMs ?? this.#world.clock.now();
      const unheard = this.#unheard(first, resource, this.#madeFrom.get(`${daemon} ${request}`));
      return [{ kind, namespace, name, fromMs: unheard?.atMs ?? first.atMs, toMs }];
    });
  }

  /** The first change of the copy that a daemon had not heard of when it wrote the tenant's object. */
  #unheard(first: Written, resource: (typeof synced)[number], told: number | undefined): Written | undefined {
    if (told === undefined) return undefined;
    return this.#world.clusters.host.store.written.find(
      (one) => one.revision > told && one.atMs <= first.atMs && isOfCopy(one, first, resource),
    );
  }
}

/** A daemon writes down on the copy what both sides have agreed. */
function isNote(one: Written, first: Written, resource: (typeof synced)[number]): boolean {
  const { by, before, after } = one;
  const base = after?.metadata.annotations?.[baseKey];
  return by?.daemon !== undefined && isOfCopy(one, first, resource) && base !== before?.metadata.annotations?.[baseKey];
}

function isOfCopy({ key, after }: Written, { after: virtual }: Written, resource: (typeof synced)[number]): boolean {
  const annotations = after?.metadata.annotations;
  return (
    key.startsWith(`${registry[resource]}/`) &&
    annotations?.['vcluster.loft.sh/object-name'] === virtual?.metadata.name &&
    annotations?.['vcluster.loft.sh/object-namespace'] === virtual?.metadata.namespace
  );
}
