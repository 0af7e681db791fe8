// Measures how long the event loop of the process stalls, because a stall delays probes, lease renewals and every object.
// In: a metrics registry. Out: a series, and a function that ends the measurement.
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { Gauge } from 'prom-client';
import type { Metrics } from '../../metrics.ts';

/** Two hundred samples a second cost a thousandth of a core. A stall reads at most this much too short. */
const delayResolutionMs = 5;
const percentiles = [50, 99, 100];

/** Each scrape shows the delays since the scrape before. */
export function measureEventLoopDelay(metrics: Metrics): { stop(): void } {
  const delay = monitorEventLoopDelay({ resolution: delayResolutionMs });
  new Gauge({
    name: 'hostward_event_loop_delay_seconds',
    help: 'Delay of the event loop since the last scrape, by percentile',
    // A gauge must not have the label of a summary, which is called quantile.
    labelNames: ['percentile'],
    registers: [metrics],
    collect() {
      for (const percentile of percentiles) {
        const lateMs = delay.count === 0 ? 0 : delay.percentile(percentile) / 1e6 - delayResolutionMs;
        this.set({ percentile: String(percentile) }, Math.max(0, lateMs) / 1000);
      }
      delay.reset();
    },
  });
  delay.enable();
  return { stop: () => void delay.disable() };
}

/** Returns a function that tells how busy the event loop was since its last call, as a share from 0 to 1. */
export function measureUtilization(): () => number {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  };
}
