// Carries requests of other people to one API server as they came: nothing is gathered, nothing is decoded. In: a method, a path,
// header lines and a body that streams. Out: the server's answer while it still arrives, or the socket of an upgrade. It
// works without the transport, with the same credentials, which renew themselves. Must never know who asks, nor add other headers
// than the credentials and those of the connection.
import { type Agent, Agent as PlainAgent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { ClusterAccess, Credentials } from '../credentials/access.ts';
import { AccessCache, sameTarget, sameTls } from '../credentials/access-cache.ts';
import { sharedContext } from '../credentials/tls-context.ts';
import { CredentialsError, messageOf } from '../errors.ts';
import { explain, gatewayStatuses } from './explain.ts';
import { PacedAgent } from './paced-agent.ts';
import { RawAttempt, type RawRequest, type Tried } from './raw-attempt.ts';

export type RawAnswer =
  | Extract<Tried, { kind: 'response' | 'upgraded' }>
  | {
      kind: 'failed';
      because: 'unreachable' | 'silent' | 'credentials' | 'renewed' | 'aborted';
      /** Names the server, never a credential. */
      message: string;
      fix: string;
    };

export interface RawExchange {
  readonly answered: Promise<RawAnswer>;
  /** Cuts the connection to the server, also while the answer or the upgraded socket is in use. */
  abort(): void;
}

export interface RawConnectionOptions {
  /** For log lines. */
  name: string;
  credentials: Credentials;
  clock: Clock;
  log: Log;
}

/** Below the 90 s after which kube-apiserver closes an idle connection. */
const keepAliveMs = 60_000;
/** More idle connections than this are closed rather than kept: a burst is not the rule. */
const maxIdle = 64;
/** A kept connection may have been closed by the server just now; more in a row are another fault. */
const maxStale = 2;

export class RawConnection {
  #server: string;
  readonly #options: RawConnectionOptions;
  readonly #access: AccessCache;
  #url: URL;
  #wire: { access: ClusterAccess; agent: Agent } | undefined;

  constructor(options: RawConnectionOptions) {
    const { credentials, clock, log } = options;
    this.#options = options;
    this.#server = credentials.server;
    this.#url = new URL(credentials.server);
    this.#access = new AccessCache(credentials, clock, log);
  }

  get server(): string {
    return this.#server;
  }

  send(request: RawRequest): RawExchange {
    let attempt: RawAttempt | undefined;
    let isAborted = false;
    const start = (access: ClusterAccess, agent: Agent): Promise<Tried> => {
      attempt = new RawAttempt({ ...this.#attemptParts(access), agent, request, clock: this.#options.clock });
      if (isAborted) attempt.abort();
      return attempt.tried;
    };
    return {
      answered: this.#answer(request, start),
      abort: () => {
        isAborted = true;
        attempt?.abort();
      },
    };
  }

  /** Idle connections close now, those in use when their answers end. */
  close(): void {
    closeIdle(this.#wire?.agent);
    this.#wire = undefined;
  }

  async #answer(
    request: RawRequest,
    start: (access: ClusterAccess, agent: Agent) => Promise<Tried>,
  ): Promise<RawAnswer> {
    let access: ClusterAccess;
    try {
      const current = this.#access.current();
      access = current instanceof Promise ? await current : current;
    } catch (error) {
      const fix = error instanceof CredentialsError ? (error.faults[0]?.fix ?? '') : '';
      return { kind: 'failed', because: 'credentials', message: messageOf(error), fix };
    }
    let isRenewed = false;
    for (let stale = 0; ; ) {
      const agent = this.#agent(access);
      if (agent === undefined) return this.#unreadable();
      const tried = await start(access, agent);
      if (tried.kind === 'error' && tried.mayRepeat && stale < maxStale) {
        stale++;
        continue;
      }
      const isUnopened = tried.kind === 'error' && explain(tried.error, access.server, 'its kubeconfig').isUnopened;
      // A caller proved who he is to us: a 401 is about our own credentials.
      const isRefused = tried.kind === 'response' && tried.response.statusCode === 401;
      if (!isRefused && !isUnopened) {
        if (isUnheard(tried)) this.#access.look(access);
        return this.#read(tried);
      }
      if (isRefused) tried.response.destroy();
      const newer = isRenewed ? undefined : await this.#access.renew(access);
      if (newer === undefined) return isRefused ? this.#refused() : this.#read(tried);
      if (request.body !== undefined) return { ...this.#refused(), because: 'renewed' };
      access = newer;
      isRenewed = true;
    }
  }

  #read(tried: Tried): RawAnswer {
    switch (tried.kind) {
      case 'response':
      case 'upgraded':
        return tried;
      case 'aborted':
        return { kind: 'failed', because: 'aborted', message: 'the request was given up', fix: '' };
      case 'silent': {
        const message = `talking to "${this.server}": ${tried.message}`;
        return { kind: 'failed', because: 'silent', message, fix: 'look at the API server and at the network between' };
      }
      case 'error': {
        const { message, fix } = explain(tried.error, this.server, 'its kubeconfig');
        return { kind: 'failed', because: 'unreachable', message, fix };
      }
      default:
        return tried satisfies never;
    }
  }

  #refused(): Extract<RawAnswer, { kind: 'failed' }> {
    const message = `"${this.server}" does not accept the credentials of ${this.#options.credentials.source}`;
    return { kind: 'failed', because: 'credentials', message, fix: 'renew the credentials there' };
  }

  #unreadable(): Extract<RawAnswer, { kind: 'failed' }> {
    const message = `the certificates of ${this.#options.credentials.source} cannot be read`;
    return { kind: 'failed', because: 'credentials', message, fix: 'renew the credentials there' };
  }

  /** The kubeconfig may name another server since the last reading. */
  #urlOf({ server }: ClusterAccess): URL {
    if (this.server !== server) {
      this.#url = new URL(server);
      this.#server = server;
    }
    return this.#url;
  }

  #attemptParts(access: ClusterAccess) {
    const { protocol, hostname, port, host, pathname } = this.#urlOf(access);
    const headers: string[] = ['Host', host];
    for (const [name, value] of Object.entries(access.headers))
      for (const one of typeof value === 'string' ? [value] : value) headers.push(name, one);
    return {
      isTls: protocol === 'https:',
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
      basePath: pathname.replace(/\/+$/, ''),
      headers,
    };
  }

  /** Undefined = the certificates cannot be read, and the log says why. */
  #agent(access: ClusterAccess): Agent | undefined {
    const wire = this.#wire;
    if (
      wire !== undefined &&
      (wire.access === access || (sameTarget(wire.access, access) && sameTls(wire.access, access)))
    )
      return wire.agent;
    const { name, log } = this.#options;
    if (wire !== undefined) {
      log.info({ cluster: name }, 'server or certificates changed, connecting again');
      closeIdle(wire.agent);
      this.#wire = undefined;
    }
    const { proxy } = access;
    const settings = {
      keepAlive: true,
      timeout: keepAliveMs,
      maxFreeSockets: maxIdle,
      ...(proxy === undefined ? {} : { proxyEnv: { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url } }),
    };
    try {
      const isTls = this.#url.protocol === 'https:';
      // Behind a proxy Node hands a connection over when its tunnel is there, which a wait would hide from it.
      const Secure = proxy === undefined ? PacedAgent : TlsAgent;
      const agent = isTls ? new Secure({ ...settings, ...tlsOf(access) }) : new PlainAgent(settings);
      this.#wire = { access, agent };
      return agent;
    } catch (error) {
      log.error({ cluster: name, error: messageOf(error) }, 'certificates cannot be read');
      return undefined;
    }
  }
}

/** A request that has begun is not sent again, but the next one may find another server in the files. */
function isUnheard(tried: Tried): boolean {
  if (tried.kind === 'response') return gatewayStatuses.has(tried.response.statusCode ?? 0);
  return tried.kind === 'error' || tried.kind === 'silent';
}

function tlsOf(access: ClusterAccess) {
  const { servername, rejectUnauthorized } = access.tls;
  return {
    rejectUnauthorized,
    // Upgrades and repeated header lines need HTTP/1.1.
    ALPNProtocols: ['http/1.1'],
    ...sharedContext(access),
    ...(servername === undefined ? {} : { servername }),
  };
}

function closeIdle(agent: Agent | undefined): void {
  if (agent === undefined) return;
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}
