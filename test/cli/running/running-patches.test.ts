// Tests daemon/synced/patches.ts, which starts and stops the sandbox process of the running configuration.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../src/clock.ts';
import { loadConfiguration } from '../../../src/config/load/load.ts';
import { withPatches } from '../../../src/daemon/options/load-patches.ts';
import { RunningPatches } from '../../../src/daemon/synced/patches.ts';
import { silentLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics.ts';
import type { ReferenceResolver } from '../../../src/sync/references/reference-names.ts';
import { VirtualClock } from '../../virtual-clock.ts';

function running({ clock = systemClock, nodePath = process.execPath }: { clock?: Clock; nodePath?: string } = {}) {
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
    clock,
    random: Math.random,
    metrics,
    environment: {},
    version: '1.2.3',
    nodePath,
  };
  const references: ReferenceResolver = {
    toHost: () => undefined,
    toVirtual: () => ({ kind: 'lost', isEarly: false }),
  };
  const patches = new RunningPatches(options, { mappings: undefined, references });
  const startsOf = async (reason: string): Promise<number> =>
    Number(new RegExp(`hostward_sandbox_starts_total{reason="${reason}"} (\\d+)`).exec(await metrics.metrics())?.[1]);
  return { patches, take: () => patches.take(settings, compiled), startsOf };
}

it('counts every start of a sandbox process', async () => {
  const { patches, take, startsOf } = running();
  await take();
  expect(patches.troubles).toEqual([]);
  await patches.stop();
  expect(await startsOf('first')).toBe(1);
});

it('ends the current and the previous sandbox when it is stopped, and leaves no timer', async () => {
  const clock = new VirtualClock();
  const { patches, take } = running({ clock });
  await take();
  await take();
  await patches.stop();
  expect(clock.pendingTimers).toBe(0);
});

it('starts no sandbox after the stop, and ends a sandbox that is starting', async () => {
  const clock = new VirtualClock();
  const { patches, take, startsOf } = running({ clock });
  const taken = take().catch((fault: Error) => fault.message);
  await patches.stop();
  expect(await taken).toMatch(/stopped before it was ready/);
  await take();
  expect(patches.current).toBeUndefined();
  expect([await startsOf('first'), clock.pendingTimers]).toEqual([0, 0]);
});

it('ends a sandbox that cannot start, instead of starting it again', { timeout: 30_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'hostward-'));
  // A program that starts as Node does, and then fails.
  const nodePath = join(folder, 'node');
  const script = `#!/bin/sh\ncase "$*" in *stripTypeScriptTypes*) exec "${process.execPath}" "$@";; esac\nexit 1\n`;
  await writeFile(nodePath, script, { mode: 0o755 });
  const clock = new VirtualClock();
  const { patches, take, startsOf } = running({ clock, nodePath });
  let ended: string | undefined;
  void take().catch((fault: Error) => (ended = fault.message));
  while (ended === undefined) await clock.advance(100);
  expect(ended).toMatch(/start the sandbox/);
  const starts = await startsOf('died');
  expect(patches.troubles).toEqual([expect.stringMatching(/^sandbox: killed or died \d+ times since the start$/)]);
  await clock.advance(60_000);
  expect([await startsOf('died'), clock.pendingTimers]).toEqual([starts, 0]);
  await patches.stop();
  await rm(folder, { recursive: true });
});
