// The route of requests to the clusters behind this server, on the management server, its ingress and a direct endpoint. In: requests
// whose sender is proved. Out: a decision about place and rights; behind it the answer of the cluster, or a Status of our own.

import type { Route } from '../../apiserver/chain/chain.ts';
import type { ServedRequest } from '../../apiserver/chain/served-request.ts';
import type { Attributes, Decision, User } from '../../apiserver/request/identity.ts';
import { StatusFault } from '../../apiserver/request/status-fault.ts';
import type { Target } from '../../apiserver/request/target.ts';
import { sendJson } from '../../apiserver/wire/respond.ts';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { forbidden, internalError, type Status } from '../../object/meta/status.ts';
import { allows, type Credential } from '../scope/allows.ts';
import { isProxiedUrl, type Proxied, proxiedIn } from '../scope/classify.ts';
import type { Directory } from '../scope/directory.ts';
import {
  type AccessRequest,
  instanceResource,
  managementGroup,
  namespaceOfProject,
  requestText,
} from '../scope/request.ts';
import { forward, type ProxiedStream } from './forward/forward.ts';
import type { PassedBytes } from './forward/passed-bytes.ts';
import { SlowAnswers } from './forward/slow-answers.ts';
import { identityOf } from './forward/upstream-identity.ts';
import type { LiveStreams } from './live-streams.ts';
import { answerReview, incompleteRules, reviewIn } from './reviews.ts';
import { creditedTo } from './sender.ts';
import { notThere, type ProxiedDestination, placeOf, type Upstreams } from './upstreams.ts';

export interface ProxiedCaller {
  credential: Credential;
  /** Replaces the server's directory: a direct token carries the memberships of its holder in its claims. */
  directory?: Directory;
}

export interface ProxyRouteOptions {
  callerOf(user: User): ProxiedCaller | undefined;
  directory(): Directory;
  upstreams: Pick<Upstreams, 'upstreamOf'>;
  live: LiveStreams<User>;
  passed: PassedBytes;
  clock: Clock;
  log: Log;
}

/** Answers of these subresources may begin late and last for days. */
const streamed: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);

/** Of each cluster. */
const sayEveryMs = 10_000;

interface Passing extends ProxiedCaller {
  user: User;
  proxied: Proxied;
  target: ProxiedDestination;
  /** The directory at the time of the request. */
  directory: Directory;
}

export class ProxyRoute implements Route {
  readonly passesOn = true;
  readonly #options: ProxyRouteOptions;
  readonly #slow: SlowAnswers;
  /** When the log has said last that a cluster misbehaves. */
  readonly #saidMs = new Map<string, number>();

  constructor(options: ProxyRouteOptions) {
    this.#options = options;
    this.#slow = new SlowAnswers(options.clock);
  }

  /** Whether an upgrade of this URL is served. */
  readonly takesUrl = isProxiedUrl;

  takes(target: Target): boolean {
    return proxiedIn(target) !== undefined;
  }

  /** A caller without any right at a place gets 404, so that the answer does not tell whether the place exists. */
  authorize({ user, target: asked }: Attributes): Decision {
    const { directory, credential, target, proxied } = this.#passing(user, asked);
    if (proxied.fault !== undefined) throw new StatusFault(proxied.fault);
    const { request } = proxied;
    // Nothing is sent to a cluster that was meant for another place, whatever the caller may do there.
    if (placeOf(directory, target) === undefined) throw new StatusFault(notThere(target));
    const decision = allows(directory, credential, request);
    if (decision.allowed) return { allowed: true };
    if (!mayKnow(directory, credential, target)) throw new StatusFault(notThere(target));
    const message = `User "${user.name}" cannot ${requestText(request)}: ${decision.reason}`;
    const about = request.isResource ? { group: request.group, resource: request.resource } : nothing;
    throw new StatusFault(forbidden(about, request.isResource ? request.name : '', message));
  }

