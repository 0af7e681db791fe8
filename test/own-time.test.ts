import { expect, it } from 'vitest';
import { ownTime, processorMs } from './own-time.ts';

it('waits and work count, and a time in which the process does not run does not', async () => {
  const waitedMs = ownTime();
  for (let pause = 0; pause < 20; pause++) await new Promise((resolve) => setTimeout(resolve, 10));
  // Each pause has a look in it, which counts ten milliseconds at most.
  expect(waitedMs()).toBeGreaterThan(100);

  const workedMs = ownTime();
  // Other threads of the process work too, so 100 ms of processors may pass in less than 100 ms.
  const [endMs, atMs] = [processorMs() + 100, performance.now() + 100];
  while (processorMs() < endMs || performance.now() < atMs);
  expect(workedMs()).toBeGreaterThanOrEqual(100);

  const stoodMs = ownTime();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
  expect(stoodMs()).toBeLessThan(200);
});
