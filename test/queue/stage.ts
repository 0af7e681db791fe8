// A queue with a clock and metrics of the test.
import { beforeEach } from 'vitest';
import { silentLog } from '../../src/log.ts';
import { createMetrics, type Metrics } from '../../src/metrics.ts';
import type { QueuePart } from '../../src/queue/queue-part.ts';
import { WorkQueue } from '../../src/queue/work-queue.ts';
import { VirtualClock } from '../virtual-clock.ts';

export let clock: VirtualClock;
export let metrics: Metrics;

/** Takes another clock and other metrics, for a test that needs them several times. */
export function renew(): void {
  clock = new VirtualClock();
  metrics = createMetrics();
}

/** Call it at the top of a file of tests. */
export function setUp(): void {
  beforeEach(renew);
}

export function makeQueue(laneOf?: (key: string) => string, random = () => 0): QueuePart {
  const options = { name: 'test', random, log: silentLog, metrics };
  return new WorkQueue(clock).part(laneOf === undefined ? options : { ...options, laneOf });
}

/** Two parts of one queue. */
export function makeQueues(): [QueuePart, QueuePart] {
  const queue = new WorkQueue(clock);
  const part = (name: string) => queue.part({ name, random: () => 0, log: silentLog, metrics });
  return [part('test'), part('other')];
}
