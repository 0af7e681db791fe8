// What a tenant gives an API server: its kinds, its store, its listener, and its hooks for users, rights and paths of its own.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Status } from '../object/meta/status.ts';
import type { Store } from '../store/store.ts';
import type { OtherPaths, VersionInfo } from './discovery/serve-path.ts';
import type { Kind, Schemas } from './kinds/kind.ts';
import type { Admission, Audit, Randomness } from './kinds/kit.ts';
import type { ObjectLimits } from './kinds/object-limits.ts';
import type { ProtobufTypes } from './kinds/protobuf-body.ts';
import type { Dialect } from './request/dialect.ts';
import type { Authenticate, Authorize, User } from './request/identity.ts';
import type { Strangers } from './request/strangers.ts';
import type { Target } from './request/target.ts';
import type { CertificatePaths, ServingPair } from './tls/certificate-files.ts';
import type { WatchSettings } from './verbs/watch-stream.ts';

export interface ApiServerOptions {
  kinds: readonly Kind[];
  schemas: Schemas;
  /** Message definitions for protobuf bodies; without them the server refuses such bodies. */
  protobuf?: ProtobufTypes;
  /** Default `kubernetes`. */
  dialect?: Dialect;
  /** Default: those of Kubernetes. */
  limits?: ObjectLimits;
  store: Store;
  clock: Clock;
  log: Log;
  authenticate: Authenticate;
  authorize: Authorize;
  admission?: readonly Admission[];
  audit?: Audit;
  randomness?: Randomness;
  /** Seals continue tokens; absent = a token counts for every caller, as on the real server. */
  pageSeal?: (user: User, text: string) => string;
  /** PEM texts, or files that the server reloads when they change; absent = plain HTTP. */
  tls?: ServingPair | { files: CertificatePaths };
  /**
   * PEM text of one or more authorities: the handshake asks for a client certificate of theirs. A client without one, or with
   * another one, is let in; `authenticate` reads the certificate with `certificateHolder` and decides.
   */
  clientCa?: string;
  /** Default 64 KiB; larger headers get 431. */
  maxHeaderBytes?: number;
  /** Limits the connections on which nobody has authenticated; the tenant tells it who has. Absent = no limit. */
  strangers?: Strangers;
  /** Called when a request is authenticated; throws a StatusFault to refuse a caller who holds too much already. */
  admit?: (user: User, target: Target, response: ServerResponse) => Promise<void>;
  /**
   * Called whenever the server goes on with a request of this user after a wait; it goes on when the promise has resolved. begun: a number
   * that grows with each request.
   */
  works?: (user: User, begun: number) => Promise<void> | undefined;
  /** Called when authentication fails; a returned number of seconds makes the answer 429 with Retry-After instead of 401. */
  failedLogin?: (source: string) => number | undefined;
  /** Honours Impersonate-* headers of users who have the right; by default such a request is refused. */
  allowsImpersonation?: boolean;
  host: string;
  /** 0 = any free port. */
  port: number;
  /** Prefix of every path, e.g. `/kubernetes/management`. */
  pathPrefix?: string;
  version: VersionInfo;
  /** What keeps the server from being ready while it runs; absent = nothing does. */
  readyTrouble?: () => string | undefined;
  watch?: Partial<WatchSettings>;
  /** Serves the tenant's own paths outside resources and discovery, e.g. `/metrics`. */
  otherPaths?: OtherPaths;
  /** Serves requests that the tenant recognises by their URL; the kit reads nothing else of them. */
  beside?: Beside;
  /** Called before each request; lets tests inject faults. */
  intercept?: Intercept;
}

/** Paths on the same listener that the tenant serves by itself, with an authentication of its own, upgrades included. */
export interface Beside {
  isServed(url: string): boolean;
  serve(request: IncomingMessage, response: ServerResponse): void;
  /** `head` holds bytes that followed the header lines. */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void;
}

/** A fault that a test injects, to check that clients survive it. */
export type Interception =
  | { kind: 'pass' }
  | { kind: 'delay'; delayMs: number }
  | { kind: 'answer'; status: Status }
  /** The connection ends without an answer; `handled` = the server still carries out the request. */
  | { kind: 'cut'; handled: boolean };

export type Intercept = (target: Target, request: IncomingMessage) => Interception | Promise<Interception>;
