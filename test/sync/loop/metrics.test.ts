import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/metrics.ts';
import { createSyncMetrics } from '../../../src/sync/loop/metrics.ts';

describe('createSyncMetrics()', () => {
  it('has every reason to keep an object off the host at zero from the start, a failed patch too', async () => {
    const registry = createMetrics();
    createSyncMetrics(registry);
    const text = await registry.metrics();
    expect(text).toContain('hostward_sync_refused_objects{reason="PatchFailed"} 0');
    expect(text).toContain('hostward_sync_refused_objects{reason="NotOwned"} 0');
  });

  it('counts writes and nothing that is only read', async () => {
    const registry = createMetrics();
    createSyncMetrics(registry);
    const series = (await registry.metrics()).split('\n').filter((line) => line.startsWith('hostward_sync_requests'));
    expect(series.map((line) => /request="(\w+)"/.exec(line)?.[1])).toEqual([
      'create',
      'patch',
      'remove',
      'virtualPatch',
    ]);
  });
});
