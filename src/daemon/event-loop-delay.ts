// How long the process has kept its event loop from turning, as a series: whatever stalls it delays probes, lease renewals
// and every other object. In: a registry to hang it on. Out: a way to end the measuring.
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { Gauge } from 'prom-client';
import type { Metrics } from '../metrics.ts';

/** Two hundred looks a second cost a thousandth of a core; a stall is told at most this much too short. */
export const delayResolutionMs = 5;
const quantiles = [0.5, 0.99, 1];

/** Each reading tells of the time since the one before. */
export function measureEventLoopDelay(metrics: Metrics): { stop(): void } {
  const delay = monitorEventLoopDelay({ resolution: delayResolutionMs });
  new Gauge({
    name: 'hostward_event_loop_delay_seconds',
    help: 'How much later than due the event loop turned, by quantile, since the last reading',
    labelNames: ['quantile'],
    registers: [metrics],
    collect() {
      for (const quantile of quantiles) {
        const lateMs = delay.count === 0 ? 0 : delay.percentile(quantile * 100) / 1e6 - delayResolutionMs;
        this.set({ quantile: String(quantile) }, Math.max(0, lateMs) / 1000);
      }
      delay.reset();
    },
  });
  delay.enable();
  return { stop: () => void delay.disable() };
}

/** The share of the time since the last call in which the loop had something to do. */
export function measureUtilization(): () => number {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  };
}
