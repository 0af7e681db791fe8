import { describe, expect, it } from 'vitest';
import { createMetrics } from '../../../src/metrics.ts';
import { createSyncMetrics } from '../../../src/sync/loop/pass/metrics.ts';

describe('createSyncMetrics()', () => {
  it('has a series at zero for every reason of a refusal, including a failed patch', async () => {
    const registry = createMetrics();
    createSyncMetrics(registry, 'Widget');
    const text = await registry.metrics();
    expect(text).toContain('hostward_sync_refused_objects{reason="PatchFailed",kind="Widget"} 0');
    expect(text).toContain('hostward_sync_refused_objects{reason="NotOwned",kind="Widget"} 0');
  });

  it('counts writes but not reads', async () => {
    const registry = createMetrics();
    createSyncMetrics(registry, 'Widget');
    const series = (await registry.metrics()).split('\n').filter((line) => line.startsWith('hostward_sync_requests'));
    expect(series.map((line) => /request="(\w+)"/.exec(line)?.[1])).toEqual([
      'create',
      'patch',
      'remove',
      'virtualPatch',
    ]);
  });
});
