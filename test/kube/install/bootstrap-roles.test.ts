// The roles of a new embedded cluster equal those of a real one whose controllers have gathered the aggregated roles.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pause, systemClock } from '../../../src/clock.ts';
import { startDevcluster } from '../../../src/devcluster/devcluster.ts';
import bootstrap from '../../../src/devcluster/rbac/bootstrap-roles.json' with { type: 'json' };
import { ApiClient } from '../../contract/client.ts';
import { kubeAssets } from '../start/assets.ts';
import { startKube } from '../start/start.ts';

interface Role {
  metadata: { name: string; labels?: object; annotations?: object };
  rules?: { resources?: string[] }[];
}

const assets = kubeAssets();
const group = '/apis/rbac.authorization.k8s.io/v1';
/** Ten seconds together: the controller gathers a moment after its start. */
const attempts = 100;
const retryMs = 100;

describe.skipIf(assets.found === undefined)(
  `the first roles, beside those of a real cluster${assets.found === undefined ? ` (skipped: ${assets.reason})` : ''}`,
  () => {
    const endings: (() => Promise<void>)[] = [];
    let real: ApiClient;
    let embedded: ApiClient;
    beforeAll(async () => {
      const kube = await startKube({ name: 'roles', controllerManager: true });
      const cluster = await startDevcluster({ authorization: 'rbac' });
      real = new ApiClient({ url: kube.url, caPem: kube.caPem, token: kube.adminToken });
      embedded = new ApiClient({ url: cluster.url, caPem: cluster.caPem, token: cluster.adminToken });
      endings.push(
        () => kube.stop(),
        () => cluster.stop(),
        () => real.close(),
        () => embedded.close(),
      );
      await untilGathered(real);
    });
    afterAll(async () => {
      for (const end of endings.reverse()) await end();
    });

    const shown = async (client: ApiClient, path: string) => {
      const { status, json } = await client.request('GET', path);
      const { metadata, ...rest } = json as Role & Record<string, unknown>;
      const { name, labels, annotations } = metadata;
      return { status, name, labels, annotations, ...rest };
    };

    const paths = Object.entries(bootstrap).flatMap(([plural, objects]) =>
      objects.map(({ metadata }) => `${group}/${plural}/${metadata.name}`),
    );
    it.each(paths)('%s', async (path) => {
      expect(await shown(embedded, path)).toEqual(await shown(real, path));
    });
  },
);

/** `admin` gathers `edit`, which gathers `view`, so the pods that `view` may read come last. */
async function untilGathered(client: ApiClient): Promise<void> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const { json } = await client.request('GET', `${group}/clusterroles/admin`);
    const rules = (json as Role).rules ?? [];
    const has = (resource: string) => rules.some(({ resources }) => resources?.includes(resource) === true);
    if (has('pods/log') && has('pods/exec') && has('rolebindings')) return;
    await pause(systemClock, retryMs);
  }
  throw new Error('the real cluster has not gathered the rules of the role "admin"');
}
