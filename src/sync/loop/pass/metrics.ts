// The metrics of sync. Every series exists from the start, at zero, so that a rate can be computed.
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Metrics } from '../../../metrics.ts';
import type { Outcome, RefuseReason } from '../../plan/step.ts';

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
  lag: Bound;
  refused: Bound<'reason'>;
  objects: Bound<'state'>;
  requests: Bound<'request'>;
  conflicts: Bound;
  repairs: Bound;
  contested: Bound;
  backflowFailed: Bound;
  deletesWithheld: Bound;
  events: Bound<'outcome'>;
  leader: Bound;
  differences: Bound;
  bugs: Bound;
}

/** The series of one kind in a metric that all kinds share. */
class Bound<Label extends string = never> {
  readonly #metric: Counter | Gauge | Histogram;
  readonly #kind: { kind?: string };

  constructor(metric: Counter | Gauge | Histogram, kind: { kind?: string }) {
    this.#metric = metric;
    this.#kind = kind;
  }

  inc(...by: [Label] extends [never] ? [value?: number] : [labels: Record<Label, string>, value?: number]): void {
    const [labels, value] = typeof by[0] === 'object' ? [by[0], by[1] as number | undefined] : [{}, by[0]];
    (this.#metric as Counter).inc({ ...labels, ...this.#kind }, value ?? 1);
  }

  set(...to: [Label] extends [never] ? [value: number] : [labels: Record<Label, string>, value: number]): void {
    const [labels, value] = typeof to[0] === 'object' ? [to[0], to[1] as number] : [{}, to[0]];
    (this.#metric as Gauge).set({ ...labels, ...this.#kind }, value);
  }

  observe(value: number): void {
    (this.#metric as Histogram).observe({ ...this.#kind }, value);
  }
}

/** Every series exists from the start, so that an event that never happened reads 0. */
export function createSyncMetrics(registry: Metrics, kind: string): SyncMetrics {
  const of = { kind };
  const counter = <L extends string = never>(name: string, help: string, ...labels: L[]): Bound<L> =>
    new Bound<L>(known(registry, name) ?? new Counter(optionsOf(registry, { name, help, labels })), of);
  const gauge = <L extends string = never>(name: string, help: string, ...labels: L[]): Bound<L> =>
    new Bound<L>(known(registry, name) ?? new Gauge(optionsOf(registry, { name, help, labels })), of);
  const metrics: SyncMetrics = {
    lag: new Bound(lagIn(registry), of),
    refused: gauge('hostward_sync_refused_objects', 'Objects not on the host, by reason', 'reason'),
    objects: gauge(
      'hostward_sync_objects',
      'Virtual objects by state; the leader counts them, and a standby has 0',
      'state',
    ),
    requests: counter('hostward_sync_requests_total', 'Writes of sync that a cluster answered', 'request'),
    conflicts: counter('hostward_sync_key_conflicts_total', 'Keys changed on both sides; the virtual side won'),
    repairs: counter('hostward_sync_repairs_total', 'Writes that undid a change made on the host'),
    contested: gauge('hostward_sync_contested_objects', 'Objects that another client on the host keeps changing'),
    backflowFailed: gauge(
      'hostward_sync_backflow_failed_objects',
      'Objects with a host value that cannot be carried back to the virtual object',
    ),
    deletesWithheld: gauge('hostward_sync_deletes_withheld', 'Deletes that wait for a second list'),
    events: counter('hostward_sync_events_total', 'Events on virtual objects', 'outcome'),
    leader: new Bound(leaderIn(registry), {}),
    differences: dryRunDifferences(registry, kind),
    bugs: counter('hostward_sync_bugs_total', 'Unexpected errors while syncing an object'),
  };
  for (const [reason, zero] of Object.entries(refuseReasons)) metrics.refused.set({ reason }, zero);
  for (const [state, zero] of Object.entries(states)) metrics.objects.set({ state }, zero);
  for (const request of requestKinds) metrics.requests.inc({ request }, 0);
  for (const outcome of eventOutcomes) metrics.events.inc({ outcome }, 0);
  for (const one of [metrics.conflicts, metrics.repairs, metrics.bugs]) one.inc(0);
  (lagIn(registry) as Histogram).zero(of);
  for (const one of [metrics.contested, metrics.backflowFailed, metrics.deletesWithheld, metrics.differences])
    one.set(0);
  return metrics;
}

/** Also counts kinds that are copied only because references name them. */
export function dryRunDifferences(registry: Metrics, kind: string): Bound {
  const about = {
    name: 'hostward_dry_run_differences',
    help: 'Objects that would be written, in a dry run',
    labels: [],
  };
  return new Bound(known(registry, about.name) ?? new Gauge(optionsOf(registry, about)), { kind });
}

function known(registry: Metrics, name: string): Counter | Gauge | Histogram | undefined {
  return registry.getSingleMetric(name) as Counter | Gauge | Histogram | undefined;
}

function optionsOf(registry: Metrics, { name, help, labels }: { name: string; help: string; labels: string[] }) {
  return { name, help, labelNames: [...labels, 'kind'], registers: [registry] };
}

function lagIn(registry: Metrics): Counter | Gauge | Histogram {
  const name = 'hostward_sync_lag_seconds';
  return (
    known(registry, name) ??
    new Histogram({
      name,
      help: 'From the moment a change is seen to the moment the host agrees',
      labelNames: ['kind'],
      buckets: [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      registers: [registry],
    })
  );
}

/** The lease is one for all kinds. */
function leaderIn(registry: Metrics): Counter | Gauge | Histogram {
  const name = 'hostward_leader';
  const help = '1 while this process may write';
  return known(registry, name) ?? new Gauge({ name, help, registers: [registry] });
}
