// The metrics of this room. Every known label value is created at start, so that a dashboard shows 0 for "never happened".
import { Counter, Gauge, Histogram } from 'prom-client';
import { type Metrics, readSeries } from '../metrics.ts';
import type { Answer } from './answer.ts';

const restartReasons = [
  'ended',
  'broken',
  'silent',
  'gone',
  'expired',
  'fault',
  'rollback',
  'disorder',
  'throttled',
  'refused',
  'failed',
  'requested',
] as const;
export type RestartReason = (typeof restartReasons)[number];

const listOutcomes = ['ok', 'failed', 'expired', 'fault', 'rollback', 'aborted'] as const;
export type ListOutcome = (typeof listOutcomes)[number];

const proofOutcomes = ['read', 'failed', 'expired', 'fault', 'older'] as const;
export type ProofOutcome = (typeof proofOutcomes)[number];

const missedTypes = ['ADDED', 'MODIFIED', 'DELETED'] as const;
export type MissedType = (typeof missedTypes)[number];

const eventTypes = ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'stale'] as const;
export type CountedEvent = (typeof eventTypes)[number];

export const writeVerbs = ['get', 'create', 'patch', 'delete'] as const;
export type WriteVerb = (typeof writeVerbs)[number];
const writeOutcomes: readonly Answer['kind'][] = [
  'ok',
  'notFound',
  'conflict',
  'alreadyExists',
  'gone',
  'unauthorized',
  'forbidden',
  'refused',
  'throttled',
  'failed',
  'notSent',
];

export interface WindowMetrics {
  restart(reason: RestartReason): void;
  list(outcome: ListOutcome): void;
  event(type: CountedEvent): void;
  proof(outcome: ProofOutcome): void;
  missed(type: MissedType): void;
  listenerFailed(): void;
  size(objects: number): void;
}

/** One set of handles per window; windows on the same resource of one cluster share their series. */
export function windowMetrics(metrics: Metrics, labels: { cluster: string; resource: string }): WindowMetrics {
  const restarts = counter(metrics, 'hostward_watch_restarts_total', 'Watches that were begun again, by reason', [
    'cluster',
    'resource',
    'reason',
  ]);
  const lists = counter(metrics, 'hostward_lists_total', 'Complete lists asked for, by outcome', [
    'cluster',
    'resource',
    'outcome',
  ]);
  const events = counter(
    metrics,
    'hostward_watch_events_total',
    'Events received; stale ones were older than what was known',
    ['cluster', 'resource', 'type'],
  );
  const proofs = counter(metrics, 'hostward_proofs_total', 'Lists of heads compared with the cache, by outcome', [
    'cluster',
    'resource',
    'outcome',
  ]);
  const losses = counter(
    metrics,
    'hostward_watch_missed_changes_total',
    'Changes that a watch did not bring; a proof or an answer showed them, and they were mended',
    ['cluster', 'resource', 'type'],
  );
  const bugs = counter(metrics, 'hostward_window_listener_errors_total', 'Errors thrown by listeners of a window', [
    'cluster',
    'resource',
  ]);
  const objects = gauge(metrics, 'hostward_window_objects', 'Objects in the cache', ['cluster', 'resource']);
  const restart = children(restartReasons, (reason) => restarts.labels({ ...labels, reason }));
  const list = children(listOutcomes, (outcome) => lists.labels({ ...labels, outcome }));
  const event = children(eventTypes, (type) => events.labels({ ...labels, type }));
  const proof = children(proofOutcomes, (outcome) => proofs.labels({ ...labels, outcome }));
  const missed = children(missedTypes, (type) => losses.labels({ ...labels, type }));
  const bug = bugs.labels(labels);
  const held = objects.labels(labels);
  const counted = [restart, list, event, proof, missed].flatMap((each): Counter.Internal[] => [...each.values()]);
  for (const child of [...counted, bug]) child.inc(0);
  held.inc(0);
  let reported = 0;
  return {
    restart: (reason) => restart.get(reason)?.inc(),
    list: (outcome) => list.get(outcome)?.inc(),
    event: (type) => event.get(type)?.inc(),
    proof: (outcome) => proof.get(outcome)?.inc(),
    missed: (type) => missed.get(type)?.inc(),
    listenerFailed: () => bug.inc(),
    size(count) {
      held.inc(count - reported);
      reported = count;
    },
  };
}

