// The unpacked image does the program's work: read-only root, unprivileged user, no environment but its own. .ci/image unpacks it.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freePorts } from '../../../src/cli/demo/free-ports.ts';
import { until } from '../../contract/sync-stage/backend.ts';
import { kubeAssets } from '../start/assets.ts';
import { type KubeCluster, startKube } from '../start/start.ts';

const root = process.env.HOSTWARD_IMAGE_ROOT;
const enter = join(import.meta.dirname, '..', '..', '..', '.ci', 'in-image');
const assets = kubeAssets();

describe.skipIf(root === undefined)(
  `the unpacked image${root === undefined ? ' (skipped: HOSTWARD_IMAGE_ROOT names none; run .ci/image)' : ''}`,
  { timeout: 60_000 },
  () => {
    let folder: string;
    let running: ChildProcess | undefined;
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'hostward-in-image-'));
      chmodSync(folder, 0o1777);
    });
    afterEach(async () => {
      const ended = running?.exitCode === null ? new Promise((resolve) => running?.once('close', resolve)) : undefined;
      running?.kill('SIGTERM');
      await ended;
      running = undefined;
      rmSync(folder, { recursive: true, force: true });
    });

    const inImage = (...all: string[]) => [root ?? '', folder, ...all];
    const output = async (...all: string[]) => (await promisify(execFile)(enter, inImage(...all))).stdout;
    const start = (...all: string[]) => {
      running = spawn(enter, inImage(...all), { stdio: ['ignore', 'ignore', 'pipe'] });
      const lines = { text: '' };
      running.stderr?.setEncoding('utf8').on('data', (text: string) => {
        lines.text += text;
      });
      return lines;
    };
    const write = (name: string, text: string) => {
      writeFileSync(join(folder, name), text, { mode: 0o644 });
      return `/tmp/${name}`;
    };

    it('says its version and evaluates an expression in its sandbox', async () => {
      expect(await output('--version')).toMatch(/^hostward \d/);
      expect(await output('eval', '"sand" + value', '--value', '"box"')).toContain('sandbox');
    });

    it('holds the pages that its messages name', async () => {
      expect(await output('docs', 'doctor', 'HW-402')).toMatch(/^### HW-402\n/);
    });

    it('runs the whole demo', async () => {
      expect(await output('demo', '--once')).toMatch(/all \d+ steps passed/);
    });

    it('serves the management API to a key that it made', async () => {
      const [port = 0] = await freePorts(1);
      const management = { listen: `127.0.0.1:${port}`, baseURL: `https://localhost:${port}`, dataDir: '/tmp/data' };
      const configuration = write('hostward.yaml', JSON.stringify({ hostward: { listen: '127.0.0.1:0', management } }));
      const key = (await output('keys', 'create', 'first', '--admin', '--config', configuration)).trim();
      start('run', '--config', configuration);
      const url = `https://localhost:${port}/kubernetes/management/apis/management.platform/v1/ownedaccesskeys`;
      const authority = join(folder, 'data', 'ca.crt');
      const words = ['-sS', '--cacert', authority, '-H', `Authorization: Bearer ${key}`, url];
      const list = await until('an answer', async () => {
        const { stdout } = await promisify(execFile)('curl', words).catch(() => ({ stdout: '' }));
        return stdout === '' ? undefined : JSON.parse(stdout);
      });
      expect(list).toMatchObject({ kind: 'OwnedAccessKeyList', items: [{ metadata: { name: 'first' } }] });
    });

    describe.skipIf(assets.found === undefined)('between two real API servers', () => {
      let virtual: KubeCluster;
      let host: KubeCluster;
      beforeAll(async () => {
        [virtual, host] = await Promise.all([startKube({ name: 'image-virtual' }), startKube({ name: 'image-host' })]);
        await host.kubectl('create', 'namespace', 'vcluster-v');
        // The Service of the virtual cluster itself: without it nothing is created.
        await host.kubectl('create', 'service', 'clusterip', 'v', '--tcp=443', '-n', 'vcluster-v');
      });
      afterAll(() => Promise.all([virtual?.stop(), host?.stop()]));

      it('syncs an Endpoints with a patch and ends within seconds of SIGTERM', async () => {
        const configuration = write(
          'vcluster.yaml',
          JSON.stringify({
            sync: {
              toHost: {
                endpoints: {
                  enabled: true,
                  patches: [{ path: 'metadata.labels["team"]', expression: '"t-" + value' }],
                },
              },
            },
            hostward: { listen: '127.0.0.1:0', leaderElection: 'never' },
          }),
        );
        const lines = start(
          ...['run', '--config', configuration, '--vcluster-name', 'v', '--host-namespace', 'vcluster-v'],
          ...['--virtual-kubeconfig', write('virtual', readFileSync(virtual.kubeconfigPath, 'utf8'))],
          ...['--host-kubeconfig', write('host', readFileSync(host.kubeconfigPath, 'utf8'))],
        );
        const metadata = { name: 'web', namespace: 'default', labels: { team: 'red' } };
        const ports = [{ port: 80 }];
        const items = [
          { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports } },
          { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets: [{ addresses: [{ ip: '10.9.0.1' }], ports }] },
        ];
        await virtual.kubectlWith(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }), 'apply', '-f', '-');
        const copy = await until(`a host copy; the daemon said ${lines.text}`, async () => {
          const { stdout } = await host.kubectl(
            'get',
            'endpoints',
            'web-x-default-x-v',
            '-n',
            'vcluster-v',
            '-o',
            'json',
          );
          return stdout === '' ? undefined : JSON.parse(stdout);
        });
        expect(copy).toMatchObject({
          metadata: { labels: { team: 't-red' } },
          subsets: [{ addresses: [{ ip: '10.9.0.1' }] }],
        });
        const ended = new Promise((resolve) => running?.once('close', (code) => resolve(code)));
        running?.kill('SIGTERM');
        expect(await ended).toBe(0);
      });
    });
  },
);
