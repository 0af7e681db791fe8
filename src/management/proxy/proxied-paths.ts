// Serves the proxied paths of the management server: authenticates the sender, authorizes the request, finds the cluster and
// forwards. In: requests and upgrades below /kubernetes/cluster and /kubernetes/project. Out: the answer of the cluster, or a
// Status of our own.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { CallerLimits } from '../../apiserver/request/caller-limits.ts';
import type { User } from '../../apiserver/request/identity.ts';
import { badRequest, notAuthenticated, StatusFault } from '../../apiserver/request/status-fault.ts';
import type { Beside } from '../../apiserver/server-options.ts';
import { refuseEncodedBody } from '../../apiserver/wire/body-encoding.ts';
import { sendJson, sendStatus } from '../../apiserver/wire/respond.ts';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { forbidden, internalError, pathNotFound, type Status, tooManyRequests } from '../../object/meta/status.ts';
import { managementProtobuf } from '../kinds/schemas.ts';
import { allows, type Credential } from '../scope/allows.ts';
import { classify } from '../scope/classify.ts';
import type { Directory } from '../scope/directory.ts';
import {
  type AccessRequest,
  instanceResource,
  managementGroup,
  namespaceOfProject,
  requestText,
} from '../scope/request.ts';
import { bearerOf } from './bearer.ts';
import { type Client, forward, responseOn } from './forward.ts';
import { impersonationIn } from './headers.ts';
import type { LivePassages } from './live-passages.ts';
import { answerReview, incompleteRules, maxReviewBytes, reviewIn } from './reviews.ts';
import type { StreamEnd } from './session.ts';
import { identityOf } from './upstream-identity.ts';
import { notThere, type ProxiedDestination, placeOf, type Upstreams } from './upstreams.ts';

export interface ProxiedCaller {
  user: User;
  credential: Credential;
  /** Replaces the server's directory: a direct token carries the memberships of its holder in its claims. */
  directory?: Directory;
}

/** A listener on which `/` is the API of one place. */
export interface Entrance {
  /** The path of that place on the management server. */
  base: string;
  /** The holder of the connection's client certificate; undefined = no certificate. Throws a StatusFault for an invalid one. */
  holder(request: IncomingMessage): ProxiedCaller | undefined;
}

/** One request in the audit log. */
export interface ProxyAuditEntry {
  id: string;
  user: User | undefined;
  source: string;
  request: AccessRequest;
  url: string;
}

export interface ProxyAudit {
  begins(entry: ProxyAuditEntry): Promise<void>;
  ends(entry: ProxyAuditEntry, code: number): Promise<void>;
  streamStarts(entry: ProxyAuditEntry): Promise<void>;
  streamEnds(entry: ProxyAuditEntry, end: StreamEnd): Promise<void>;
}

export interface ProxiedPathsOptions {
  /** Undefined = an unknown credential. Throws a StatusFault for a known credential that is not valid now. */
  authenticate(bearer: string, address: string | undefined): Promise<ProxiedCaller | undefined>;
  /** Called when a request is authenticated. */
  proved(socket: Socket, caller: { credential: Credential }): void;
  /** Reviews are read here, and everything else is streamed. */
  limits: Pick<CallerLimits, 'admitBody'>;
  /** Seconds to wait for a source with too many wrong credentials. */
  failedLogin(source: string): number | undefined;
  directory(): Directory;
  upstreams: Pick<Upstreams, 'upstreamOf'>;
  live: LivePassages<User>;
  audit: ProxyAudit;
  clock: Clock;
  log: Log;
}

const proxied = /^\/kubernetes\/(?:cluster|project)(?:[/?]|$)/;
/** Answers of these subresources may begin late and last for days. */
const streamed: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);

type Asked = Extract<ReturnType<typeof classify>, { kind: 'request' }>;

export class ProxiedPaths implements Beside {
  readonly #options: ProxiedPathsOptions;

  constructor(options: ProxiedPathsOptions) {
    this.#options = options;
  }

  isServed(url: string): boolean {
    return proxied.test(url);
  }

  serve(request: IncomingMessage, response: ServerResponse, entrance?: Entrance): void {
    void this.#handle(request, { kind: 'response', response }, entrance);
  }

