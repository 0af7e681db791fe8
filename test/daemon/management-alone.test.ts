import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import { loadConfiguration } from '../../src/config/load/load.ts';
import { daemonModule } from '../../src/daemon/daemon.ts';
import { createLog } from '../../src/log.ts';
import { ManagementApi } from '../../src/management/server/server.ts';
import { createMetrics } from '../../src/metrics.ts';
import { JumpClock } from '../jump-clock.ts';
import { kubeconfigText } from '../management/proxy/upstream.ts';
import { until } from '../management/server/bench.ts';

interface Part {
  part: string;
  since: string;
}

let folder: string;
const daemons: ReturnType<typeof daemonModule.assembleDaemon>[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hostward-alone-'));
});
afterEach(async () => {
  for (const daemon of daemons.splice(0)) await daemon.stop();
  rmSync(folder, { recursive: true, force: true });
});

function daemonOf(management: object, { clock, logged }: { clock: Clock; logged: string[] }) {
  const files = [{ name: 'h.yaml', text: JSON.stringify({ hostward: { management } }) }];
  const loaded = loadConfiguration({ files, flags: {}, environment: {} });
  if (loaded.kind === 'faults') throw new Error(JSON.stringify(loaded.faults));
  const daemon = daemonModule.assembleDaemon({
    settings: loaded.settings,
    createManagement: async (options) => new ManagementApi(options),
    isDryRun: false,
    waitMs: 0,
    log: createLog({ level: 'info', destination: { write: (line) => void logged.push(line) } }),
    clock,
    random: Math.random,
    metrics: createMetrics(),
    environment: {},
    version: '1.0.0',
  });
  daemons.push(daemon);
  return daemon;
}

it('says that another process has the dataDir, and not that files are damaged (at length)', async () => {
  const management = { listen: '127.0.0.1:0', dataDir: join(folder, 'data'), users: [{ name: 'alice' }] };
  const [first, second] = [1, 2].map(() => daemonOf(management, { clock: systemClock, logged: [] }));
  expect(await first?.start()).toEqual({ kind: 'started' });
  const started = JSON.stringify(await second?.start());
  expect(started).toContain('another process has locked it');
  expect(started).toContain('end the other process, or give this one a hostward.management.dataDir of its own');
  expect(started).not.toContain('bad-days');
});

it('knows since when it is in trouble, although nobody has asked in the meantime', async () => {
  const kubeconfig = join(folder, 'down.kubeconfig');
  writeFileSync(kubeconfig, kubeconfigText('http://127.0.0.1:1', 'upstream-secret'), { mode: 0o600 });
  const clusters = [{ name: 'c1', kubeconfig, members: [{ user: 'alice' }] }];
  const management = { listen: '127.0.0.1:0', dataDir: join(folder, 'data'), users: [{ name: 'alice' }], clusters };
  const clock = new JumpClock();
  const logged: string[] = [];
  const daemon = daemonOf(management, { clock, logged });
  expect(await daemon.start()).toEqual({ kind: 'started' });
  await until(() => logged.some((line) => line.includes('a cluster behind cannot be used fully')), 'the trouble');
  await clock.jump(60_000);
  const { verdict } = daemon.status() as { verdict: { isWell: boolean; since: string; parts?: Part[] } };
  expect(verdict.isWell).toBe(false);
  // The clock jumps over writes to the disk too, so that they may look late beside the trouble that is meant.
  const meant = verdict.parts?.find(({ part }) => part.includes('cluster c1 cannot be asked')) ?? verdict;
  expect(clock.wallTime().getTime() - Date.parse(meant.since)).toBeGreaterThan(30_000);
});
