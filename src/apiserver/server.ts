// A Kubernetes-style API server over HTTP or TLS. In: requests, a store, a catalog of kinds, and a tenant's word on who may
// do what. Out: answers, watch streams, a journal of what was asked. Must never know one kind by its name, nor who runs it.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../clock.ts';
import { pause } from '../clock.ts';
import type { Log } from '../log.ts';
import { internalError, type Status, serviceUnavailable, tooManyRequests } from '../object/meta/status.ts';
import type { Store } from '../store/store.ts';
import { AuditTrail, entryOf } from './caller/audit-trail.ts';
import { Indexes } from './caller/kind-index.ts';
import { type OtherPaths, refuseUnknownGroup, ServedPaths, type VersionInfo } from './discovery/serve-path.ts';
import { Catalog } from './kinds/catalog.ts';
import type { Kind, Schemas } from './kinds/kind.ts';
import { type Admission, type Audit, type Kit, type Randomness, systemRandomness } from './kinds/kit.ts';
import type { ProtobufTypes } from './kinds/protobuf-body.ts';
import { answerClientErrors } from './request/client-error.ts';
import { deniedBecause, refuseImpersonation } from './request/denial.ts';
import type { Dialect } from './request/dialect.ts';
import type { Authenticate, Authorize, User } from './request/identity.ts';
import { RequestJournal, recordOf } from './request/request-journal.ts';
import { notAuthenticated, StatusFault } from './request/status-fault.ts';
import { parseTarget, type Target } from './request/target.ts';
import { serveResource } from './serve-resource.ts';
import { CertificateFiles, type CertificatePaths, readPair, type ServingPair } from './tls/certificate-files.ts';
import type { WatchSettings, WatchStream } from './verbs/watch-stream.ts';
import { sendStatus } from './wire/respond.ts';

export interface ApiServerOptions {
  kinds: readonly Kind[];
  schemas: Schemas;
  /** For bodies in protobuf; without it they are refused. */
  protobuf?: ProtobufTypes;
  /** `kubernetes` unless said otherwise. */
  dialect?: Dialect;
  store: Store;
  clock: Clock;
  log: Log;
  authenticate: Authenticate;
  authorize: Authorize;
  admission?: readonly Admission[];
  audit?: Audit;
  randomness?: Randomness;
  /** PEM texts, or files that are read again when they change; without them the server speaks plain HTTP. */
  tls?: ServingPair | { files: CertificatePaths };
  /** Larger headers are answered 431; 64 KiB unless said otherwise. */
  maxHeaderBytes?: number;
  /** Hears of a request from this address that nobody was let in with; seconds to wait answer 429 in place of 401. */
  failedLogin?: (source: string) => number | undefined;
  host: string;
  /** 0 = any free one. */
  port: number;
  /** Stands before every path, e.g. `/kubernetes/management`. */
  pathPrefix?: string;
  version: VersionInfo;
  watch?: Partial<WatchSettings>;
  /** Paths that are no resources and not the kit's own, e.g. `/metrics`. */
  otherPaths?: OtherPaths;
  /** Asked before a request is handled. */
  intercept?: Intercept;
}

/** A fault to be injected, for tests of those who must survive it. */
export type Interception =
  | { kind: 'pass' }
  | { kind: 'delay'; delayMs: number }
  | { kind: 'answer'; status: Status }
  /** The connection ends without an answer; `handled` = the request was carried out all the same. */
  | { kind: 'cut'; handled: boolean };

export type Intercept = (target: Target, request: IncomingMessage) => Interception | Promise<Interception>;

const defaultWatchSettings: WatchSettings = { bookmarkIntervalMs: 60_000, maxWatchMs: 45 * 60_000 };

/** Above the 8 KiB of many proxies and far below what a header could do harm with. */
const defaultHeaderBytes = 64 * 1024;
/** Longer than clients keep an idle connection, so that it is they who close it. */
const keepAliveMs = 120_000;
/** For requests that are being answered when the server is told to stop. */
const stopGraceMs = 2_000;

export class ApiServer {
  readonly journal = new RequestJournal();
  readonly kit: Kit;
  #options: ApiServerOptions;
  #paths: ServedPaths;
  #watchSettings: WatchSettings;
  #server: Server | undefined;
  #watches = new Set<WatchStream>();
  #files: CertificateFiles | undefined;
  #state: 'new' | 'ready' | 'stopping' | 'stopped' = 'new';

  constructor(options: ApiServerOptions) {
    this.#options = options;
    const { version, otherPaths, protobuf, dialect = 'kubernetes' } = options;
    const catalog = new Catalog(options.kinds, options.schemas, { protobuf, dialect });
    this.#paths = new ServedPaths({ catalog, version, otherPaths, state: () => this.#state });
    this.#watchSettings = { ...defaultWatchSettings, ...options.watch };
    const { store, clock, log, randomness = systemRandomness, admission = [] } = options;
    const indexes = new Indexes(store);
    this.kit = { store, catalog, dialect, indexes, clock, log, randomness, admission };
  }

