// The front door's part that starts and stops the sandbox process of the running configuration.
import { expect, it } from 'vitest';
import { RunningPatches } from '../../src/assemble-patches.ts';
import { withPatches } from '../../src/cli/load-patches.ts';
import { systemClock } from '../../src/clock.ts';
import { loadConfiguration } from '../../src/config/load.ts';
import { silentLog } from '../../src/log.ts';
import { createMetrics } from '../../src/metrics.ts';
import type { ReferenceResolver } from '../../src/sync/references/names.ts';

it('counts every start of a sandbox process', async () => {
  const text = 'sync: {toHost: {endpoints: {patches: [{path: metadata.labels.app, expression: value + "!"}]}}}\n';
  const flags = { virtualClusterName: 'vc', hostNamespace: 'n' };
  const loaded = withPatches(loadConfiguration({ files: [{ name: 'v.yaml', text }], flags }));
  if (loaded.kind === 'faults') throw new Error(JSON.stringify(loaded.faults));
  const { settings, compiled } = loaded;
  const metrics = createMetrics();
  const options = {
    settings,
    isDryRun: false,
    waitMs: 0,
    log: silentLog,
    clock: systemClock,
    random: Math.random,
    metrics,
    environment: {},
    version: '1.2.3',
    nodePath: process.execPath,
  };
  const references: ReferenceResolver = { toHost: () => undefined, toVirtual: () => undefined };
  const patches = new RunningPatches(options, { mappings: undefined, references });
  await patches.take(settings, compiled);
  await patches.stop();
  expect(await metrics.metrics()).toContain('hostward_sandbox_starts_total{reason="first"} 1');
});