export interface WriterMetrics {
  wrote(verb: WriteVerb, outcome: Answer['kind'], seconds: number): void;
}

export interface WriterReadings {
  inFlight: number;
  limit: number;
  waiting: number;
}

/** `read` is called at each scrape. */
export function writerMetrics(metrics: Metrics, cluster: string, read: () => WriterReadings): WriterMetrics {
  const writes = counter(metrics, 'hostward_requests_total', 'Requests on single objects, by verb and outcome', [
    'cluster',
    'verb',
    'outcome',
  ]);
  const seconds = histogram(
    metrics,
    'hostward_request_seconds',
    'From sending to the answer',
    ['cluster', 'verb'],
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  );
  const reading = (name: string, help: string, value: (readings: WriterReadings) => number): void =>
    readSeries(metrics, { name, help, labels: { cluster }, read: () => value(read()) });
  reading('hostward_requests_in_flight', 'Requests sent and not answered', ({ inFlight }) => inFlight);
  reading('hostward_requests_in_flight_limit', 'How many the server bears at present', ({ limit }) => limit);
  reading('hostward_requests_waiting', 'Requests that wait to be sent', ({ waiting }) => waiting);
  const outcomes = new Map(
    writeVerbs.map((verb) => [verb, children(writeOutcomes, (outcome) => writes.labels({ cluster, verb, outcome }))]),
  );
  const timings = children(writeVerbs, (verb) => seconds.labels({ cluster, verb }));
  for (const byOutcome of outcomes.values()) for (const child of byOutcome.values()) child.inc(0);
  for (const verb of writeVerbs) seconds.zero({ cluster, verb });
  return {
    wrote(verb, outcome, took) {
      outcomes.get(verb)?.get(outcome)?.inc();
      if (outcome !== 'notSent') timings.get(verb)?.observe(took);
    },
  };
}

export interface LeaseMetrics {
  held(isHeld: boolean): void;
  transition(): void;
  renewFailed(): void;
}

export function leaseMetrics(metrics: Metrics, lease: string): LeaseMetrics {
  const held = gauge(metrics, 'hostward_lease_held', '1 while this process holds the lease', ['lease']).labels({
    lease,
  });
  const transitions = counter(metrics, 'hostward_leader_transitions_total', 'Changes between leader and standby', [
    'lease',
  ]).labels({ lease });
  const failures = counter(metrics, 'hostward_lease_failures_total', 'Lease requests that did not succeed', [
    'lease',
  ]).labels({ lease });
  held.set(0);
  transitions.inc(0);
  failures.inc(0);
  return {
    held: (isHeld) => held.set(isHeld ? 1 : 0),
    transition: () => transitions.inc(),
    renewFailed: () => failures.inc(),
  };
}

function children<L extends string, C>(labels: readonly L[], child: (label: L) => C): Map<L, C> {
  return new Map(labels.map((label) => [label, child(label)]));
}

// Two clusters share one registry, so the other cluster may have registered the series already.
function counter<L extends string>(metrics: Metrics, name: string, help: string, labelNames: L[]): Counter<L> {
  const known = metrics.getSingleMetric(name);
  return known instanceof Counter
    ? (known as Counter<L>)
    : new Counter({ name, help, labelNames, registers: [metrics] });
}

function gauge<L extends string>(metrics: Metrics, name: string, help: string, labelNames: L[]): Gauge<L> {
  const known = metrics.getSingleMetric(name);
  return known instanceof Gauge ? (known as Gauge<L>) : new Gauge({ name, help, labelNames, registers: [metrics] });
}

function histogram<L extends string>(
  metrics: Metrics,
  name: string,
  help: string,
  labelNames: L[],
  buckets: number[],
): Histogram<L> {
  const known = metrics.getSingleMetric(name);
  return known instanceof Histogram
    ? (known as Histogram<L>)
    : new Histogram({ name, help, labelNames, buckets, registers: [metrics] });
}
