// A proxy between a daemon and an API server. It terminates TLS with its own certificate, records every request, and on
// demand delays, drops or invents answers. It works in front of any server.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, type Server, request as send } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Transform, type Writable } from 'node:stream';
import { makeServingCertificate } from '../../src/apiserver/tls/certificates.ts';
import type { KubeObject } from '../../src/object/meta/object.ts';

export interface ProxiedRequest {
  method: string;
  /** Path with query. */
  url: string;
  resource: string;
  name: string;
  isWatch: boolean;
  isWrite: boolean;
}

export type Interference =
  | 'pass'
  /** The connection is closed before the request reaches the server. */
  | 'drop'
  /** The server executes the request, but its answer is lost. */
  | 'lose'
  | { status: number; body: unknown; headers?: Record<string, string> };

interface Stream {
  proxied: ProxiedRequest;
  answer: IncomingMessage;
  response: Writable;
}

/** One event of a watch. */
export interface WatchedEvent {
  type: string;
  object: KubeObject;
}

export class Interferer {
  readonly #upstream: { url: string; caPem: string };
  readonly #agent: Agent;
  #server: Server | undefined;
  #caPem = '';
  /** Called for each request; the request waits while the rule's promise is pending. */
  rule: (proxied: ProxiedRequest) => Interference | Promise<Interference> = () => 'pass';
  /** Events for which this returns true are lost on their way, and nothing else of the stream is. */
  swallows: (event: WatchedEvent, proxied: ProxiedRequest) => boolean = () => false;
  readonly #streams = new Set<Stream>();
  /** Credentials that are good here, and what the server knows them as. While it is empty, every request keeps its own. */
  tokens: Readonly<Record<string, string>> = {};
  /** The requests that were forwarded or answered, in order. */
  readonly seen: ProxiedRequest[] = [];

  constructor(upstream: { url: string; caPem: string }) {
    this.#upstream = upstream;
    this.#agent = new Agent({ ca: upstream.caPem, keepAlive: true });
  }

