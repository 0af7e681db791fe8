// A backend of two embedded API servers for the live sync suites.

import type { Interception } from '../../../src/apiserver/chain/chain.ts';
import type { RequestRecord } from '../../../src/apiserver/request/request-journal.ts';
import type { Target } from '../../../src/apiserver/request/target.ts';
import { kubeconfigText } from '../../../src/apiserver/tls/kubeconfig.ts';
import { toStoredText } from '../../../src/apiserver/wire/stored-text.ts';
import { type Devcluster, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import { ApiClient } from '../../contract/client.ts';
import {
  type Right,
  type Side,
  type SyncBackend,
  type SyncServer,
  storedForm,
} from '../../contract/sync-stage/backend.ts';

const user = 'hostward';
const token = 'token-of-the-daemon';

/** Called before each request of every client; `isDaemon` tells the daemon's requests from the others. */
export type Fault = (target: Target, isDaemon: boolean) => Interception;

export interface EmbeddedServer extends SyncServer {
  readonly cluster: Devcluster;
  fault: Fault | undefined;
}

export interface EmbeddedBackend extends SyncBackend {
  readonly virtual: EmbeddedServer;
  readonly host: EmbeddedServer;
}

export async function startEmbeddedBackend(): Promise<EmbeddedBackend> {
  const [virtual, host] = await Promise.all([startServer('virtual'), startServer('host')]);
  return {
    virtual,
    host,
    hasControllers: false,
    controllersAtRest: async () => {},
    async stop() {
      for (const server of [virtual, host]) {
        await server.admin.close();
        await server.asDaemon.close();
        await server.cluster.stop();
      }
    },
  };
}

async function startServer(name: Side): Promise<EmbeddedServer> {
  const state: { fault: Fault | undefined } = { fault: undefined };
  const cluster = await startDevcluster({
    name,
    users: [{ name: user, token }],
    intercept: (target, request) =>
      state.fault?.(target, request.headers.authorization === `Bearer ${token}`) ?? { kind: 'pass' },
  });
  let records: RequestRecord[] = [];
  cluster.requests.subscribe((record) => {
    if (record.user === user) records.push(record);
  });
  return {
    cluster,
    url: cluster.url,
    caPem: cluster.caPem,
    admin: new ApiClient({ url: cluster.url, caPem: cluster.caPem, token: cluster.adminToken }),
    asDaemon: new ApiClient({ url: cluster.url, caPem: cluster.caPem, token }),
    async smuggle(object) {
      const { namespace, name } = object.metadata;
      const key = `/registry/services/endpoints/${namespace}/${name}`;
      await cluster.store.write(key, { expect: undefined, value: toStoredText(storedForm(object)) });
    },
    kubeconfig: (server) =>
      kubeconfigText({ name, token, user, url: server?.url ?? cluster.url, caPem: server?.caPem ?? cluster.caPem }),
    async grant(rights) {
      cluster.access.setRules(user, rights.map(ruleOf));
    },
    requests: async () =>
      records.map(({ verb, resource, namespace, name, code }) => ({ verb, resource, namespace, name, code })),
    async forget() {
      records = [];
    },
    get fault() {
      return state.fault;
    },
    set fault(fault) {
      state.fault = fault;
    },
  };
}

function ruleOf({ group, resources, verbs, namespace }: Right) {
  return { verbs, apiGroups: [group], resources, ...(namespace === undefined ? {} : { namespaces: [namespace] }) };
}
