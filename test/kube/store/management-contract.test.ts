// The tests of what the management API answers, with two replicas on a real kube-apiserver and a balancer that gives each request to the
// other one. They run in a process of their own, where each bench is such a pair.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { benchHost } from '../../management/server/bench.ts';
import type { BenchHost } from '../../management/server/sight/balanced-bench.ts';
import { kubeAssets } from '../start/assets.ts';
import { startKube } from '../start/start.ts';
import { type EmbeddedHost, startEmbedded } from './embedded-host.ts';

const assets = kubeAssets();
const isEmbedded = process.env['HOSTWARD_EMBEDDED_HOST'] === '1';
const root = fileURLToPath(new URL('../../../', import.meta.url));
const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', '--hookTimeout=120000'];
/** Whatever asks one server and no more. */
const files = [
  'checks/back.test.ts',
  'checks/fields.test.ts',
  'checks/front.test.ts',
  'server/reads/documents.test.ts',
  'server/reads/lists.test.ts',
  'server/writes/create.test.ts',
  'server/writes/update.test.ts',
].map((file) => `test/management/${file}`);

interface Run {
  numPassedTests: number;
  testResults: {
    message: string;
    assertionResults: { fullName: string; status: string; failureMessages: string[] }[];
  }[];
}

function run({ url, caPem, adminToken, kubeconfigPath }: BenchHost, folder: string): Promise<Run> {
  const { KUBEBUILDER_ASSETS: _, VITEST: __, ...inherited } = process.env;
  const report = join(folder, 'report.json');
  const host = JSON.stringify({ url, caPem, adminToken, kubeconfigPath });
  const env = { ...inherited, [benchHost]: host, HOSTWARD_TEST_REPORT: report };
  return new Promise((resolve, reject) => {
    const words = ['src/launcher/with-node.mjs', ...vitest, ...files];
    execFile(process.execPath, words, { cwd: root, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      // It fails when a test fails; the report names the test.
      if (existsSync(report)) resolve(JSON.parse(readFileSync(report, 'utf8')) as Run);
      else reject(new Error(`the tests do not run: ${stdout}${stderr}`, { cause: error }));
    });
  });
}

describe.skipIf(assets.found === undefined && !isEmbedded)('two replicas behind a balancer', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-report-'));
  let host: EmbeddedHost;
  beforeAll(async () => {
    host = isEmbedded ? await startEmbedded(assets.found?.kubectl ?? '') : await startKube({ name: 'management' });
  }, 90_000);
  afterAll(async () => {
    await host.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('answer what one management API answers', async () => {
    const { numPassedTests, testResults } = await run(host, folder);
    const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
    const failed = tests.filter(({ status }) => status === 'failed');
    expect(failed.map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages.join()}`)).toEqual([]);
    expect(testResults.map(({ message }) => message).filter((message) => message !== '')).toEqual([]);
    expect(testResults).toHaveLength(files.length);
    expect(numPassedTests).toBeGreaterThan(100);
  }, 400_000);
});
