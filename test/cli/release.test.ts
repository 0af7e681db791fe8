import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ClusterClient } from '../../src/cli/cluster-client.ts';
import { runCommandLine } from '../../src/cli/command-line.ts';
import type { Context } from '../../src/cli/context.ts';
import { endpointsObject, namespaceObject, namespacesResource } from '../../src/cli/demo-story.ts';
import { openCluster } from '../../src/cli/open-cluster.ts';
import { systemClock } from '../../src/clock.ts';
import { endpointsResource, leasesResource } from '../../src/cluster/writer.ts';
import { type Devcluster, startDevcluster } from '../../src/devcluster/devcluster.ts';
import type { KubeObject } from '../../src/object/object.ts';
import { scene } from './scene.ts';

let folder: string;
let cluster: Devcluster;
let host: ClusterClient;
let kubeconfig: string;

/** Certificates are valid now, not in the virtual clock's year. */
function real(context: Context): Context {
  return { ...context, clock: systemClock, files: { ...context.files, read: (path) => readFile(path, 'utf8') } };
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hostward-release-'));
  cluster = await startDevcluster({ name: 'host' });
  kubeconfig = join(folder, 'host.kubeconfig');
  await writeFile(kubeconfig, cluster.kubeconfig);
  host = await openCluster(real(scene().context), { name: 'host', kubeconfig });
  await host.create(namespacesResource, namespaceObject('vcluster-vc'));
});
afterAll(async () => {
  await host?.close();
  await cluster?.stop();
  rmSync(folder, { recursive: true });
});

function copy(name: string, extra: Record<string, string> = {}): KubeObject {
  const hostName = `${name}-x-shop-x-vc`;
  const object = endpointsObject('vcluster-vc', hostName, ['10.0.0.1'], {
    'vcluster.loft.sh/managed-by': 'vc',
    'vcluster.loft.sh/namespace': 'shop',
  });
  object.metadata.annotations = {
    'vcluster.loft.sh/object-name': name,
    'vcluster.loft.sh/object-namespace': 'shop',
    'vcluster.loft.sh/object-uid': 'u',
    'vcluster.loft.sh/object-kind': '/v1, Kind=Endpoints',
    'vcluster.loft.sh/object-host-name': hostName,
    'vcluster.loft.sh/object-host-namespace': 'vcluster-vc',
    'hostward.dev/base': 'b',
    ...extra,
  };
  return object;
}

beforeEach(async () => {
  for (const object of await host.list(endpointsResource, 'vcluster-vc')) {
    await host.remove(endpointsResource, { namespace: 'vcluster-vc', name: object.metadata.name! });
  }
  await host.remove(leasesResource, { namespace: 'vcluster-vc', name: 'hostward-vc' });
  const others = copy('others', { 'vcluster.loft.sh/object-host-name': 'somewhere-else' });
  const objects = [
    copy('one'),
    copy('two', { 'hostward.dev/pause': 'true' }),
    copy('held', { 'vcluster.loft.sh/controlled-by': 'x' }),
    others,
  ];
  for (const object of objects) await host.create(endpointsResource, object);
});

async function release(...argv: string[]) {
  const { context, out, err } = scene();
  const names = ['--vcluster-name', 'vc', '--host-namespace', 'vcluster-vc', '--host-kubeconfig', kubeconfig];
  const code = await runCommandLine(real(context), ['release', ...names, ...argv]);
  return { code, out: out(), err: err() };
}

async function annotations(): Promise<Record<string, string[]>> {
  const objects = await host.list(endpointsResource, 'vcluster-vc');
  const own = (object: KubeObject) =>
    Object.keys(object.metadata.annotations!).filter((key) => key.startsWith('hostward.dev/'));
  return Object.fromEntries(objects.map((object) => [object.metadata.name!.split('-')[0]!, own(object)]));
}

describe('hostward release', () => {
  it('takes our annotations off what is ours, and leaves the rest', async () => {
    const { code, out } = await release();
    expect(code).toBe(0);
    expect(out).toContain('released vcluster-vc/one-x-shop-x-vc\n');
    expect(out).toContain('left alone vcluster-vc/held-x-shop-x-vc: it is marked vcluster.loft.sh/controlled-by="x"\n');
    expect(out).toContain('left alone vcluster-vc/others-x-shop-x-vc: it is not provably ours\n');
    expect(out).toContain('2 released, 2 left alone, 0 failed\n');
    expect(await annotations()).toEqual({
      held: ['hostward.dev/base'],
      one: [],
      others: ['hostward.dev/base'],
      two: ['hostward.dev/pause'],
    });
  });

  it('has nothing to do the second time', async () => {
    await release();
    expect(JSON.parse((await release('-o', 'json')).out).done).toEqual([]);
  });

  it('deletes our copies, paused ones not', async () => {
    expect((await release('--delete')).out).toContain('1 deleted, 3 left alone, 0 failed\n');
    expect(Object.keys(await annotations())).toEqual(['held', 'others', 'two']);
  });

  it('says what it would do without doing it', async () => {
    const before = await annotations();
    expect((await release('--delete', '--dry-run')).out).toContain('would be deleted vcluster-vc/one-x-shop-x-vc\n');
    expect(await annotations()).toEqual(before);
  });

  it('refuses while a daemon holds the lease, and not when the lease has run out', async () => {
    const lease = (renewTime: Date) => ({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'vcluster-vc', name: 'hostward-vc' },
      spec: {
        holderIdentity: 'pod-0',
        leaseDurationSeconds: 15,
        renewTime: renewTime.toISOString().replace('Z', '000Z'),
      },
    });
    await host.create(leasesResource, lease(systemClock.wallTime()));
    const refused = await release();
    expect(refused.code).toBe(3);
    expect(refused.err).toContain('"pod-0" runs and holds the lease vcluster-vc/hostward-vc\nstop the daemon first');
    await host.remove(leasesResource, { namespace: 'vcluster-vc', name: 'hostward-vc' });
    await host.create(leasesResource, lease(new Date('2026-01-01T00:00:00Z')));
    expect((await release()).code).toBe(0);
  });

  it('says what is wrong with the way to the host', async () => {
    const { context, err } = scene();
    const argv = [
      'release',
      '--vcluster-name',
      'vc',
      '--host-namespace',
      'n',
      '--host-kubeconfig',
      join(folder, 'none'),
    ];
    expect(await runCommandLine(real(context), argv)).toBe(3);
    expect(err()).toMatch(/^hostward: .*none/);
  });
});
