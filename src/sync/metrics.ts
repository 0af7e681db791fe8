// The series of the sync room, all of them at zero from the start.
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Metrics } from '../metrics.ts';

const refuseReasons = ['HostNameTaken', 'NotOwned', 'NameCollision', 'AddressRefused', 'HostRefused', 'Forbidden'];
const states = ['inSync', 'ineligible', 'refused', 'waiting', 'left', 'retry'];
const requestKinds = ['create', 'patch', 'remove', 'get', 'virtualPatch'];
const eventOutcomes = ['written', 'merged', 'dropped', 'failed'];

export interface SyncMetrics {
  /** Change seen → host agrees, seconds. */
  lag: Histogram;
  refused: Gauge<'reason'>;
  objects: Gauge<'state'>;
  requests: Counter<'request'>;
  conflicts: Counter;
  repairs: Counter;
  contested: Gauge;
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
      help: 'Requests that sync decided on',
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
      help: 'Objects that somebody on the host keeps changing',
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
  for (const reason of refuseReasons) metrics.refused.set({ reason }, 0);
  for (const state of states) metrics.objects.set({ state }, 0);
  for (const request of requestKinds) metrics.requests.inc({ request }, 0);
  for (const outcome of eventOutcomes) metrics.events.inc({ outcome }, 0);
  return metrics;
}
