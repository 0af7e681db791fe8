// The one way of a request through a server: classify, authenticate, limits of the caller, impersonate, authorize, then the route
// that serves it; refuse, audit and count in one place. In: requests and upgrades of any listener, the tenant's filters, and a
// table of routes. Out: answers. Must never know what a route does, nor read a URL behind the classification.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Clock, pause } from '../../clock.ts';
import type { Log } from '../../log.ts';
import {
  forbidden,
  internalError,
  type Status,
  serviceUnavailable,
  soonSeconds,
  tooManyRequests,
} from '../../object/meta/status.ts';
import { StoreFault } from '../../store/errors.ts';
import { AuditTrail, entryOf } from '../caller/audit-trail.ts';
import type { Audit } from '../kinds/kit.ts';
import { deniedBecause } from '../request/denial.ts';
import type { Dialect } from '../request/dialect.ts';
import type { Authorize, User } from '../request/identity.ts';
import { type RequestJournal, recordOf } from '../request/request-journal.ts';
import { badRequest, notAuthenticated, StatusFault } from '../request/status-fault.ts';
import { retrySecondsOf, sentenceOf, storeSentence } from '../request/store-sentence.ts';
import { type Target, withSelectedName } from '../request/target.ts';
import { refuseEncodedBody } from '../wire/request-body.ts';
import { sendStatus } from '../wire/respond.ts';
import { UnreadBodies } from '../wire/unread-body.ts';
import { type Client, type Entrance, ServedRequest } from './served-request.ts';

/** What a request is about. A `fault` is answered before anybody looks who sent the request. */
export interface Classification {
  target: Target;
  fault?: Status;
}

/** One row of the table of routes; the first that takes the target serves it. */
export interface Route {
  takes(target: Target): boolean;
  /** The route passes bodies on, under ids of its own: what is left of a body after a refusal is not read. */
  readonly passesOn?: boolean;
  /** Behind authorization. A StatusFault refuses the request. */
  serve(exchange: ServedRequest): Promise<void>;
}

export interface Filters {
  /** The only reader of method and URL. */
  classify(request: IncomingMessage, entrance: Entrance | undefined): Classification;
  /** Undefined = the credentials are wrong, or required and missing: 401. */
  authenticate(exchange: ServedRequest): User | undefined | Promise<User | undefined>;
  /** Called when a credential is wrong; a returned number of seconds makes the answer 429 with Retry-After instead of 401. */
  failedLogin?(source: string): number | undefined;
  /** The limits of the caller: throws a StatusFault to refuse whoever holds too much already. */
  admit?(exchange: ServedRequest & { sender: User }): Promise<void>;
  /** The user that the request runs as; throws a 403. */
  impersonate(exchange: ServedRequest & { sender: User }, target: Target): Promise<User> | User;
  authorize: Authorize;
  /** Called whenever the server goes on with a request after a wait; it goes on when the promise has resolved. */
  works?(user: User, begun: number): Promise<void> | undefined;
  /** Why the credential that the user has shown does not hold any more, asked when a body has come; a client may take minutes to send it. */
  ended?(user: User): Status | undefined;
}

export interface ChainOptions {
  filters: Filters;
  routes: readonly Route[];
  audit: Audit | undefined;
  dialect: Dialect;
  /** Why no request is served; undefined = they are. */
  isClosed(): string | undefined;
  journal?: RequestJournal;
  /** Whether the target exists here. The journal does not keep made-up names of resources. */
  isServed?(target: Target): boolean;
  intercept?: Intercept | undefined;
  clock: Clock;
  log: Log;
}

/** A fault that a test injects, to check that clients survive it. */
export type Interception =
  | { kind: 'pass' }
  | { kind: 'delay'; delayMs: number }
  | { kind: 'answer'; status: Status }
  /** The connection ends without an answer; `handled` = the server still carries out the request. */
  | { kind: 'cut'; handled: boolean };

export type Intercept = (target: Target, request: IncomingMessage) => Interception | Promise<Interception>;

export class Chain {
  readonly #options: ChainOptions;
  readonly #unread: UnreadBodies;
  /** Grows with each request that has got past the limits of its caller. */
  #begun = 0;

  constructor(options: ChainOptions) {
    this.#options = options;
    this.#unread = new UnreadBodies(options.clock);
  }