  /** The socket has a listener for its faults, and no other answer is being sent on it. */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer, entrance?: Entrance): void {
    void this.#handle(request, { kind: 'socket', socket, head }, entrance);
  }

  async #handle(request: IncomingMessage, client: Client, entrance?: Entrance): Promise<void> {
    const { method = 'GET', socket } = request;
    const url = (entrance?.base ?? '') + (request.url ?? '/');
    const classified = classify({ method, url, isUpgrade: request.headers.upgrade !== undefined });
    const entry: ProxyAuditEntry = {
      id: randomUUID(),
      user: undefined,
      source: socket.remoteAddress ?? '',
      request: classified.kind === 'request' ? classified.request : unclear(method, url),
      url: classified.kind === 'request' ? classified.prefix + classified.rest : url,
    };
    try {
      const caller = await this.#caller(request, entrance);
      entry.user = caller.user;
      this.#options.proved(request.socket, caller);
      refuseImpersonation(request);
      refuseEncodedBody(request);
      if (classified.kind === 'bad') throw badRequest(classified.message);
      if (classified.kind === 'notFound') throw new StatusFault(pathNotFound());
      await this.#forward(request, client, { caller, entry, entrance, asked: classified });
    } catch (error) {
      // A refusal that cannot be sent must not end the process.
      await this.#refuse(error, request, client, entry).catch((fault: unknown) => {
        this.#options.log.error({ component: 'management', error: String(fault) }, 'no answer could be sent');
        socket.destroy();
      });
    }
  }

  async #caller(request: IncomingMessage, entrance: Entrance | undefined): Promise<ProxiedCaller> {
    const source = request.socket.remoteAddress ?? '';
    const bearer = bearerOf(request);
    const holder = entrance?.holder(request);
    if (bearer !== undefined && holder !== undefined)
      throw badRequest('send either a client certificate or a token, found both');
    const caller = bearer === undefined ? holder : await this.#options.authenticate(bearer, source);
    if (caller !== undefined) return caller;
    // A request without credentials is not a guess, as on the management API itself.
    if (bearer === undefined && request.headers.authorization === undefined) throw notAuthenticated();
    const seconds = this.#options.failedLogin(source);
    if (seconds === undefined) throw notAuthenticated();
    throw new StatusFault(tooManyRequests('too many requests with wrong credentials come from your address', seconds));
  }

  async #forward(
    request: IncomingMessage,
    client: Client,
    of: { caller: ProxiedCaller; entry: ProxyAuditEntry; entrance: Entrance | undefined; asked: Asked },
  ): Promise<void> {
    const { upstreams, live, audit, clock } = this.#options;
    const { caller, entry, entrance, asked } = of;
    const target = asked.request.target as ProxiedDestination;
    this.#authorize(caller, asked.request, target);
    const directory = this.#directoryOf(caller);
    const review = client.kind === 'response' ? reviewIn(asked.request) : undefined;
    let body: Buffer | undefined;
    if (review === 'access' && client.kind === 'response') {
      const { credential } = caller;
      this.#options.limits.admitBody(credential.keyName, client.response, maxReviewBytes);
      const answer = await answerReview(request, { directory, credential, target, protobuf: managementProtobuf });
      if (answer.kind === 'no')
        return sendJson(client.response, 201, JSON.stringify(answer.review), { 'audit-id': entry.id });
      body = answer.body;
    }
    const upstream = await upstreams.upstreamOf(target);
    const { subject, keyName } = caller.credential;
    live.admit(keyName);
    const passage = forward({
      request,
      client,
      upstream,
      path: asked.rest,
      prefix: entrance === undefined ? asked.prefix : '',
      identity: identityOf(directory, subject, { target, keyName }),
      ...(body === undefined ? {} : { body }),
      ...(review === 'rules' ? { reshape: incompleteRules } : {}),
      isWatch: asked.request.verb === 'watch',
      subresource: asked.request.isResource ? asked.request.subresource : '',
      isStream: isStream(asked.request) || client.kind === 'socket',
      auditId: entry.id,
      clock,
      hooks: {
        begins: () => audit.begins(entry),
        answers: async (code, isOpen) => {
          await audit.ends(entry, code);
          if (isOpen) await audit.streamStarts(entry);
        },
        ended: (end) => audit.streamEnds(entry, end),
      },
    });
    await live.follow(caller.user, keyName, passage, this.#whyNot(caller, asked.request, directory));
  }

  #directoryOf({ directory }: ProxiedCaller): Directory {
    return directory ?? this.#options.directory();
  }

  /** A caller without any right at a place gets 404, so that the answer does not tell whether the place exists. */
  #authorize(caller: ProxiedCaller, request: AccessRequest, target: ProxiedDestination): void {
    const { user, credential } = caller;
    const directory = this.#directoryOf(caller);
    // Nothing is sent to a cluster that was meant for another place, whatever the caller may do there.
    if (placeOf(directory, target) === undefined) throw new StatusFault(notThere(target));
    const decision = allows(directory, credential, request);
    if (decision.allowed) return;
    if (!mayKnow(directory, credential, target)) throw new StatusFault(notThere(target));
    const message = `User "${user.name}" cannot ${requestText(request)}: ${decision.reason}`;
    const about = request.isResource ? { group: request.group, resource: request.resource } : nothing;
    throw new StatusFault(forbidden(about, request.isResource ? request.name : '', message));
  }

  /** Why an open request would not be let through to the same place now. Most looks find no new configuration. */
  #whyNot(caller: ProxiedCaller, request: AccessRequest, opened: Directory): () => Status | undefined {
    const target = request.target as ProxiedDestination;
    const { name, kubeconfig } = placeOf(opened, target) ?? {};
    let seen = opened;
    return () => {
      const directory = this.#directoryOf(caller);
      if (directory === seen) return undefined;
      seen = directory;
      const place = placeOf(directory, target);
      if (place === undefined || place.name !== name || place.kubeconfig !== kubeconfig)
        return forbidden(nothing, '', 'the configuration of the server does not lead to this cluster any more');
      const { allowed } = allows(directory, caller.credential, request);
      return allowed ? undefined : forbidden(nothing, '', 'you may not do this any more');
    };
  }

  async #refuse(error: unknown, request: IncomingMessage, client: Client, entry: ProxyAuditEntry): Promise<void> {
    const { audit, log } = this.#options;
    const status = this.#statusOf(error, entry);
    await audit.ends(entry, status.code ?? 500);
    if (client.kind === 'response' && client.response.headersSent) return void client.response.destroy();
    const response = client.kind === 'response' ? client.response : responseOn(client.socket, request);
    // The rest of the body is not read, so the connection cannot serve another request.
    if (!request.complete) response.setHeader('connection', 'close');
    sendStatus(response, status, { 'audit-id': entry.id });
    if (status.code === 500) log.error({ component: 'management', error: String(error) }, 'request not passed on');
  }

  #statusOf(error: unknown, { url }: ProxyAuditEntry): Status {
    if (error instanceof StatusFault) return error.statusIn('strict');
    const stack = error instanceof Error ? error.stack : undefined;
    this.#options.log.error({ component: 'management', url: url.split('?', 1)[0], stack }, 'request failed');
    return internalError('the request could not be passed on; the log of the server says why');
  }
}

