// The metrics of sync. Every series exists from the start, at zero, so that a rate can be computed.
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Metrics } from '../../metrics.ts';
import type { Outcome, RefuseReason } from '../plan/step.ts';

/** A record instead of a list, so that the compiler reports a missing reason. */
const refuseReasons: Record<RefuseReason, 0> = {
  HostNameTaken: 0,
  NotOwned: 0,
  NameCollision: 0,
  AddressRefused: 0,
  HostRefused: 0,
  Forbidden: 0,
  PatchFailed: 0,
};
const states: Record<Outcome['kind'], 0> = { inSync: 0, ineligible: 0, refused: 0, waiting: 0, left: 0, retry: 0 };
const requestKinds = ['create', 'patch', 'remove', 'virtualPatch'];
const eventOutcomes = ['written', 'merged', 'dropped', 'failed'];

export interface SyncMetrics {
  /** Seconds from the moment a change is seen until the host agrees. */
  lag: Histogram;
  refused: Gauge<'reason'>;
  objects: Gauge<'state'>;
  requests: Counter<'request'>;
  conflicts: Counter;
  repairs: Counter;
  contested: Gauge;
  backflowFailed: Gauge;
  deletesWithheld: Gauge;
  events: Counter<'outcome'>;
  leader: Gauge;
  differences: Gauge;
  bugs: Counter;
}

export function createSyncMetrics(registry: Metrics): SyncMetrics {
  const registers = [registry];
  const metrics: SyncMetrics = {
    lag: new Histogram({
      name: 'hostward_sync_lag_seconds',
      help: 'From the moment a change is seen to the moment the host agrees',
      buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      registers,
    }),
    refused: new Gauge({
      name: 'hostward_sync_refused_objects',
      help: 'Objects not on the host, by reason',
      labelNames: ['reason'],
      registers,
    }),
    objects: new Gauge({
      name: 'hostward_sync_objects',
      help: 'Virtual objects by state',
      labelNames: ['state'],
      registers,
    }),
    requests: new Counter({
      name: 'hostward_sync_requests_total',
      help: 'Writes of sync that a cluster answered',
      labelNames: ['request'],
      registers,
    }),
    conflicts: new Counter({
      name: 'hostward_sync_key_conflicts_total',
      help: 'Keys changed on both sides; the virtual side won',
      registers,
    }),
    repairs: new Counter({
      name: 'hostward_sync_repairs_total',
      help: 'Writes that undid a change made on the host',
      registers,
    }),
    contested: new Gauge({
      name: 'hostward_sync_contested_objects',
      help: 'Objects that another client on the host keeps changing',
      registers,
    }),
    backflowFailed: new Gauge({
      name: 'hostward_sync_backflow_failed_objects',
      help: 'Objects with a host value that cannot be carried back to the virtual object',
      registers,
    }),
    deletesWithheld: new Gauge({
      name: 'hostward_sync_deletes_withheld',
      help: 'Deletes that wait for a second list',
      registers,
    }),
    events: new Counter({
      name: 'hostward_sync_events_total',
      help: 'Events on virtual objects',
      labelNames: ['outcome'],
      registers,
    }),
    leader: new Gauge({ name: 'hostward_leader', help: '1 while this process may write', registers }),
    differences: new Gauge({
      name: 'hostward_dry_run_differences',
      help: 'Objects that would be written, in a dry run',
      registers,
    }),
    bugs: new Counter({
      name: 'hostward_sync_bugs_total',
      help: 'Unexpected errors while syncing an object',
      registers,
    }),
  };
  for (const [reason, zero] of Object.entries(refuseReasons)) metrics.refused.set({ reason }, zero);
  for (const [state, zero] of Object.entries(states)) metrics.objects.set({ state }, zero);
  for (const request of requestKinds) metrics.requests.inc({ request }, 0);
  for (const outcome of eventOutcomes) metrics.events.inc({ outcome }, 0);
  return metrics;
}