  /** Never rejects. */
  async handle(request: IncomingMessage, client: Client, entrance?: Entrance): Promise<void> {
    const { filters, routes, audit, clock, log } = this.#options;
    const startedMs = clock.now();
    const { target, fault } = filters.classify(request, entrance);
    const route = routes.find((one) => one.takes(target));
    const entry = entryOf(request, target);
    // Somebody else's id would be in the audit log of another server too.
    const trail = new AuditTrail(audit, route?.passesOn === true ? { ...entry, id: randomUUID() } : entry);
    const exchange = new ServedRequest({ request, client, entrance, target, trail });
    this.#head(exchange, route);
    try {
      refuseSecondHost(request);
      if (fault !== undefined) throw new StatusFault(fault);
      if ((await this.#intercepted(exchange)) === 'go on') {
        await this.#pass(exchange, route);
        if (client.kind === 'response') await trail.ends(client.response.statusCode);
      }
    } catch (error) {
      // A refusal that cannot be sent must not end the process.
      await this.#refuse(error, exchange, route).catch((failure: unknown) => {
        log.error({ path: target.path, error: String(failure) }, 'no answer could be sent');
        request.socket.destroy();
      });
    } finally {
      if (route?.passesOn !== true) this.#unread.bound(request);
      this.#count(exchange, clock.now() - startedMs);
    }
  }

  /** The order of the filters. A 404 before a 403 would tell strangers what exists, and a limit behind the work would limit nothing. */
  async #pass(exchange: ServedRequest, route: Route | undefined): Promise<void> {
    const { filters, dialect, isClosed } = this.#options;
    const closed = isClosed();
    if (closed !== undefined) {
      // Behind a balancer of connections another replica takes the next one, and nothing was done here.
      exchange.response.setHeader('connection', 'close');
      throw new StatusFault(serviceUnavailable(closed, soonSeconds));
    }
    const proved = await this.#authenticated(exchange);
    await filters.admit?.(proved);
    const begun = ++this.#begun;
    const { works, ended } = filters;
    exchange.works = works && (() => works(proved.sender, begun));
    exchange.ended = ended && (() => ended(proved.sender));
    refuseEncodedBody(exchange.request);
    const target = dialect === 'kubernetes' ? withSelectedName(exchange.target) : exchange.target;
    const user = await filters.impersonate(proved, target);
    exchange.user = user;
    if (user !== proved.sender) exchange.trail.entry.impersonatedUser = user;
    const decision = await filters.authorize({ user, target });
    if (!decision.allowed) throw new StatusFault(deniedBecause(user, target, decision.reason));
    exchange.trail.isAllowed = true;
    if (route === undefined) throw new Error('serve a request: want a route for every target');
    await route.serve(exchange);
  }

  async #authenticated(exchange: ServedRequest): Promise<ServedRequest & { sender: User }> {
    const { filters } = this.#options;
    const sender = await filters.authenticate(exchange);
    // A request without credentials is not a guess, so it does not count as a failed login.
    if (sender === undefined)
      throw exchange.request.headers.authorization === undefined
        ? notAuthenticated()
        : wrongCredentials(exchange.trail.entry.source, filters.failedLogin);
    exchange.sender = sender;
    exchange.trail.entry.user = sender;
    return exchange as ServedRequest & { sender: User };
  }

  #head({ client, trail, request }: ServedRequest, route: Route | undefined): void {
    if (client.kind !== 'response' || route?.passesOn === true) return;
    // The server reads no bytes after a request for another protocol, so the client must not wait for another answer.
    if (request.headers.upgrade !== undefined) client.response.shouldKeepAlive = false;
    if (this.#options.dialect === 'strict') client.response.setHeader('audit-id', trail.entry.id);
  }

  async #intercepted({ target, request, client }: ServedRequest): Promise<'done' | 'go on'> {
    const { intercept, clock } = this.#options;
    if (intercept === undefined || client.kind !== 'response') return 'go on';
    const { response } = client;
    const interception = await intercept(target, request);
    switch (interception.kind) {
      case 'pass':
        return 'go on';
      case 'delay':
        await pause(clock, interception.delayMs);
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

  async #refuse(error: unknown, exchange: ServedRequest, route: Route | undefined): Promise<void> {
    const { trail, target, client, request } = exchange;
    const status = this.#statusOf(error, target);
    try {
      await trail.ends(status.code ?? 500);
    } catch (fault) {
      this.#options.log.error({ path: target.path, error: String(fault) }, 'audit failed');
    }
    if (client.kind === 'response' && client.response.headersSent) return void client.response.destroy();
    const { response } = exchange;
    if (route?.passesOn !== true) return sendStatus(response, status);
    // The rest of the body is nobody's, so the connection cannot serve another request.
    if (!request.complete) response.setHeader('connection', 'close');
    this.#unread.bound(request);
    sendStatus(response, status, { 'audit-id': trail.entry.id });
  }

  #statusOf(error: unknown, { path, verb }: Target): Status {
    const { dialect, log } = this.#options;
    if (error instanceof StatusFault) return error.statusIn(dialect);
    const stack = error instanceof Error ? error.stack : undefined;
    log.error({ path, verb, error: String(error), stack }, 'request failed');
    if (error instanceof StoreFault && error.code === 'STORE_FULL')
      return forbidden({ group: '', resource: '' }, '', `${error.message}: ${storeSentence(error.code)}`);
    if (error instanceof StoreFault) return serviceUnavailable(sentenceOf(error), retrySecondsOf(error.code));
    return internalError(error instanceof Error ? error.message : String(error));
  }

  #count({ request, client, target, trail }: ServedRequest, durationMs: number): void {
    const { journal, isServed } = this.#options;
    if (journal === undefined || client.kind !== 'response') return;
    const userAgent = request.headers['user-agent'] ?? '';
    const { user, impersonatedUser } = trail.entry;
    const actor = impersonatedUser === undefined ? {} : { impersonatedUser: impersonatedUser.name };
    const code = client.response.statusCode;
    const record = recordOf(target, { user: user?.name ?? '', ...actor, userAgent, code, durationMs });
    journal.add(record, { isServed: isServed?.(target) === true, isAllowed: trail.isAllowed });
  }
}

/** Node keeps the first, and something in front of us may have read another. */
function refuseSecondHost({ rawHeaders }: IncomingMessage): void {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === 4 && rawHeaders[at]?.toLowerCase() === 'host') hosts++;
  if (hosts > 1) throw badRequest('send one header Host, found several');
}

/** The answer to a wrong credential: 401, or 429 for a source that sends too many of them. */
export function wrongCredentials(source: string, failedLogin: Filters['failedLogin']): StatusFault {
  const seconds = failedLogin?.(source);
  if (seconds === undefined) return notAuthenticated();
  return new StatusFault(tooManyRequests('too many requests with wrong credentials come from your address', seconds));
}
