import { afterEach, describe, expect, it } from 'vitest';
import { measureEventLoopDelay } from '../../src/daemon/process/event-loop-delay.ts';
import { createMetrics, type Metrics } from '../../src/metrics.ts';

const endings: (() => void)[] = [];
afterEach(() => {
  for (const end of endings.splice(0)) end();
});

function measured(): Metrics {
  const metrics = createMetrics();
  const { stop } = measureEventLoopDelay(metrics);
  endings.push(stop);
  return metrics;
}

async function longest(metrics: Metrics): Promise<number> {
  const text = await metrics.metrics();
  return Number(/percentile="100"\} (\S+)/.exec(text)?.[1]);
}

/** Goes on for some turns: on a busy machine the time may pass within one turn, and the timer of the measurement runs only between two. */
async function turns(untilMs: number): Promise<void> {
  const endMs = performance.now() + untilMs;
  for (let more = 3; more > 0; ) {
    if (performance.now() >= endMs) more--;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('measureEventLoopDelay()', () => {
  it('reads zero before any delay', async () => {
    expect(await longest(measured())).toBe(0);
  });

  it('reports a stall once, because each scrape begins a new measurement', async () => {
    const metrics = measured();
    await turns(30);
    const endMs = performance.now() + 150;
    while (performance.now() < endMs);
    await turns(30);
    const stalled = await longest(metrics);
    expect(stalled).toBeGreaterThan(0.14);
    // On a busy machine one measurement more may have a stall of its own.
    const next = async (): Promise<number> => {
      await turns(30);
      return longest(metrics);
    };
    await expect.poll(next, { timeout: 20_000 }).toBeLessThan(stalled);
  });
});
