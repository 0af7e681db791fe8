// A Kubernetes-style API server over HTTP or TLS: a listener, the chain of requests, and the routes of the kit: verbs and paths.
// In: requests, a store, kinds, and the tenant's hooks for users and rights. Out: answers, watch streams, a request journal.
// Must never know a kind by its name, nor which tenant (management API or embedded cluster) runs the server.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pause } from '../clock.ts';
import type { Status } from '../object/meta/status.ts';
import { KindIndexes } from './caller/kind-index.ts';
import { changedView } from './caller/visibility.ts';
import { Chain, type Classification, type Route } from './chain/chain.ts';
import { makeListener } from './chain/listener.ts';
import type { Client, Entrance, ServedRequest } from './chain/served-request.ts';
import { refuseUnknownGroup, ServedPaths } from './discovery/serve-path.ts';
import { Catalog } from './kinds/catalog.ts';
import type { Kind } from './kinds/kind.ts';
import { type Kit, systemRandomness } from './kinds/kit.ts';
import { kubernetesLimits } from './kinds/object-limits.ts';
import { closeConnections } from './limits/last-bytes.ts';
import { Places } from './limits/places.ts';
import type { User } from './request/identity.ts';
import { Impersonation } from './request/impersonation-modes.ts';
import { RequestJournal } from './request/request-journal.ts';
import { methodOf, parseTarget } from './request/target.ts';
import { serveResource } from './serve-resource.ts';
import type { ApiServerOptions } from './server-options.ts';
import { CertificateFiles, type CertificatePaths, readPair, type ServingPair } from './tls/certificate-files.ts';
import { certificateRequest } from './tls/client-certificate.ts';
import { mostBeginning } from './verbs/read-objects.ts';
import type { WatchSettings, WatchStream } from './verbs/watch/watch-stream.ts';
import { listen } from './wire/listen.ts';

const defaultWatchSettings: WatchSettings = { bookmarkIntervalMs: 60_000, maxWatchMs: 45 * 60_000 };

/** More than the 8 KiB limit of many proxies, and small enough that a thousand connections cost 64 MiB. */
const defaultHeaderBytes = 64 * 1024;
/** Time for requests in flight to finish when the server stops. */
const stopGraceMs = 2_000;

export class ApiServer {
  readonly journal = new RequestJournal();
  readonly kit: Kit;
  readonly #options: ApiServerOptions;
  readonly #chain: Chain;
  readonly #paths: ServedPaths;
  readonly #watchSettings: WatchSettings;
  readonly #watches = new Set<WatchStream>();
  #server: Server | undefined;
  #files: CertificateFiles | undefined;
  #state: 'new' | 'ready' | 'stopping' | 'stopped' = 'new';

