// Effects on the process of a daemon: kill -9 at any moment, signals, SIGSTOP, clocks, and a lease that is taken away.
import type { Synced } from '../traffic/acts.ts';
import { hostEdit, mergePatch } from '../traffic/play.ts';
import { pagedPath, stale } from './answers.ts';
import { type Effect, isSynced, type LiveFault, onTurn } from './live-fault.ts';

export const crashesEffects = {
  killBefore: onTurn(({ world }, { daemon }) => {
    world.crash(daemon);
    return { kind: 'hang' };
  }),
  killSent: onTurn(({ world }, { daemon, id, side }) => {
    world.onAnswer(side, id, () => world.crash(daemon));
    return undefined;
  }),
  killAnswered: onTurn(({ world }, { daemon }) => {
    world.afterStill(() => world.crash(daemon));
    return undefined;
  }),
  /** The write passes; the daemon dies at the next one. */
  killNext: {
    request: (fault, passing, isTurn) => {
      if (isTurn) fault.strike();
      else if (fault.struck === 1 && ['create', 'update', 'delete'].includes(passing.verb)) {
        fault.strike();
        fault.world.crash(passing.daemon);
        return { kind: 'hang' };
      }
      return undefined;
    },
  },
  killPage: {
    request: (fault, passing, isTurn) => {
      if (passing.side !== fault.placed.side || passing.verb !== 'list') return undefined;
      if (fault.hasStruck && passing.query.has('continue') && fault.pending === 0 && fault.endMs === 0) {
        fault.endMs = fault.nowMs;
        fault.world.crash(passing.daemon);
        return { kind: 'hang' };
      }
      if (!isTurn || passing.query.has('continue')) return undefined;
      fault.strike();
      return { kind: 'change', path: pagedPath(passing, 1) };
    },
  },
  crashLoop: {
    request: (fault, passing) => {
      if (fault.seen < fault.nth || fault.struck >= fault.placed.times) return undefined;
      const counted = (crashes.get(fault) ?? 0) + 1;
      crashes.set(fault, counted);
      if (counted % fault.placed.size !== 0) return undefined;
      fault.strike();
      fault.world.crash(passing.daemon);
      return { kind: 'hang' };
    },
  },
  staleRestart: {
    request: (fault, passing, isTurn) => {
      if (isTurn && !fault.hasStruck) {
        fault.strike(3_000);
        fault.world.crash(passing.daemon);
        return { kind: 'hang' };
      }
      if (!fault.isLasting || !fault.matches(passing)) return undefined;
      return stale(fault, passing);
    },
  },
  down: onTurn((fault, { daemon }) => {
    fault.world.crash(daemon, fault.placed.ms);
    fault.endMs = fault.nowMs + fault.placed.ms;
    return { kind: 'hang' };
  }),
  jumpWall: onTurn((fault, { daemon }) => {
    fault.world.daemonOf(daemon)?.clock.jumpWall(fault.placed.size * 1000);
    return undefined;
  }),
  holdDaemon: onTurn((fault, { daemon }) => {
    const held = fault.world.daemonOf(daemon);
    held?.hold();
    fault.later(fault.placed.ms, () => held?.resume());
    return undefined;
  }),
  terminate: onTurn((fault, { daemon }) => {
    fault.pending++;
    void fault.world.terminate(daemon).finally(() => {
      fault.pending--;
    });
    return undefined;
  }),
  terminateTwice: onTurn((fault, { daemon }) => {
    fault.pending++;
    void fault.world.daemonOf(daemon)?.stop();
    void fault.world.terminate(daemon).finally(() => {
      fault.pending--;
    });
    return undefined;
  }),
  deleteLease: onTurn((fault, passing) => {
    fault.pending++;
    const path = `/apis/coordination.k8s.io/v1/namespaces/${passing.namespace}/leases/hostward-vc`;
    void fault.world.clusters.host.people('DELETE', path).then(() => {
      fault.pending--;
    });
    return undefined;
  }),
  partitionLease: {
    request: (fault, passing, isTurn) => {
      if (isTurn && !fault.hasStruck) {
        fault.strike(fault.placed.ms);
        victims.set(fault, passing.daemon);
      }
      const isMeant = fault.isLasting && passing.verb === 'lease' && victims.get(fault) === passing.daemon;
      return isMeant ? { kind: 'hang' } : undefined;
    },
  },
  /** A program of the host fights for the object that the daemon has just written, and then the daemon dies. */
  contestAndKill: {
    request: (fault, passing, isTurn) => {
      const path = passing.path.split('?')[0] ?? '';
      const fought = fights.get(fault);
      if (fought === undefined && isTurn && isSynced(passing.resource)) {
        fault.strike(rivalEveryMs * rivalEdits);
        fights.set(fault, path);
        for (let nth = 1; nth <= rivalEdits; nth++)
          fault.later(nth * rivalEveryMs, async () => {
            const { host } = fault.world.clusters;
            await host.people('PATCH', `${path}?fieldManager=rival`, hostEdit(passing.resource as Synced), mergePatch);
          });
      } else if (fought === path && fault.struck === 1 && fault.nowMs >= (fault.firstMs ?? 0) + diesAfterMs) {
        fault.struck++;
        fault.world.crash(passing.daemon);
        return { kind: 'hang' };
      }
      return undefined;
    },
  },
} satisfies Record<string, Effect>;

/** From the fifth repair within ten seconds on an object is contested. */
const rivalEveryMs = 300;
const rivalEdits = 12;
const diesAfterMs = 2_000;
const fights = new WeakMap<LiveFault, string>();

const crashes = new WeakMap<LiveFault, number>();
const victims = new WeakMap<LiveFault, string>();
