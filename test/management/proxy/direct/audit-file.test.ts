import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../../src/clock.ts';
import { silentLog } from '../../../../src/log.ts';
import type { AuditEntry } from '../../../../src/management/audit/entries.ts';
import { AuditFile } from '../../../../src/management/proxy/direct/audit-file.ts';

it('an audit line that the disk does not take within five seconds has failed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-audit-'));
  let isHanging = false;
  // Five seconds are over before any disk has answered.
  const clock: Clock = {
    ...systemClock,
    after: (delayMs, run) => {
      if (isHanging && delayMs <= 5_000) run();
      return systemClock.after(delayMs, run);
    },
  };
  const file = new AuditFile({ folder, clock, log: silentLog, isSent: () => true });
  try {
    await file.start();
    const line = { id: 'a', time: '2026-01-01T00:00:00Z', stage: 'outcome', code: 200 } as AuditEntry;
    await file.append(line);
    isHanging = true;
    await expect(file.append(line)).rejects.toThrow('the audit log took no line within 5 seconds');
  } finally {
    await file.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
