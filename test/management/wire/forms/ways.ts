// The ways to a cluster behind the platform, for a fuzz: with the key or with a direct token through the management server, and with the token, or wrongly
// with the key, at `hostward direct` beside the cluster. What each of them may reach follows from DESIGN-management 4.2.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../../src/clock.ts';
import { silentLog } from '../../../../src/log.ts';
import { DirectEndpoint } from '../../../../src/management/proxy/direct/direct-endpoint.ts';
import type { ManagementApi } from '../../../../src/management/server/server.ts';
import type { MatrixCase, MatrixRequest } from '../../matrix-case.ts';
import { names } from '../../model/cases/configuration-cases.ts';
import type { Dice } from '../../model/dice.ts';
import { until } from '../../server/bench.ts';
import { TlsClient } from '../tls-client.ts';
import type { ServerAddress } from './raw-client.ts';

export const ways = ['key', 'token', 'endpoint', 'key at the endpoint'] as const;
export type Way = (typeof ways)[number];

/** The silence that an endpoint bears is the longest, because each new configuration ends its watch. */
const silence = 300;
const tokensPath = '/kubernetes/management/apis/management.platform/v1/directclusterendpointtokens';

export const asksForToken: MatrixRequest = {
  ...{ target: { kind: 'Management' }, isResource: true, verb: 'create', group: 'management.platform' },
  ...{ resource: 'directclusterendpointtokens', subresource: '', namespace: '', name: '' },
};

export function drawWay(isProxied: boolean, dice: Dice): Way {
  if (!isProxied) return dice.chance(8) ? 'token' : 'key';
  return dice.pick(['key', 'key', 'key', 'key', 'token', 'endpoint', 'endpoint', 'endpoint', 'key at the endpoint']);
}

/** The cluster whose endpoint serves the place; undefined: no endpoint does. */
export function clusterOf({ configuration, request: { target } }: MatrixCase): string | undefined {
  if (target.kind === 'Cluster') return configuration.clusters.find(({ name }) => name === target.cluster)?.name;
  if (target.kind !== 'ProjectSpace') return undefined;
  const project = configuration.projects.find(({ name }) => name === target.project);
  return project?.spaces?.find(({ name }) => name === target.space)?.cluster;
}

/** Nothing is to be had this way, whoever asks. */
export function leadsNowhere(way: Way, of: MatrixCase): boolean {
  // "The management API itself accepts only keys", and "`hostward direct` … accepts only tokens whose audience is its cluster".
  if (way === 'token') return of.request.target.kind === 'Management';
  return way === 'key at the endpoint' || (way === 'endpoint' && clusterOf(of) === undefined);
}

export class Ways {
  readonly #endpoints = new Map<string, DirectEndpoint>();
  readonly #api: ManagementApi;
  readonly #client: TlsClient;

  constructor(api: ManagementApi) {
    this.#api = api;
    this.#client = new TlsClient(api.port, api.caPem);
  }

  /** Starts an endpoint beside each cluster. */
  async open(given: { folder: string; platform: string; kubeconfig: string; clock: Clock }): Promise<void> {
    const { folder, platform, kubeconfig, clock } = given;
    const keyFile = join(folder, 'agent-key');
    const certificateAuthority = join(folder, 'platform-ca.crt');
    const made = await this.#api.createKey({
      metadata: { generateName: 'agent-' },
      spec: { user: 'admin', scope: { roles: [{ role: 'agent' }] } },
    });
    writeFileSync(keyFile, (made['spec'] as { key: string }).key, { mode: 0o600 });
    writeFileSync(certificateAuthority, this.#api.caPem);
    // Where a space lies differs between configurations, so every endpoint serves all of them, and is asked for its own.
    const spaces = names.projects.flatMap((project) =>
      names.spaces.map((name) => ({ project, name, namespace: `${project}-${name}` })),
    );
    for (const cluster of names.clusters) {
      const dataDir = join(folder, `endpoint-${cluster}`);
      const settings = { listen: '127.0.0.1:0', ...{ cluster, kubeconfig, platform, certificateAuthority, keyFile } };
      const endpoint = new DirectEndpoint({
        ...{ settings: { ...settings, silence, spaces, dataDir }, environment: {}, clock, log: silentLog },
        failedLogin: () => undefined,
      });
      this.#endpoints.set(cluster, endpoint);
      await endpoint.start();
      await until(() => endpoint.trouble === undefined, 'the first revocations');
    }
  }

  /** Where a request of this way is sent. */
  addressFor(way: Way, of: MatrixCase): ServerAddress {
    const isDirect = way === 'endpoint' || way === 'key at the endpoint';
    const endpoint = isDirect ? this.#endpoints.get(clusterOf(of) ?? names.clusters[0]) : undefined;
    if (endpoint !== undefined) return { port: endpoint.port, caPem: endpoint.caPem };
    return { port: this.#api.port, caPem: this.#api.caPem, servername: 'localhost' };
  }

  /** A token in the scope of the key, and the status of the answer. */
  async tokenOf(key: string): Promise<{ token: string | undefined; code: number }> {
    const { code, body } = await this.#client.ask(key, { method: 'POST', path: tokensPath, body: { spec: {} } });
    const token = (body as { status?: { token?: string } }).status?.token;
    return { token, code };
  }

  async close(): Promise<void> {
    this.#client.close();
    for (const endpoint of this.#endpoints.values()) await endpoint.stop();
  }
}
