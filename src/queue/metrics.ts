// The metrics of this room.
import { Counter, Histogram } from 'prom-client';
import { type Metrics, readSeries } from '../metrics.ts';

export interface QueueMetrics {
  added(): void;
  retried(): void;
  bug(): void;
  waited(seconds: number): void;
  worked(seconds: number): void;
}

export interface QueueReadings {
  waiting: number;
  delayed: number;
  running: number;
  oldestSeconds: number;
}

const seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** `read` is called at each scrape. */
export function queueMetrics(metrics: Metrics, queue: string, read: () => QueueReadings): QueueMetrics {
  const labels = { queue };
  const registers = [metrics];
  const labelNames = ['queue' as const];
  const known = <T>(name: string): T | undefined => metrics.getSingleMetric(name) as T | undefined;
  const count = (name: string, help: string) => {
    const counter = known<Counter<'queue'>>(name) ?? new Counter({ name, help, labelNames, registers });
    const child = counter.labels(labels);
    child.inc(0);
    return child;
  };
  const time = (name: string, help: string) => {
    const histogram =
      known<Histogram<'queue'>>(name) ?? new Histogram({ name, help, labelNames, buckets: seconds, registers });
    histogram.zero(labels);
    return histogram.labels(labels);
  };
  const gauge = (name: string, help: string, value: (readings: QueueReadings) => number) =>
    readSeries(metrics, { name, help, labels, read: () => value(read()) });
  gauge('hostward_queue_depth', 'Keys that wait for a worker', (readings) => readings.waiting);
  gauge('hostward_queue_delayed', 'Keys that are due later', (readings) => readings.delayed);
  gauge('hostward_queue_running', 'Keys that a worker has', (readings) => readings.running);
  gauge(
    'hostward_queue_oldest_seconds',
    'How long the oldest waiting key has waited',
    (readings) => readings.oldestSeconds,
  );
  const added = count('hostward_queue_added_total', 'Keys added');
  const retried = count('hostward_queue_retries_total', 'Keys to be tried again after a failure');
  const bugs = count('hostward_queue_worker_errors_total', 'Errors thrown by a worker');
  const waited = time('hostward_queue_wait_seconds', 'From adding a key to working on it');
  const worked = time('hostward_queue_work_seconds', 'Time a worker had a key');
  return {
    added: () => added.inc(),
    retried: () => retried.inc(),
    bug: () => bugs.inc(),
    waited: (took) => waited.observe(took),
    worked: (took) => worked.observe(took),
  };
}
