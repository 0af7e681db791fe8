// Effects on whole API servers and the way to them: connections, addresses, restarts, backups, compaction.
import type { Meddling } from '../proxy/fault-proxy.ts';
import { type Effect, failure, type LiveFault, onTurn } from './live-fault.ts';

export const serversEffects = {
  connectError: {
    request: (fault, _passing, isTurn) => (isTurn && !fault.hasStruck ? cutOff(fault) : undefined),
    connect: (fault) => (fault.isLasting ? { error: failure(fault.recipe.text ?? '') } : undefined),
  },
  /** The server shows such a certificate for a while, and in a run without TLS connections fail as if it did. */
  badCertificate: {
    request: (fault, _passing, isTurn) => {
      if (!isTurn || fault.hasStruck) return undefined;
      const { world, placed, recipe } = fault;
      world.showCertificate(placed.side, recipe.certificate ?? 'expired');
      fault.later(placed.ms, () => world.showCertificate(placed.side, 'good'));
      return cutOff(fault);
    },
    connect: (fault) =>
      fault.isLasting && !fault.world.hasTls ? { error: failure(fault.recipe.text ?? '') } : undefined,
  },
  /** The server has a certificate of another authority, and a while later the kubeconfigs name it. Without TLS connections fail meanwhile. */
  rotateAuthority: {
    request: (fault, _passing, isTurn) => {
      if (!isTurn || fault.hasStruck) return undefined;
      const { world, placed } = fault;
      world.showCertificate(placed.side, 'otherCa');
      fault.later(placed.ms, () => world.nameAuthority(placed.side, 'otherCa'));
      return cutOff(fault);
    },
    connect: (fault) =>
      fault.isLasting && !fault.world.hasTls ? { error: failure(fault.recipe.text ?? '') } : undefined,
  },
  /** What is open stays dead for good, as behind a firewall that has lost its state; nothing new can be opened for a while. */
  blackhole: {
    request: (fault, _passing, isTurn) => {
      if (!isTurn || fault.hasStruck) return undefined;
      fault.strike(fault.placed.ms);
      for (const wire of fault.world.proxies[fault.placed.side].wires.keys()) {
        wire.hold('client');
        wire.hold('server');
      }
      return { kind: 'hang' };
    },
    connect: (fault) => (fault.isLasting ? { error: failure('ETIMEDOUT'), afterMs: connectTimeoutMs } : undefined),
  },
  slice: {
    request: (fault, _passing, isTurn) => {
      if (!isTurn || fault.hasStruck) return undefined;
      fault.strike(fault.placed.ms);
      for (const wire of fault.world.proxies[fault.placed.side].wires.keys()) wire.sliceBytes = fault.placed.size;
      return undefined;
    },
    wire: (fault, wire) => {
      if (fault.isLasting) wire.sliceBytes = fault.placed.size;
    },
  },
  restartServer: {
    request: (fault, _passing, isTurn) => {
      if (!isTurn || fault.hasStruck) return undefined;
      const { ms, times, side } = fault.placed;
      const { world } = fault;
      fault.strike(ms * 2 * times);
      for (let nth = 0; nth < times; nth++)
        fault.later(nth * ms * 2, () => {
          world.clusters[side].cluster.server.endWatches();
          world.proxies[side].reset();
        });
      return { kind: 'cut', when: 'before' };
    },
    connect: (fault) => {
      if (!fault.isLasting || fault.firstMs === undefined) return undefined;
      const isDown = Math.floor((fault.nowMs - fault.firstMs) / fault.placed.ms) % 2 === 0;
      return isDown ? { error: failure('ECONNREFUSED') } : undefined;
    },
  },
  rollBack: onTurn((fault) => {
    const { side, size } = fault.placed;
    const { store, cluster } = fault.world.clusters[side];
    fault.pending++;
    void store.setBack(Math.max(fault.world.preparedRevision[side], store.revision - size)).then(() => {
      cluster.server.endWatches();
      fault.world.proxies[side].reset();
      fault.pending--;
    });
    return { kind: 'cut', when: 'before' };
  }),
  compact: onTurn((fault) => {
    const { side, ms } = fault.placed;
    const { world } = fault;
    fault.endMs = fault.nowMs + ms;
    world.proxies[side].reset();
    fault.later(ms - 1, async () => {
      await world.clusters[side].store.compact(world.clusters[side].store.revision);
    });
    return { kind: 'cut', when: 'before' };
  }),
  partition: {
    request: (fault, passing, isTurn) => {
      if (isTurn && !fault.hasStruck) {
        fault.strike(fault.placed.ms);
        fault.world.proxies[fault.placed.side].reset();
      }
      return fault.isLasting && passing.side === fault.placed.side ? { kind: 'hang' } : undefined;
    },
  },
  /** The address is another one, and nothing answers at the old one. The files name the new one a while later. */
  moveServer: {
    request: (fault, _passing, isTurn) => {
      if (!isTurn || fault.hasStruck) return undefined;
      const { side, ms } = fault.placed;
      fault.strike();
      former.set(fault, fault.world.hostnames[side]);
      fault.world.proxies[side].reset();
      fault.later(ms, () => fault.world.moveServer(side));
      return { kind: 'cut', when: 'before' };
    },
    connect: (fault, _daemon, hostname) =>
      former.get(fault) === hostname ? { error: failure('ECONNREFUSED') } : undefined,
  },
} satisfies Record<string, Effect>;

/** Every connection ends, and for the time of the fault no new one is as it was. */
function cutOff(fault: LiveFault): Meddling {
  fault.strike(fault.placed.ms);
  fault.world.proxies[fault.placed.side].reset();
  return { kind: 'cut', when: 'before' };
}

/** As long as the daemon waits for a connection. */
const connectTimeoutMs = 10_000;

const former = new WeakMap<LiveFault, string>();
