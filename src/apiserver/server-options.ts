// What a tenant gives an API server: what it serves, its store, its listener, and its filters and routes in the chain of requests.
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/store.ts';
import type { Classification, Filters, Intercept, Route } from './chain/chain.ts';
import type { Entrance } from './chain/served-request.ts';
import type { VersionInfo } from './discovery/serve-path.ts';
import type { Kind, Schemas } from './kinds/kind.ts';
import type { Admission, Audit, Randomness } from './kinds/kit.ts';
import type { ObjectLimits } from './kinds/object-limits.ts';
import type { ProtobufTypes } from './kinds/protobuf-body.ts';
import type { UnprovenConnections } from './limits/unproven-connections.ts';
import type { Dialect } from './request/dialect.ts';
import type { Authorize, User } from './request/identity.ts';
import type { CertificatePaths, ServingPair } from './tls/certificate-files.ts';
import type { WatchSettings } from './verbs/watch/watch-stream.ts';

export interface ApiServerOptions {
  serves: ServedApi;
  store: Store;
  clock: Clock;
  log: Log;
  randomness?: Randomness;
  access: AccessHooks;
  /** Limits of callers; absent = none. */
  callers?: CallerHooks;
  listen: ListenAt;
  /** Prefix of every path, e.g. `/kubernetes/management`. */
  pathPrefix?: string;
  /** Replaces the classification of the kit, which knows the prefix and the grammar of API URLs. */
  classify?: (request: IncomingMessage, entrance: Entrance | undefined) => Classification;
  /** Routes of the tenant, tried before those of the kit. */
  routes?: readonly Route[];
  /** Whether an upgrade of this URL is served. Node must know it before it reads a body, so the request is not classified yet. */
  takesUpgrades?: (url: string) => boolean;
  audit?: Audit;
  /** What keeps the server from being ready while it runs; absent = nothing does. */
  readyTrouble?: () => string | undefined;
  /** Called before each request; lets tests inject faults. */
  intercept?: Intercept;
}

export interface ServedApi {
  kinds: readonly Kind[];
  schemas: Schemas;
  /** Message definitions for protobuf bodies; without them the server refuses such bodies. */
  protobuf?: ProtobufTypes;
  /** Default `kubernetes`. */
  dialect?: Dialect;
  /** Default: those of Kubernetes. */
  limits?: ObjectLimits;
  version: VersionInfo;
  watch?: Partial<WatchSettings>;
}

export interface AccessHooks {
  authenticate: Filters['authenticate'];
  authorize: Authorize;
  admission?: readonly Admission[];
  /** Honours Impersonate-* headers of users who have the right; by default such a request is refused. */
  allowsImpersonation?: boolean;
  /** Seals continue tokens; absent = a token counts for every caller, as on the real server. */
  pageSeal?: (user: User, text: string) => string;
}

export interface CallerHooks extends Pick<Filters, 'admit' | 'works' | 'ended' | 'failedLogin'> {
  /** Limits the connections on which nobody has authenticated; the tenant tells it who has. Absent = no limit. */
  unproven?: UnprovenConnections;
}

export interface ListenAt {
  host: string;
  /** 0 = any free port. */
  port: number;
  /** PEM texts, or files that the server reloads when they change; absent = plain HTTP. */
  tls?: ServingPair | { files: CertificatePaths };
  /**
   * PEM text of one or more authorities: the handshake asks for a client certificate of theirs. A client without one, or with
   * another one, is let in; `authenticate` reads the certificate with `certificateHolder` and decides.
   */
  clientCa?: string;
  /** Default 64 KiB; larger headers get 431. */
  maxHeaderBytes?: number;
}
