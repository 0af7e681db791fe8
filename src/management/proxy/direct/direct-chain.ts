// The chain of requests of a direct endpoint: holders of direct tokens pass to the cluster, and probes need nothing. Everything else is
// 404. In: the parts of the endpoint. Out: the chain.
import { Chain } from '../../../apiserver/chain/chain.ts';
import type { ServedRequest } from '../../../apiserver/chain/served-request.ts';
import type { Audit } from '../../../apiserver/kinds/kit.ts';
import type { CallerLimits } from '../../../apiserver/limits/caller-limits.ts';
import { LoopTime } from '../../../apiserver/limits/loop-time.ts';
import type { UnprovenConnections } from '../../../apiserver/limits/unproven-connections.ts';
import { refuseImpersonation } from '../../../apiserver/request/denial.ts';
import type { User } from '../../../apiserver/request/identity.ts';
import { sendStatus, sendText } from '../../../apiserver/wire/respond.ts';
import { UnreadAnswers } from '../../../apiserver/wire/unread-answers.ts';
import type { Clock } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import { pathNotFound } from '../../../object/meta/status.ts';
import type { ProxyRoute } from '../proxy-route.ts';
import { classifier, creditedTo, proxiedAdmission, proxiedSender } from '../sender.ts';
import type { TokenGate } from './token-gate.ts';
import type { TokenHolder } from './token-holder.ts';

export interface DirectChainParts {
  proxy: ProxyRoute;
  gate: Pick<TokenGate, 'authenticate' | 'holderOf'>;
  limits: CallerLimits;
  unproven: UnprovenConnections;
  audit: Audit;
  /** Seconds to wait for a source with too many wrong tokens. */
  failedLogin(source: string): number | undefined;
  /** Called for every request with a good token. */
  used(holder: TokenHolder): void;
  /** Undefined = tokens are accepted. */
  trouble(): string | undefined;
  clock: Clock;
  log: Log;
}

const classify = classifier(() => false);
/** The caller of a probe, which needs no credential. */
const probe: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

export function directChain(parts: DirectChainParts): Chain {
  const { proxy, gate, limits, audit, failedLogin, unproven, clock, log } = parts;
  const unread = new UnreadAnswers({ clock, log });
  const loopTime = new LoopTime(clock, undefined, { newcomers: () => unproven.count });
  const admitProxied = proxiedAdmission(limits, unread, loopTime);
  return new Chain({
    filters: {
      // A path with two meanings is no place behind the endpoint, and 404 like every other.
      classify: (request) => ({ target: classify(request, undefined).target }),
      authenticate: (exchange) => (proxy.takes(exchange.target) ? holderIn(exchange, parts) : probe),
      failedLogin,
      admit: async (exchange) => {
        const caller = gate.holderOf(exchange.sender);
        if (caller !== undefined) return admitProxied(creditedTo(caller.credential), exchange);
        if (exchange.client.kind === 'response') unread.opened(exchange.client.response, '');
      },
      impersonate: ({ sender, request }) => {
        refuseImpersonation(request);
        return sender;
      },
      authorize: (asked) => (proxy.takes(asked.target) ? proxy.authorize(asked) : { allowed: true }),
      works: (user, begun) => {
        const caller = gate.holderOf(user);
        return caller === undefined ? undefined : loopTime.turn(creditedTo(caller.credential), begun);
      },
    },
    routes: [proxy, { takes: () => true, serve: async (exchange) => answerOther(exchange, parts) }],
    isClosed: () => undefined,
    dialect: 'strict',
    ...{ audit, clock, log },
  });
}

async function holderIn(exchange: ServedRequest, parts: DirectChainParts): Promise<User | undefined> {
  const { gate, limits, unproven, failedLogin, used } = parts;
  const authenticate = async (bearer: string, address: string | undefined) => {
    const holder = await gate.authenticate(bearer, address);
    if (holder !== undefined) used(holder);
    return holder?.user;
  };
  const user = await proxiedSender(exchange, { authenticate, failedLogin });
  const holder = user === undefined ? undefined : gate.holderOf(user);
  if (holder === undefined) return user;
  const { socket } = exchange.request;
  limits.connects(socket, creditedTo(holder.credential));
  unproven.proved(socket);
  return user;
}

function answerOther({ target: { verb, outside = '' }, response }: ServedRequest, { trouble }: DirectChainParts): void {
  const why = outside === '/readyz' ? trouble() : undefined;
  if (verb !== 'get' || !/^\/(?:healthz|livez|readyz)$/.test(outside)) sendStatus(response, pathNotFound());
  else if (why === undefined) sendText(response, 200, 'ok');
  else sendText(response, 503, `${why}\n`);
}
