import { describe, expect, it } from 'vitest';
import { silentLog } from '../../../../src/log.ts';
import type { AuditEntry } from '../../../../src/management/audit/entries.ts';
import { gatherMs, Uploads } from '../../../../src/management/proxy/direct/uploads.ts';
import { VirtualClock } from '../../../virtual-clock.ts';

const entry = (id: string) => ({ id, time: '2026-01-01T00:00:00Z', stage: 'outcome', code: 200 }) as AuditEntry;

describe('Uploads', () => {
  it('sends one report after another pause, however many lines come while the platform takes none', async () => {
    const clock = new VirtualClock();
    const reports: number[] = [];
    const uploads = new Uploads({
      report: async ({ entries = [] }) => {
        reports.push(entries.length);
        return { kind: 'refused', code: 503, message: 'not now' };
      },
      ...{ sent: async () => undefined, clock, log: silentLog },
    });
    for (const id of ['a', 'b', 'c']) uploads.offer(entry(id));
    await clock.advance(gatherMs);
    expect(reports).toEqual([3]);
    for (const id of ['d', 'e']) uploads.offer(entry(id));
    // The next try comes after the pause of a first failure, which is a second at most.
    await clock.advance(gatherMs);
    expect(reports).toEqual([3, 5]);
    expect([uploads.waiting, uploads.lost]).toEqual([5, 0]);
    await uploads.stop();
  });

  it('plans no report while one is under way, nor after the end', async () => {
    const clock = new VirtualClock();
    let answer = (): void => {};
    const uploads = new Uploads({
      report: () =>
        new Promise((resolve) => {
          answer = () => resolve({ kind: 'refused', code: 503, message: 'not now' });
        }),
      ...{ sent: async () => undefined, clock, log: silentLog },
    });
    uploads.offer(entry('a'));
    await clock.advance(gatherMs);
    uploads.offer(entry('b'));
    expect(clock.pendingTimers).toBe(0);
    answer();
    await clock.advance(0);
    expect(clock.pendingTimers).toBe(1);
    await uploads.stop();
    uploads.offer(entry('c'));
    expect(clock.pendingTimers).toBe(0);
  });
});
