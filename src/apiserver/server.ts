// A Kubernetes-style API server over HTTP or TLS: authenticates, authorizes, routes, answers, audits and counts requests.
// In: requests, a store, kinds, and the tenant's hooks for users and rights. Out: answers, watch streams, a request journal.
// Must never know a kind by its name, nor which tenant (management API or embedded cluster) runs the server.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pause } from '../clock.ts';
import { internalError, type Status, serviceUnavailable, tooManyRequests } from '../object/meta/status.ts';
import { StoreFault } from '../store/errors.ts';
import { AuditTrail, entryOf } from './caller/audit-trail.ts';
import { Indexes } from './caller/kind-index.ts';
import { refuseUnknownGroup, ServedPaths } from './discovery/serve-path.ts';
import { Catalog } from './kinds/catalog.ts';
import type { Kind } from './kinds/kind.ts';
import { type Kit, systemRandomness } from './kinds/kit.ts';
import { kubernetesLimits } from './kinds/object-limits.ts';
import { acceptUpgrades, answerClientErrors } from './request/client-error.ts';
import { deniedBecause } from './request/denial.ts';
import type { User } from './request/identity.ts';
import { Impersonation } from './request/impersonation-modes.ts';
import { RequestJournal, recordOf } from './request/request-journal.ts';
import { notAuthenticated, StatusFault } from './request/status-fault.ts';
import { storeSentence } from './request/store-sentence.ts';
import { handshakeTimeout, slowHeads } from './request/strangers.ts';
import { methodOf, parseTarget, type Target, withSelectedName } from './request/target.ts';
import { serveResource } from './serve-resource.ts';
import type { ApiServerOptions } from './server-options.ts';
import { CertificateFiles, type CertificatePaths, readPair, type ServingPair } from './tls/certificate-files.ts';
import { certificateRequest } from './tls/client-certificate.ts';
import type { WatchSettings, WatchStream } from './verbs/watch-stream.ts';
import { refuseEncodedBody } from './wire/body-encoding.ts';
import { listen } from './wire/listen.ts';
import { sendStatus } from './wire/respond.ts';
import { boundUnreadBody } from './wire/unread-body.ts';

const defaultWatchSettings: WatchSettings = { bookmarkIntervalMs: 60_000, maxWatchMs: 45 * 60_000 };

/** More than the 8 KiB limit of many proxies, and small enough that a thousand connections cost 64 MiB. */
const defaultHeaderBytes = 64 * 1024;
/** Longer than clients keep idle connections: if the server closed first, a request could meet a closing connection. */
const keepAliveMs = 120_000;
/** Time for requests in flight to finish when the server stops. */
const stopGraceMs = 2_000;

export class ApiServer {
  readonly journal = new RequestJournal();
  readonly kit: Kit;
  #options: ApiServerOptions;
  #paths: ServedPaths;
  #watchSettings: WatchSettings;
  #server: Server | undefined;
  #begun = 0;
  #watches = new Set<WatchStream>();
  #impersonation: Impersonation;
  #files: CertificateFiles | undefined;
  #state: 'new' | 'ready' | 'stopping' | 'stopped' = 'new';