  async serve(exchange: ServedRequest): Promise<void> {
    const { live, log } = this.#options;
    const passing = this.#passing(exchange.user, exchange.target);
    try {
      const stream = await this.#begun(exchange, passing);
      if (stream === undefined) return;
      await live.follow(passing.user, stream, this.#whyNot(passing));
    } catch (error) {
      if (error instanceof StatusFault) throw error;
      const stack = error instanceof Error ? error.stack : undefined;
      log.error({ component: 'management', error: String(error), stack }, 'request not passed on');
      throw new StatusFault(internalError('the request could not be passed on; the log of the server says why'));
    }
  }

  /** Undefined = the request is answered already. */
  async #begun(exchange: ServedRequest, passing: Passing): Promise<ProxiedStream | undefined> {
    const { request, client, entrance, trail } = exchange;
    const { upstreams, live, passed, clock } = this.#options;
    const { credential, directory, proxied, target } = passing;
    const asked = proxied.request;
    const review = client.kind === 'response' ? reviewIn(asked) : undefined;
    let body: Buffer | undefined;
    if (review === 'access' && client.kind === 'response') {
      const answer = await answerReview(request, { directory, credential, target });
      if (answer.kind === 'no') {
        await trail.ends(201);
        sendJson(client.response, 201, JSON.stringify(answer.review), { 'audit-id': trail.entry.id });
        return undefined;
      }
      body = answer.body;
    }
    const upstream = await upstreams.upstreamOf(target);
    live.checkOpen();
    const misbehaves = (why: string) => this.#say(upstream.name, credential.keyName, why);
    return forward({
      request,
      client,
      upstream,
      path: proxied.rest,
      prefix: entrance === undefined ? proxied.prefix : '',
      identity: identityOf(directory, credential.subject, { target, keyName: credential.keyName }),
      ...(body === undefined ? {} : { body }),
      ...(review === 'rules' ? { reshape: incompleteRules } : {}),
      isWatch: asked.verb === 'watch',
      subresource: asked.isResource ? asked.subresource : '',
      isStream: isStream(asked) || client.kind === 'socket',
      auditId: trail.entry.id,
      gateOf: (socket) => passed.gate(socket, creditedTo(credential).owner),
      slowed: this.#slow.of(creditedTo(credential).owner, {
        works: () => exchange.works?.(),
        tell: () => misbehaves('its answer comes in pieces of a few bytes; it is passed on slowly'),
      }),
      clock,
      hooks: {
        begins: () => exchange.begins(),
        answers: async (code, isOpen) => {
          await trail.ends(code);
          if (isOpen) await trail.streamStarts();
          await exchange.works?.();
        },
        ended: (end) => trail.streamEnds(end),
        misbehaves,
      },
    });
  }

  #say(upstream: string, key: string, why: string): void {
    const { clock, log } = this.#options;
    const nowMs = clock.now();
    if (nowMs - (this.#saidMs.get(upstream) ?? Number.NEGATIVE_INFINITY) < sayEveryMs) return;
    this.#saidMs.set(upstream, nowMs);
    log.warn({ component: 'management', upstream, key, why }, 'a cluster behind this server misbehaves');
  }

  #passing(user: User, asked: Target): Passing {
    const caller = this.#options.callerOf(user);
    const proxied = proxiedIn(asked);
    if (caller === undefined || proxied === undefined)
      throw new Error('pass a request on: want a caller with a credential, and a place behind this server');
    const { credential } = caller;
    const directory = caller.directory ?? this.#options.directory();
    return { user, credential, directory, proxied, target: proxied.request.target as ProxiedDestination };
  }

  /** Why an open request would not be let through to the same place now. Most looks find no new configuration. */
  #whyNot({ user, credential, directory: opened, proxied, target }: Passing): () => Status | undefined {
    const { name, kubeconfig } = placeOf(opened, target) ?? {};
    let seen = opened;
    return () => {
      const directory = this.#options.callerOf(user)?.directory ?? this.#options.directory();
      if (directory === seen) return undefined;
      seen = directory;
      const place = placeOf(directory, target);
      if (place === undefined || place.name !== name || place.kubeconfig !== kubeconfig)
        return forbidden(nothing, '', 'the configuration of the server does not lead to this cluster any more');
      const { allowed } = allows(directory, credential, proxied.request);
      return allowed ? undefined : forbidden(nothing, '', 'you may not do this any more');
    };
  }
}

const nothing = { group: '', resource: '' };

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
