import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
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

const folder = mkdtempSync(join(tmpdir(), 'hostward-alone-'));
let stop = async () => {};
afterEach(async () => {
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

it('knows since when it is in trouble, although nobody has asked in the meantime', async () => {
  const kubeconfig = join(folder, 'down.kubeconfig');
  writeFileSync(kubeconfig, kubeconfigText('http://127.0.0.1:1', 'upstream-secret'), { mode: 0o600 });
  const clusters = [{ name: 'c1', kubeconfig, members: [{ user: 'alice' }] }];
  const management = { listen: '127.0.0.1:0', dataDir: join(folder, 'data'), users: [{ name: 'alice' }], clusters };
  const files = [{ name: 'h.yaml', text: JSON.stringify({ hostward: { management } }) }];
  const loaded = loadConfiguration({ files, flags: {}, environment: {} });
  if (loaded.kind === 'faults') throw new Error(JSON.stringify(loaded.faults));
  const clock = new JumpClock();
  const logged: string[] = [];
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
  stop = () => daemon.stop();
  expect(await daemon.start()).toEqual({ kind: 'started' });
  await until(() => logged.some((line) => line.includes('a cluster behind cannot be used fully')), 'the trouble');
  await clock.jump(60_000);
  const { verdict } = daemon.status() as { verdict: { isWell: boolean; since: string; parts?: Part[] } };
  expect(verdict.isWell).toBe(false);
  // The clock jumps over writes to the disk too, so that they may look late beside the trouble that is meant.
  const meant = verdict.parts?.find(({ part }) => part.includes('cluster c1 cannot be asked')) ?? verdict;
  expect(clock.wallTime().getTime() - Date.parse(meant.since)).toBeGreaterThan(30_000);
});