  constructor(options: ApiServerOptions) {
    this.#options = options;
    const { version, otherPaths, protobuf, dialect = 'kubernetes' } = options;
    const catalog = new Catalog(options.kinds, options.schemas, { protobuf, dialect });
    this.#paths = new ServedPaths({
      catalog,
      version,
      otherPaths,
      pathPrefix: options.pathPrefix ?? '',
      now: () => options.clock.wallTime(),
      state: () => this.#state,
      readyTrouble: options.readyTrouble,
    });
    this.#impersonation = new Impersonation({
      authorize: options.authorize,
      isOn: options.allowsImpersonation === true,
    });
    this.#watchSettings = { ...defaultWatchSettings, ...options.watch };
    const { store, clock, log, randomness = systemRandomness, admission = [], pageSeal } = options;
    const { limits = kubernetesLimits } = options;
    const indexes = new Indexes(store);
    this.kit = { store, catalog, dialect, limits, indexes, clock, log, randomness, admission, pageSeal };
  }

  /** For a listener of the tenant's own beside the one that `start` opens. */
  readonly handler = (request: IncomingMessage, response: ServerResponse): void => void this.#handle(request, response);

  async start(): Promise<void> {
    const { tls, host, port, beside, maxHeaderBytes = defaultHeaderBytes } = this.#options;
    const clients = { ...certificateRequest(this.#options.clientCa), handshakeTimeout };
    const settings = {
      maxHeaderSize: maxHeaderBytes,
      keepAliveTimeout: keepAliveMs,
      ...slowHeads,
      // Everywhere else a wish to change the protocol is ignored, as HTTP allows.
      shouldUpgradeCallback: ({ url = '/' }: IncomingMessage) => beside?.isServed(url) === true,
    };
    const handler = (request: IncomingMessage, response: ServerResponse) => {
      if (beside?.isServed(request.url ?? '/') === true) beside.serve(request, response);
      else this.handler(request, response);
    };
    const pair = tls !== undefined && 'files' in tls ? await readPair(tls.files) : tls;
    const server =
      pair === undefined
        ? createServer(settings, handler)
        : createTlsServer({ ...settings, ...clients, cert: pair.certPem, key: pair.keyPem }, handler);
    answerClientErrors(server, maxHeaderBytes);
    this.#options.strangers?.guard(server, { isTls: pair !== undefined });
    if (beside !== undefined) acceptUpgrades(server, (request, socket, head) => beside.upgrade(request, socket, head));
    this.#server = server;
    await listen(server, { port, host }, this.#options.log);
    if (tls !== undefined && 'files' in tls && pair !== undefined)
      this.#followFiles(tls.files, pair, server as TlsServer);
    this.#state = 'ready';
  }

  #followFiles(paths: CertificatePaths, current: ServingPair, server: TlsServer): void {
    const { clock, log } = this.#options;
    const clients = certificateRequest(this.#options.clientCa);
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
    server.closeAllConnections();
    await closed;
    this.#state = 'stopped';
  }

  get port(): number {
    return (this.#server?.address() as AddressInfo | null)?.port ?? this.#options.port;
  }

  get url(): string {
    const scheme = this.#options.tls === undefined ? 'http' : 'https';
    return `${scheme}://${this.#options.host}:${this.port}${this.#options.pathPrefix ?? ''}`;
  }

  get watchCount(): number {
    return this.#watches.size;
  }

  /** Ends every open watch cleanly, so that clients watch again. */
  endWatches(): void {
    for (const watch of [...this.#watches]) watch.end();
  }

  /**
   * Ends the selected watches with 410 after the visibility of their users has changed, so that these clients list again. The
   * tenant's `visibleTo` must already return the new visibility, or the new lists would show the old view.
   */
  expireWatches(isAffected: (user: User, kind: Kind) => boolean): void {
    for (const watch of [...this.#watches]) if (isAffected(watch.user, watch.kind)) watch.expire();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The server reads no bytes after a request for another protocol, so the client must not wait for another answer.
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    const { clock } = this.#options;
    const startedMs = clock.now();
    const target = parseTarget(methodOf(request, this.kit.dialect), request.url ?? '/', this.#options.pathPrefix);
    const trail = new AuditTrail(this.#options.audit, entryOf(request, target));
    if (this.kit.dialect === 'strict') response.setHeader('audit-id', trail.entry.id);
    try {
      if ((await this.#intercepted(target, request, response)) === 'done') return;
      await this.#serve(target, request, response, trail);
      await trail.ends(response.statusCode);
    } catch (error) {
      await this.#refuse(error, target, response, trail);
    } finally {
      boundUnreadBody(request, clock);
      const userAgent = request.headers['user-agent'] ?? '';
      const durationMs = clock.now() - startedMs;
      const { user, impersonatedUser } = trail.entry;
      const actor = impersonatedUser === undefined ? {} : { impersonatedUser: impersonatedUser.name };
      const answered = { user: user?.name ?? '', ...actor, userAgent, code: response.statusCode, durationMs };
      const record = recordOf(target, answered);
      const isServed = this.kit.catalog.find(target.group, target.version, target.resource) !== undefined;
      this.journal.add(record, { isServed, isAllowed: trail.isAllowed });
    }
  }

  async #intercepted(target: Target, request: IncomingMessage, response: ServerResponse): Promise<'done' | 'go on'> {
    if (this.#options.intercept === undefined) return 'go on';
    const interception = await this.#options.intercept(target, request);
    switch (interception.kind) {
      case 'pass':
        return 'go on';
      case 'delay':
        await pause(this.#options.clock, interception.delayMs);
        return 'go on';
      case 'answer':
        request.resume();
        sendStatus(response, interception.status);
        return 'done';
      case 'cut':
        if (!interception.handled) {
          response.destroy();
          return 'done';
        }
        // The request is carried out, and the connection breaks before the answer.
        response.end = ((..._ignored: unknown[]) => response.destroy()) as unknown as typeof response.end;
        return 'go on';
      default:
        return interception satisfies never;
    }
  }

  /** Order: authenticate, authorize, then look up the resource. A 404 before a 403 would tell strangers which resources exist. */
  async #serve(target: Target, request: IncomingMessage, response: ServerResponse, trail: AuditTrail): Promise<void> {
    if (this.#state === 'stopping') throw new StatusFault(serviceUnavailable('the server is stopping'));
    const sender = await this.#options.authenticate(request);
    if (sender === undefined) throw this.#authenticationFault(request, trail.entry.source);
    trail.entry.user = sender;
    await this.#options.admit?.(sender, target, response);
    const begun = ++this.#begun;
    refuseEncodedBody(request);
    const asked = this.kit.dialect === 'kubernetes' ? withSelectedName(target) : target;
    const user = await this.#impersonation.actor({ sender, target: asked, request });
    if (user !== sender) trail.entry.impersonatedUser = user;
    const decision = await this.#options.authorize({ user, target: asked });
    if (!decision.allowed) throw new StatusFault(deniedBecause(user, asked, decision.reason));
    trail.isAllowed = true;
    if (!target.isResource) {
      await trail.begins();
      await this.#options.works?.(sender, begun);
      await this.#paths.serve(target, request, response, user, trail);
      return;
    }
    if (!this.kit.catalog.hasGroup(target.group)) {
      refuseUnknownGroup(this.kit.catalog, target.path, response);
      return;
    }
    let stream: WatchStream | undefined;
    try {
      await serveResource({
        kit: this.kit,
        target,
        user,
        request,
        response,
        watchSettings: this.#watchSettings,
        trail,
        works: this.#options.works && (() => this.#options.works?.(sender, begun)),
        watching: (begun) => {
          stream = begun;
          this.#watches.add(begun);
        },
      });
    } finally {
      if (stream !== undefined) this.#watches.delete(stream);
    }
  }

  #authenticationFault({ headers }: IncomingMessage, source: string): StatusFault {
    // A request without credentials is not a guess, so it does not count as a failed login.
    if (headers.authorization === undefined) return notAuthenticated();
    const seconds = this.#options.failedLogin?.(source);
    if (seconds === undefined) return notAuthenticated();
    return new StatusFault(tooManyRequests('too many requests with wrong credentials come from your address', seconds));
  }

  async #refuse(error: unknown, target: Target, response: ServerResponse, trail: AuditTrail): Promise<void> {
    const status = this.#statusOf(error, target);
    try {
      await trail.ends(status.code ?? 500);
    } catch (fault) {
      this.kit.log.error({ path: target.path, error: String(fault) }, 'audit failed');
    }
    if (response.headersSent) response.destroy();
    else sendStatus(response, status);
  }

  #statusOf(error: unknown, target: Target): Status {
    if (error instanceof StatusFault) return error.statusIn(this.kit.dialect);
    this.kit.log.error(
      {
        path: target.path,
        verb: target.verb,
        error: String(error),
        stack: error instanceof Error ? error.stack : undefined,
      },
      'request failed',
    );
    if (error instanceof StoreFault) return serviceUnavailable(storeSentence(error.code));
    return internalError(error instanceof Error ? error.message : String(error));
  }
}
