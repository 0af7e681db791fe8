// Part of the front door: what the daemon says of itself, for /readyz and /status. It reads and changes nothing.
import type { Clusters } from './assemble-connections.ts';
import type { RunningPatches } from './assemble-patches.ts';
import type { OpenedWindow } from './assemble-windows.ts';
import type { Readiness, ReadinessPart } from './cli/operations-server.ts';
import type { DaemonOptions } from './cli/rooms.ts';
import type { Lease } from './cluster/lease.ts';
import type { Settings } from './config/settings.ts';
import type { References } from './sync/references/references.ts';
import { syncStatus } from './sync/status.ts';
import type { Sync } from './sync/sync.ts';

export interface DaemonView {
  options: DaemonOptions;
  settings: Settings;
  phase: 'new' | 'starting' | 'running' | 'stopped';
  startedMs: number;
  clusters: Clusters;
  windows: readonly OpenedWindow[];
  /** Undefined until both clusters are reached, and while the switch is off. */
  sync: Sync | undefined;
  lease: Lease | undefined;
  references: References;
  patches: RunningPatches;
}

/** The whole is ready when every part is; the management API becomes the second one. */
export function readinessOf(view: DaemonView): Readiness {
  const parts = [syncReadiness(view)];
  return { isReady: parts.every(({ isReady }) => isReady), lines: parts.flatMap(({ lines }) => lines), parts };
}

function syncReadiness(view: DaemonView): ReadinessPart {
  const name = 'sync';
  const { settings, phase, sync, clusters, windows } = view;
  if (!settings.endpointsEnabled) return { name, isReady: phase === 'running', lines: ['sync: switched off'] };
  const isReady = sync?.isReady ?? false;
  const owner = isReady ? sync?.world.ownerState() : undefined;
  const waitsFor = clusters.connections === undefined ? 'clusters' : 'first lists';
  return {
    name,
    isReady,
    lines: [
      `sync: ${isReady ? 'first lists are in' : `waiting for the ${waitsFor}`}`,
      ...clusters.troubles,
      ...windows.map(
        ({ name, window }) => `${name}: ${window.state}${window.trouble ? ` (${window.trouble.message})` : ''}`,
      ),
      `leadership: ${leadershipOf(view)}`,
      ...(owner?.kind === 'missing' ? [`OwnerMissing: ${owner.message}`] : []),
    ],
  };
}

export function statusOf(view: DaemonView): unknown {
  const { clusters, sync, patches } = view;
  const { clock, version, isDryRun } = view.options;
  const { virtualClusterName, hostNamespace, namespaces } = view.settings;
  const references = view.references.status();
  return {
    version,
    virtualCluster: virtualClusterName,
    hostNamespace,
    names: namespaces.enabled ? 'mapped namespaces' : 'single namespace',
    isDryRun,
    isReady: readinessOf(view).isReady,
    leadership: leadershipOf(view),
    uptimeSeconds: Math.round((clock.now() - view.startedMs) / 1000),
    clusters: clusters.versions,
    ...(clusters.troubles.length > 0 && { waitingFor: clusters.troubles }),
    ...(sync && syncStatus(sync)),
    ...(references && { references }),
    ...(patches.current && { patches: patches.current.counts.totals() }),
    windows: view.windows.map(({ name, window }) => ({
      window: name,
      state: window.state,
      objects: window.size,
      heardSecondsAgo: Math.round((clock.now() - window.lastHeardMs) / 100) / 10,
      ...(window.trouble && { trouble: window.trouble.message }),
    })),
  };
}

function leadershipOf({ lease, options }: DaemonView): string {
  if (lease === undefined) return options.isDryRun ? 'none (dry run)' : 'alone';
  const { state } = lease;
  return state.kind === 'standby' ? `standby${state.holder ? ` behind ${state.holder}` : ''}` : state.kind;
}