  constructor(options: ApiServerOptions) {
    this.#options = options;
    const { serves, access, store, clock, log, readyTrouble, randomness = systemRandomness, pathPrefix = '' } = options;
    const { version, protobuf, dialect = 'kubernetes', limits = kubernetesLimits } = serves;
    const catalog = new Catalog(serves.kinds, serves.schemas, { protobuf, dialect });
    const [now, state] = [() => clock.wallTime(), () => this.#state];
    this.#paths = new ServedPaths({ catalog, version, pathPrefix, now, state, readyTrouble });
    this.#watchSettings = { ...defaultWatchSettings, ...serves.watch };
    const { admission = [], pageSeal } = access;
    const indexes = new KindIndexes(store);
    const lists = new Places(mostBeginning);
    this.kit = { store, catalog, dialect, limits, indexes, lists, clock, log, randomness, admission, pageSeal };
    this.#chain = this.#chainOf(options);
  }

  #chainOf({
    access,
    callers,
    routes = [],
    audit,
    intercept,
    clock,
    log,
    classify,
    ...options
  }: ApiServerOptions): Chain {
    const { catalog, dialect } = this.kit;
    const { authenticate, authorize, allowsImpersonation = false } = access;
    const impersonation = new Impersonation({ authorize, isOn: allowsImpersonation });
    const plain = (request: IncomingMessage): Classification => ({
      target: parseTarget(methodOf(request, dialect), request.url ?? '/', options.pathPrefix),
    });
    return new Chain({
      filters: {
        classify: classify ?? plain,
        authenticate,
        impersonate: ({ sender, request }, target) => impersonation.actor({ sender, target, request }),
        authorize,
        ...callers,
      },
      routes: [...routes, this.#resources, this.#otherPaths],
      isClosed: () => (this.#state === 'stopping' ? 'the server is stopping' : undefined),
      isServed: ({ group, version, resource }) => catalog.find(group, version, resource) !== undefined,
      journal: this.journal,
      ...{ audit, dialect, intercept, clock, log },
    });
  }

  readonly #resources: Route = {
    takes: ({ isResource }) => isResource,
    serve: (exchange) => this.#serveResource(exchange),
  };

  readonly #otherPaths: Route = {
    takes: () => true,
    serve: async (exchange) => {
      await exchange.begins();
      this.#paths.serve(exchange.target, exchange.request, exchange.response);
    },
  };

  async #serveResource(exchange: ServedRequest): Promise<void> {
    const { target, response } = exchange;
    const { catalog } = this.kit;
    if (!catalog.hasGroup(target.group)) return refuseUnknownGroup(catalog, target.path, response);
    let stream: WatchStream | undefined;
    const watching = (begun: WatchStream) => {
      stream = begun;
      this.#watches.add(begun);
    };
    try {
      await serveResource({ kit: this.kit, exchange, watchSettings: this.#watchSettings, watching });
    } finally {
      if (stream !== undefined) this.#watches.delete(stream);
    }
  }

  /** For a listener of the tenant's own in addition to the one that `start` opens. */
  handle(request: IncomingMessage, client: Client, entrance?: Entrance): void {
    void this.#chain.handle(request, client, entrance);
  }

  readonly handler = (request: IncomingMessage, response: ServerResponse): void =>
    this.handle(request, { kind: 'response', response });

  async start(): Promise<void> {
    const { callers, takesUpgrades = () => false, clock, log } = this.#options;
    const { tls, host, port, clientCa, maxHeaderBytes = defaultHeaderBytes } = this.#options.listen;
    const pair = tls !== undefined && 'files' in tls ? await readPair(tls.files) : tls;
    const server = makeListener({
      tls: pair && { ...certificateRequest(clientCa), cert: pair.certPem, key: pair.keyPem },
      unproven: callers?.unproven,
      handle: (request, client) => this.handle(request, client),
      ...{ maxHeaderBytes, clock, takesUpgrades },
    });
    this.#server = server;
    await listen(server, { port, host }, log);
    if (tls !== undefined && 'files' in tls && pair !== undefined)
      this.#followFiles(tls.files, pair, server as TlsServer);
    this.#state = 'ready';
  }

  #followFiles(paths: CertificatePaths, current: ServingPair, server: TlsServer): void {
    const { clock, log } = this.#options;
    const clients = certificateRequest(this.#options.listen.clientCa);
    // Only new connections use the new certificate; open connections continue.
    const changed = ({ certPem, keyPem }: ServingPair) =>
      server.setSecureContext({ ...clients, cert: certPem, key: keyPem });
    this.#files = new CertificateFiles({ paths, current, clock, log, changed });
  }

  /** Ends watches cleanly first, since server.close() would wait for them; then waits stopGraceMs for requests in flight. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined || this.#state === 'stopped') return;
    this.#state = 'stopping';
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    this.#files?.stop();
    this.endWatches();
    this.kit.indexes.close();
    server.closeIdleConnections();
    const grace = new AbortController();
    await Promise.race([closed, pause(this.#options.clock, stopGraceMs, grace.signal)]);
    grace.abort();
    await closeConnections(server, closed, this.#options.clock);
    this.#state = 'stopped';
  }

  get port(): number {
    return (this.#server?.address() as AddressInfo | null)?.port ?? this.#options.listen.port;
  }

  get url(): string {
    const { tls, host } = this.#options.listen;
    const scheme = tls === undefined ? 'http' : 'https';
    return `${scheme}://${host}:${this.port}${this.#options.pathPrefix ?? ''}`;
  }

  get watchCount(): number {
    return this.#watches.size;
  }

  /** Ends every open watch cleanly, so that clients watch again. */
  endWatches(): void {
    for (const watch of [...this.#watches]) watch.end();
  }

  /**
   * Ends watches with an ERROR event; undefined = the watch goes on. Whose rights have changed gets 410 and lists again: the
   * tenant's `visibleTo` must already return the new visibility, or the new lists would show the old view.
   */
  endWatchesWhere(why: (user: User, kind: Kind) => Status | undefined): void {
    for (const watch of [...this.#watches]) {
      const because = why(watch.user, watch.kind);
      if (because !== undefined) watch.endBecause(because.code === 403 ? changedView : because);
    }
  }
}
