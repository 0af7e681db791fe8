// A small cluster in this process: an API server with the core kinds, the first objects, and the two controllers that delete
// namespaces and owned objects. In: a clock, a log, a store. Out: a URL, a CA, kubeconfigs and a journal of all requests.
// Must never know sync: the demo and the tests use this cluster in place of a real one.
import { randomBytes } from 'node:crypto';
import type { Intercept } from '../apiserver/chain/chain.ts';
import { type Kit, type Randomness, systemRandomness } from '../apiserver/kinds/kit.ts';
import { type Chore, GarbageCollector } from '../apiserver/owners/garbage-collector.ts';
import { mastersGroup } from '../apiserver/request/access-rules.ts';
import type { RequestJournal } from '../apiserver/request/request-journal.ts';
import { ApiServer, type ApiServer as Server } from '../apiserver/server.ts';
import { authorityIn } from '../apiserver/tls/authority-folder.ts';
import { makeServingCertificate, type ServingCertificate } from '../apiserver/tls/certificates.ts';
import { kubeconfigText } from '../apiserver/tls/kubeconfig.ts';
import type { WatchSettings } from '../apiserver/verbs/watch/watch-stream.ts';
import { type Clock, systemClock } from '../clock.ts';
import { type Log, silentLog } from '../log.ts';
import { MemoryStore } from '../store/memory-store.ts';
import { SqliteStore } from '../store/sqlite/sqlite-store.ts';
import type { Store } from '../store/store.ts';
import { ClaimChore, NamespaceChore } from './chores.ts';
import { escalationGuard } from './escalation-guard.ts';
import { writeBootstrapRoles, writeFirstObjects } from './first-objects.ts';
import { Access, type AccessUser } from './kinds/access.ts';
import { ClusterAddresses } from './kinds/addresses/cluster-addresses.ts';
import { kindsOf, protobuf, schemas } from './kinds/kinds.ts';
import { namespaceLifecycle } from './namespace-lifecycle.ts';
import { PolicyReader } from './policy-reader.ts';

export interface DevclusterOptions {
  /** Name of the cluster in its kubeconfig and certificate. */
  name?: string;
  /** A memory store (default), a SQLite file, or a store that the caller starts and stops. */
  store?: { kind: 'memory' } | { kind: 'sqlite'; path: string } | { kind: 'given'; store: Store };
  /** Keeps the certificate authority, so that clients still trust the cluster after a restart; absent = a new one each time. */
  authorityFolder?: string;
  /** A certificate that was made before, with the name of the host; absent = a new one. */
  certificate?: ServingCertificate;
  /** 0 = any free port. */
  port?: number;
  host?: string;
  /** Drives bookmarks, time-outs and object ages. */
  clock?: Clock;
  log?: Log;
  randomness?: Randomness;
  adminToken?: string;
  /** PEM text of the authorities of client certificates: common name = user, organisations = groups. */
  clientCa?: string;
  /**
   * `open` (default): members of system:masters may do everything, users have the rules that they were added with, and roles
   * and bindings are data without effect. `rbac`: roles and bindings decide, as in a real cluster.
   */
  authorization?: 'open' | 'rbac';
  users?: readonly AccessUser[];
  watch?: Partial<WatchSettings>;
  intercept?: Intercept;
  /** Of several servers on one store; each would give away the addresses of the others. */
  addresses?: ClusterAddresses;
  /** False = like a bare API server: deleted namespaces keep their contents, and dependents outlive their owners. */
  hasGarbageCollector?: boolean;
}

export interface Devcluster {
  readonly name: string;
  readonly url: string;
  readonly caPem: string;
  readonly adminToken: string;
  /** The administrator's kubeconfig. */
  readonly kubeconfig: string;
  kubeconfigFor(user: string, token: string): string;
  readonly store: Store;
  readonly server: Server;
  /** Counts every answered request. */
  readonly requests: RequestJournal;
  readonly access: Access;
  stop(): Promise<void>;
}

const version = { major: '1', minor: '36', gitVersion: 'v1.36.3+hostward' };

export async function startDevcluster(options: DevclusterOptions = {}): Promise<Devcluster> {
  const { name = 'devcluster', host = '127.0.0.1', port = 0, clock = systemClock, log = silentLog } = options;
  const { store, owned } = openStore(options, clock);
  if (owned) await store.start();
  const policy = options.authorization === 'rbac' ? new PolicyReader(store).policy : undefined;
  const access = new Access(clock, policy);
  const adminToken = options.adminToken ?? newToken();
  access.add({ name: 'admin', groups: [mastersGroup], token: adminToken });
  for (const user of options.users ?? []) access.add(user);
  const addresses = options.addresses ?? new ClusterAddresses();
  const names = [...new Set([host, '127.0.0.1', 'localhost'])];
  const now = clock.wallTime();
  const { authorityFolder } = options;
  const authority = authorityFolder === undefined ? undefined : await authorityIn(authorityFolder, name, now);
  const certificate = options.certificate ?? (await makeServingCertificate(name, names, now, authority));
  const server = new ApiServer({
    serves: {
      ...{ kinds: kindsOf({ access, addresses, newToken }), schemas, protobuf, version },
      ...(options.watch === undefined ? {} : { watch: options.watch }),
    },
    store,
    clock,
    log,
    access: {
      authenticate: ({ request }) => access.authenticate(request),
      authorize: access.authorize,
      allowsImpersonation: true,
      admission: [...(policy === undefined ? [] : [escalationGuard(policy)]), namespaceLifecycle(store)],
    },
    randomness: options.randomness ?? systemRandomness,
    listen: {
      ...{ host, port, tls: certificate },
      ...(options.clientCa === undefined ? {} : { clientCa: options.clientCa }),
    },
    ...(options.intercept === undefined ? {} : { intercept: options.intercept }),
  });
  await server.start();
  await writeFirstObjects(server, addresses, host);
  if (policy !== undefined) await writeBootstrapRoles(server);
  const garbageCollector =
    options.hasGarbageCollector === false ? undefined : new GarbageCollector(server.kit, choresOf(server.kit));
  await garbageCollector?.start();
  const kubeconfigFor = (user: string, token: string) =>
    kubeconfigText({ name, url: server.url, caPem: certificate.caPem, token, user });
  log.info({ url: server.url }, 'devcluster started');
  return {
    name,
    url: server.url,
    caPem: certificate.caPem,
    adminToken,
    kubeconfig: kubeconfigFor('admin', adminToken),
    kubeconfigFor,
    store,
    server,
    requests: server.journal,
    access,
    async stop() {
      await server.stop();
      await garbageCollector?.stop();
      if (owned) await store.stop();
    },
  };
}

function choresOf(kit: Kit): Chore[] {
  return [new NamespaceChore(kit), new ClaimChore(kit)];
}

function openStore(options: DevclusterOptions, clock: Clock): { store: Store; owned: boolean } {
  const choice = options.store ?? { kind: 'memory' };
  switch (choice.kind) {
    case 'memory':
      return { store: new MemoryStore({ clock }), owned: true };
    case 'sqlite':
      return { store: new SqliteStore({ clock, path: choice.path }), owned: true };
    case 'given':
      return { store: choice.store, owned: false };
    default:
      return choice satisfies never;
  }
}

function newToken(): string {
  return randomBytes(24).toString('base64url');
}
