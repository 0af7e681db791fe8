// `hostward store recover` that the cluster breaks off after the first records were written.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { systemClock } from '../../../../src/clock.ts';
import { startDevcluster } from '../../../../src/devcluster/devcluster.ts';
import { silentLog } from '../../../../src/log.ts';
import { ManagementApi } from '../../../../src/management/server/server.ts';
import { runKeys } from '../../../cli/keys/keys-bench.ts';
import { newNamespace } from '../../../contract/store/on-host.ts';
import { FaultHost } from '../../../kube/store/fault-host.ts';
import { people } from '../bench.ts';

it('says that it is not finished, and that all keys are disabled where a journal is missing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-broken-off-'));
  const host = await startDevcluster({ name: 'host' });
  const kubeconfigPath = join(folder, 'kubeconfig');
  writeFileSync(kubeconfigPath, host.kubeconfig, { mode: 0o600 });
  const namespace = await newNamespace(host);
  const running: ManagementApi[] = [];
  const runningOn = async (name: string) => {
    const store = { kubernetes: { kubeconfig: kubeconfigPath, namespace }, maxRecords: 1_000, maxBytes: 1_000_000 };
    const own = { dataDir: join(folder, name), secretsDir: join(folder, 'secrets'), ingressListen: undefined };
    const server = { listen: '127.0.0.1:0', baseURL: 'https://localhost', ...own, store };
    const api = new ManagementApi({ settings: people, server, clock: systemClock, log: silentLog, version: '0.1.0' });
    await api.open();
    await api.serve();
    return api;
  };
  for (const name of ['one', 'two']) {
    const api = await runningOn(name);
    for (const key of ['a', 'b']) await api.createKey({ metadata: { name: name + key }, spec: { user: 'alice' } });
    running.push(api);
  }
  for (const api of running) await api.close();
  const faults = new FaultHost({ ...host, kubeconfigPath }, join(folder, 'faulty'));
  await faults.open();
  const local = (...argv: string[]) => {
    const store = { kubernetes: { kubeconfig: faults.kubeconfigPath, namespace } };
    const own = { dataDir: join(folder, 'one'), secretsDir: join(folder, 'secrets') };
    const management = { listen: '127.0.0.1:0', ...own, store };
    const files = { '/home/h.yaml': JSON.stringify({ hostward: { management } }) };
    return runKeys([...argv, '--config', 'h.yaml'], { files });
  };
  const recover = (...more: string[]) => local('store', 'recover', '--force', ...more);
  try {
    const looked = await recover('--dry-run');
    expect([looked.code, looked.out]).toEqual([0, expect.stringContaining('nothing was changed; the cluster is at ')]);
    expect(looked.out).toContain('without --dry-run all keys are disabled');
    const all = await recover('--dry-run', '--journals', join(folder, 'two'));
    expect(all.out).not.toContain('are disabled');
    faults.arm({ point: 'secrets: PUT one', code: 410 });
    const broken = await recover();
    expect(broken).toMatchObject({ code: 3 });
    expect(broken.err).toContain('the recovery is not finished, and some keys are disabled already: ');
    expect(broken.err).toContain('run it again');
    expect(broken.err).toContain('no server starts until it');
    const refused = await runningOn('two').catch((error: Error) => error.message);
    expect(refused).toContain(
      'a recovery of it has begun and not ended; stop every replica and run "hostward store recover"',
    );
    expect((await local('keys', 'list')).err.replaceAll('\n', ' ')).toContain(
      'a recovery of it has begun and not ended',
    );
    expect((await local('store', 'seal')).err.replaceAll('\n', ' ')).toContain(
      'a recovery of it has begun and not ended',
    );
    const { code, out } = await recover();
    expect([code, out]).toEqual([0, expect.stringContaining('all keys are disabled')]);
    expect(out).toContain('hostward keys create NAME --admin');
    // What the journal of the other one says is no reason to enable what was disabled without it.
    const known = await recover('--journals', join(folder, 'two'));
    expect(known.out).not.toContain('all keys are disabled');
  } finally {
    faults.close();
    await host.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}, 60_000);