  async start(): Promise<this> {
    const certificate = await makeServingCertificate('interferer', ['127.0.0.1'], new Date());
    this.#caPem = certificate.caPem;
    this.#server = createServer({ cert: certificate.certPem, key: certificate.keyPem }, (request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => this.#server?.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get at(): { url: string; caPem: string } {
    const { port } = (this.#server as Server).address() as AddressInfo;
    return { url: `https://127.0.0.1:${port}`, caPem: this.#caPem };
  }

  /** Closes all connections. The rule decides about later requests. */
  cut(): void {
    this.#server?.closeAllConnections();
  }

  /** Stops the events of open watches of that resource until the returned function is called. */
  mute(resource: string): () => void {
    const muted = [...this.#streams].filter(({ proxied }) => proxied.resource === resource);
    for (const { answer, response } of muted) {
      answer.unpipe(response);
      answer.pause();
    }
    return () => {
      for (const { answer, response } of muted) answer.pipe(response);
    };
  }

  #filterInto(response: ServerResponse, proxied: ProxiedRequest): Writable {
    let rest = '';
    const filter = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        const lines = (rest + chunk.toString('latin1')).split('\n');
        rest = lines.pop() ?? '';
        const kept = lines.filter((line) => {
          const text = Buffer.from(line, 'latin1').toString('utf8');
          return text === '' || !this.swallows(JSON.parse(text) as WatchedEvent, proxied);
        });
        done(null, Buffer.from(kept.map((line) => `${line}\n`).join(''), 'latin1'));
      },
    });
    filter.pipe(response);
    return filter;
  }

  writes(resource = 'endpoints'): string[] {
    return this.seen
      .filter((one) => one.isWrite && one.resource === resource)
      .map(({ method, name }) => `${method} ${name}`);
  }

  async stop(): Promise<void> {
    this.cut();
    this.#agent.destroy();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const proxied = proxiedRequestOf(request);
    const interference = await this.rule(proxied);
    if (interference === 'drop') return void response.destroy();
    if (!this.#exchangeToken(request)) {
      response.writeHead(401, { 'content-type': 'application/json' });
      const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Unauthorized', code: 401 };
      return void response.end(JSON.stringify({ ...status, message: 'Unauthorized' }));
    }
    this.seen.push(proxied);
    if (typeof interference === 'object') {
      response.writeHead(interference.status, { 'content-type': 'application/json', ...interference.headers });
      return void response.end(JSON.stringify(interference.body));
    }
    await this.#forward(request, response, { body: Buffer.concat(chunks), isLost: interference === 'lose', proxied });
  }

  #exchangeToken(request: IncomingMessage): boolean {
    if (Object.keys(this.tokens).length === 0) return true;
    const known = this.tokens[(request.headers.authorization ?? '').replace('Bearer ', '')];
    if (known !== undefined) request.headers.authorization = `Bearer ${known}`;
    return known !== undefined;
  }

  #forward(
    request: IncomingMessage,
    response: ServerResponse,
    sent: { body: Buffer; isLost: boolean; proxied: ProxiedRequest },
  ): Promise<void> {
    const { method = 'GET', url = '/', headers } = request;
    return new Promise((resolve, reject) => {
      const upstream = send(
        new URL(url, this.#upstream.url),
        { method, headers: { ...headers, host: new URL(this.#upstream.url).host }, agent: this.#agent },
        (answer) => {
          if (sent.isLost) {
            answer.resume();
            answer.once('end', () => response.destroy());
            return resolve();
          }
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          response.flushHeaders();
          const sink = sent.proxied.isWatch ? this.#filterInto(response, sent.proxied) : response;
          answer.pipe(sink);
          const stream = { proxied: sent.proxied, answer, response: sink };
          if (sent.proxied.isWatch) this.#streams.add(stream);
          answer.once('error', () => response.destroy());
          answer.once('close', () => {
            this.#streams.delete(stream);
            resolve();
          });
          response.once('close', () => answer.destroy());
        },
      );
      upstream.once('error', reject);
      upstream.end(sent.body);
    });
  }
}

/** Keeps interferers for later tests, because a certificate takes longer to make than most tests run. */
export class Interferers {
  readonly #idle: { upstream: string; interferer: Interferer }[] = [];
  readonly #busy: { upstream: string; interferer: Interferer }[] = [];

  async before(upstream: { url: string; caPem: string }): Promise<Interferer> {
    const at = this.#idle.findIndex((one) => one.upstream === upstream.url);
    const known = at < 0 ? undefined : this.#idle.splice(at, 1)[0];
    const taken = known ?? { upstream: upstream.url, interferer: await new Interferer(upstream).start() };
    this.#busy.push(taken);
    return taken.interferer;
  }

  /** Resets all interferers in use, so that the next test can take them. */
  release(): void {
    for (const one of this.#busy.splice(0)) {
      one.interferer.rule = () => 'pass';
      one.interferer.swallows = () => false;
      one.interferer.tokens = {};
      one.interferer.cut();
      one.interferer.seen.length = 0;
      this.#idle.push(one);
    }
  }

  async stop(): Promise<void> {
    this.release();
    for (const { interferer } of this.#idle.splice(0)) await interferer.stop();
  }
}

function proxiedRequestOf(request: IncomingMessage): ProxiedRequest {
  const { method = 'GET', url = '/' } = request;
  const { pathname, searchParams } = new URL(url, 'https://x');
  const parts = pathname.split('/').filter((part) => part !== '');
  const rest = parts[0] === 'api' ? parts.slice(2) : parts.slice(3);
  const [resource = '', name = ''] = rest[0] === 'namespaces' && rest.length > 2 ? rest.slice(2) : rest;
  const isWatch = searchParams.get('watch') === 'true' || searchParams.get('watch') === '1';
  return { method, url, resource, name, isWatch, isWrite: method !== 'GET' && !resource.includes('reviews') };
}
