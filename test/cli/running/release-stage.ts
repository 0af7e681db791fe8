import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { endpointsObject, namespaceObject } from '../../../src/cli/demo/demo-story.ts';
import type { ClusterClient } from '../../../src/cli/line/cluster-client.ts';
import type { Context } from '../../../src/cli/line/context.ts';
import { openCluster } from '../../../src/cli/running/release.ts';
import { systemClock } from '../../../src/clock.ts';
import { endpointsResource, leasesResource, namespacesResource } from '../../../src/cluster/wire/scope.ts';
import { type Devcluster, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { scene } from '../scene.ts';

/** A host cluster with copies of four kinds of marks, made anew for each test, and `hostward release` beside it. */
export let folder: string;
export let cluster: Devcluster;
export let host: ClusterClient;
export let kubeconfig: string;

/** Certificates are valid now, not in the virtual clock's year. */
export function real(context: Context): Context {
  return { ...context, clock: systemClock, files: { ...context.files, read: (path) => readFile(path, 'utf8') } };
}

export function copy(name: string, extra: Record<string, string> = {}): KubeObject {
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

export async function release(...argv: string[]) {
  return releaseWith({}, ...argv);
}

export async function releaseWith(
  how: {
    patches?: object[];
    slicePatches?: object[];
    namespaces?: object;
    hostward?: object;
    kubeconfig?: string;
    daemon?: object;
    context?: Partial<Context>;
  },
  ...argv: string[]
) {
  const file = '/home/vcluster.yaml';
  const { patches = [], slicePatches = [], namespaces = {} } = how;
  const toHost = { endpoints: { patches }, endpointSlices: { patches: slicePatches }, namespaces };
  const { context, out, err } = scene({
    files: { [file]: JSON.stringify({ sync: { toHost }, hostward: how.hostward ?? {} }) },
  });
  const names = ['--vcluster-name', 'vc', '--host-namespace', 'vcluster-vc'];
  names.push('--host-kubeconfig', how.kubeconfig ?? kubeconfig, '--config', file);
  // Another daemon on this machine must not decide the test.
  const fetch: Context['fetch'] = async () => {
    if (how.daemon === undefined) throw new Error('nothing listens there');
    return Response.json(how.daemon);
  };
  const code = await runCommandLine({ ...real(context), fetch, ...how.context }, ['release', ...names, ...argv]);
  return { code, out: out(), err: err() };
}

export async function annotations(): Promise<Record<string, string[]>> {
  const objects = await host.list(endpointsResource, 'vcluster-vc');
  const own = (object: KubeObject) =>
    Object.keys(object.metadata.annotations!).filter((key) => key.startsWith('hostward.dev/'));
  return Object.fromEntries(objects.map((object) => [object.metadata.name!.split('-')[0]!, own(object)]));
}

/** For each file: one process runs several. */
export function setUp(): void {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'hostward-release-'));
    cluster = await startDevcluster({ name: 'host', users: [{ name: 'operator', token: 'operator-token' }] });
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
}
