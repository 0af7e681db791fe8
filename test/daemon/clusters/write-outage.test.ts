import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import { WriteOutage } from '../../../src/daemon/clusters/outages.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const good: Answer = { kind: 'ok', status: 200, object: { metadata: {} } } as Answer;
const failed: Answer = { kind: 'failed', message: 'no answer in time' } as Answer;

describe('WriteOutage', () => {
  it('begins when the first write was sent that failed, not when the wait for its answer ended', async () => {
    const clock = new VirtualClock();
    const outage = new WriteOutage(clock);
    const startMs = clock.now();
    await clock.advance(10_000);
    outage.note(failed, 10_000);
    expect(outage.current?.sinceMs).toBe(startMs);
    await clock.advance(10_000);
    outage.note(failed, 10_000);
    expect(outage.current?.sinceMs).toBe(startMs);
  });

  it('begins after the last write that the server accepted', async () => {
    const clock = new VirtualClock();
    const outage = new WriteOutage(clock);
    await clock.advance(9_000);
    outage.note(good, 5);
    const goodMs = clock.now();
    await clock.advance(1_000);
    outage.note(failed, 10_000);
    expect(outage.current?.sinceMs).toBe(goodMs);
    outage.note(good, 5);
    expect(outage.current).toBeUndefined();
  });
});
