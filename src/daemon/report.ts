// Part of the front door: what the daemon says of itself, for /readyz and /status. It reads and changes nothing.

import type { Lease } from '../cluster/write/lease.ts';
import type { Settings } from '../config/settings/settings.ts';
import type { Sync } from '../sync/loop/sync.ts';
import type { References } from '../sync/references/references.ts';
import { syncStatus } from '../sync/report/status.ts';
import type { Clusters } from './connections.ts';
import type { DaemonOptions } from './daemon-options.ts';
import type { RunningPatches } from './patches.ts';
import type { OpenedWindow } from './windows.ts';

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

export function readinessOf(view: DaemonView): { isReady: boolean; lines: readonly string[] } {
  const { settings, phase, sync, clusters, windows, patches } = view;
  if (!settings.endpointsEnabled) return { isReady: phase === 'running', lines: ['sync: switched off'] };
  const isReady = sync?.isReady ?? false;
  const owner = isReady ? sync?.world.ownerState() : undefined;
  const waitsFor = clusters.connections === undefined ? 'clusters' : 'first lists';
  return {
    isReady,
    lines: [
      `sync: ${isReady ? 'first lists are in' : `waiting for the ${waitsFor}`}`,
      ...clusters.troubles,
      ...windows.map(
        ({ name, window }) => `${name}: ${window.state}${window.trouble ? ` (${window.trouble.message})` : ''}`,
      ),
      `leadership: ${leadershipOf(view)}`,
      ...patches.troubles,
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