const nothing = { group: '', resource: '' };

function refuseImpersonation({ rawHeaders }: IncomingMessage): void {
  const header = impersonationIn(rawHeaders);
  if (header === undefined) return;
  const why = `this server acts for its own callers only, found the header "${header.slice(0, 60)}"; send the request without it`;
  throw new StatusFault(forbidden({ group: '', resource: 'users' }, '', why));
}

/** Each caller with a right at the place may use its discovery. A viewer has no right there, but may read the instance. */
function mayKnow(directory: Directory, credential: Credential, target: ProxiedDestination): boolean {
  if (allows(directory, credential, { isResource: false, target, verb: 'get', path: '/version' }).allowed) return true;
  if (target.kind !== 'ProjectVirtualCluster') return false;
  const instance = {
    ...{ isResource: true as const, target: { kind: 'Management' as const }, verb: 'get', group: managementGroup },
    ...{ resource: instanceResource, subresource: '', namespace: namespaceOfProject(target.project) },
  };
  return allows(directory, credential, { ...instance, name: target.virtualCluster }).allowed;
}

function isStream(request: AccessRequest): boolean {
  return request.verb === 'watch' || (request.isResource && streamed.has(request.subresource));
}

/** For the audit log: the path of a request that could not be classified. */
function unclear(method: string, url: string): AccessRequest {
  const path = url.split('?', 1)[0] ?? '/';
  return { isResource: false, target: { kind: 'Management' }, verb: method.toLowerCase(), path };
}
