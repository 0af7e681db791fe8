// The registry that every room hangs its series on. A room declares its series in its own metrics.ts, as a function of
// this registry, and touches every label value it knows at start, so that "never happened" reads 0 and not "absent".
import { Registry } from 'prom-client';

export type Metrics = Registry;

export function createMetrics(): Metrics {
  return new Registry();
}
