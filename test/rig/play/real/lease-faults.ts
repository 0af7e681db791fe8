// Writes of a daemon without the lease. A write counts when the API server carries it out, so what a frozen way has held back is left out: the
// daemon sent it in time, and its preconditions keep it from doing harm.
import { isSyncWrite, type Written } from '../../stage/replayed-store.ts';
import { leaseMsOf } from '../../traffic/acts.ts';
import type { RealWorld } from './real-world.ts';

/** A request is on its way for so long, on a machine that does much else. */
const onTheWayMs = 1_500;

interface LeaseSpec {
  holderIdentity?: string;
}

export function leaseFaults(world: Pick<RealWorld, 'clusters' | 'doors' | 'configurations'>): string[] {
  const configuration = world.configurations[0]?.configuration as { hostward?: { leaderElection?: string } };
  if (configuration.hostward?.leaderElection !== 'always') return [];
  const leaseMs = leaseMsOf(configuration);
  const found: string[] = [];
  for (const side of ['virtual', 'host'] as const)
    for (const one of world.clusters[side].store.written) {
      if (one.by?.daemon === undefined || !isSyncWrite(one)) continue;
      const wasHeldBack = world.doors[side].frozenMs.some(
        ({ fromMs, toMs }) => one.atMs >= fromMs && one.atMs <= toMs + onTheWayMs,
      );
      if (wasHeldBack) continue;
      const held = holdingAt(world.clusters.host.store.written, one);
      const { daemon } = one.by;
      const agoMs = one.atMs - (held?.atMs ?? Number.NEGATIVE_INFINITY);
      const isHolder = isOf(held?.holder, daemon) && agoMs <= leaseMs + onTheWayMs;
      const wasHolder = isOf(held?.former, daemon) && agoMs <= onTheWayMs;
      if (!isHolder && !wasHolder)
        found.push(`${daemon} wrote ${side} ${one.key} while ${held?.holder ?? 'nobody'} had the lease`);
    }
  return found;
}

/** A process adds a word of its own to the name of its pod. */
function isOf(holder: string | undefined, daemon: string): boolean {
  return holder === daemon || holder?.startsWith(`${daemon}_`) === true;
}

/** The last write of the lease before a moment. */
function holdingAt(written: readonly Written[], { atMs }: Written) {
  const last = written.findLast((one) => one.key.includes('/leases/') && one.atMs <= atMs && isOurs(one));
  if (last === undefined) return undefined;
  return { holder: specOf(last.after)?.holderIdentity, former: specOf(last.before)?.holderIdentity, atMs: last.atMs };
}

function isOurs({ key }: Written): boolean {
  return key.includes('hostward');
}

function specOf(object: Written['after']): LeaseSpec | undefined {
  return object?.['spec'] as LeaseSpec | undefined;
}