  /** For a listener of the tenant's own beside the one that `start` opens. */
  readonly handler = (request: IncomingMessage, response: ServerResponse): void => void this.#handle(request, response);

  async start(): Promise<void> {
    const { handler } = this;
    const { tls, host, port, maxHeaderBytes = defaultHeaderBytes } = this.#options;
    const settings = { maxHeaderSize: maxHeaderBytes, keepAliveTimeout: keepAliveMs };
    const pair = tls !== undefined && 'files' in tls ? await readPair(tls.files) : tls;
    const server =
      pair === undefined
        ? createServer(settings, handler)
        : createTlsServer({ ...settings, cert: pair.certPem, key: pair.keyPem }, handler);
    answerClientErrors(server, maxHeaderBytes);
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
    if (tls !== undefined && 'files' in tls && pair !== undefined)
      this.#followFiles(tls.files, pair, server as TlsServer);
    this.#state = 'ready';
  }

  #followFiles(paths: CertificatePaths, current: ServingPair, server: TlsServer): void {
    const { clock, log } = this.#options;
    // New connections get the new certificate; those that are open go on.
    const changed = ({ certPem, keyPem }: ServingPair) => server.setSecureContext({ cert: certPem, key: keyPem });
    this.#files = new CertificateFiles({ paths, current, clock, log, changed });
  }

  /** Watches end cleanly, requests in flight get a moment, then every connection is closed. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined || this.#state === 'stopped') return;
    this.#state = 'stopping';
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    this.#files?.stop();
    this.endWatches();
    this.kit.indexes.close();
    server.closeIdleConnections();
    const given = new AbortController();
    await Promise.race([closed, pause(this.#options.clock, stopGraceMs, given.signal)]);
    given.abort();
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

  /** Ends every open watch as a server does that wants its clients to come again. */
  endWatches(): void {
    for (const watch of [...this.#watches]) watch.end();
  }

  /**
   * Ends the watches of some callers with 410, because what they may see has changed: a client that is told so lists again.
   * The tenant's `visibleTo` must know of the change already.
   */
  expireWatches(of: (user: User) => boolean): void {
    for (const watch of [...this.#watches]) if (of(watch.user)) watch.expire();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { clock } = this.#options;
    const startedMs = clock.now();
    const target = parseTarget(this.#methodOf(request), request.url ?? '/', this.#options.pathPrefix);
    const trail = new AuditTrail(this.#options.audit, entryOf(request, target));
    if (this.kit.dialect === 'strict') response.setHeader('audit-id', trail.entry.id);
    try {
      if ((await this.#intercepted(target, request, response)) === 'done') return;
      await this.#serve(target, request, response, trail);
      await trail.ends(response.statusCode);
    } catch (error) {
      await this.#refuse(error, target, response, trail);
    } finally {
      const userAgent = request.headers['user-agent'] ?? '';
      const durationMs = clock.now() - startedMs;
      const user = trail.entry.user?.name ?? '';
      const record = recordOf(target, { user, userAgent, code: response.statusCode, durationMs });
      const isServed = this.kit.catalog.find(target.group, target.version, target.resource) !== undefined;
      this.journal.add(record, { isServed, isAllowed: trail.isAllowed });
    }
  }

  /** In the strict dialect HEAD is a GET whose body stays here. */
  #methodOf({ method = 'GET', url = '' }: IncomingMessage): string {
    const isHead = method === 'HEAD' && this.kit.dialect === 'strict';
    return isHead && !/[?&]watch=/.test(url) && !url.includes('/watch/') ? 'GET' : method;
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
        // The work is done and its answer is lost on the way.
        response.end = ((..._ignored: unknown[]) => response.destroy()) as unknown as typeof response.end;
        return 'go on';
      default:
        return interception satisfies never;
    }
  }

  /** Order: who is it, may they, is there such a thing. Nobody learns what exists before being let in. */
  async #serve(target: Target, request: IncomingMessage, response: ServerResponse, trail: AuditTrail): Promise<void> {
    if (this.#state === 'stopping') throw new StatusFault(serviceUnavailable('the server is stopping'));
    const user = await this.#options.authenticate(request);
    if (user === undefined) throw this.#notLetIn(trail.entry.source);
    trail.entry.user = user;
    refuseImpersonation(request);
    const decision = await this.#options.authorize({ user, target });
    if (!decision.allowed) throw new StatusFault(deniedBecause(user, target, decision.reason));
    trail.isAllowed = true;
    if (!target.isResource) {
      await trail.begins();
      await this.#paths.serve(target, request, response, user);
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
        watching: (begun) => {
          stream = begun;
          this.#watches.add(begun);
        },
      });
    } finally {
      if (stream !== undefined) this.#watches.delete(stream);
    }
  }

  #notLetIn(source: string): StatusFault {
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
    return internalError(error instanceof Error ? error.message : String(error));
  }
}
