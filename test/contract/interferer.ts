// A man in the middle between a daemon and an API server: it ends TLS with a certificate of its own, notes every request,
// and on request holds, drops, loses or makes up answers. Works in front of any server.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, type Server, request as send } from 'node:https';
import type { AddressInfo } from 'node:net';
import { makeServingCertificate } from '../../src/devcluster/certificates.ts';

export interface Asking {
  method: string;
  /** Path and query. */
  url: string;
  resource: string;
  name: string;
  isWatch: boolean;
  isWrite: boolean;
}

export type Interference =
  | 'pass'
  /** The connection ends before the server hears of it. */
  | 'drop'
  /** The server has done it, and the answer gets lost. */
  | 'lose'
  | { status: number; body: unknown; headers?: Record<string, string> };

interface Stream {
  asking: Asking;
  answer: IncomingMessage;
  response: ServerResponse;
}

export class Interferer {
  readonly #upstream: { url: string; caPem: string };
  readonly #agent: Agent;
  #server: Server | undefined;
  #caPem = '';
  /** Asked before each request; a promise holds it up. */
  rule: (asking: Asking) => Interference | Promise<Interference> = () => 'pass';
  readonly #streams = new Set<Stream>();
  /** Of everything that was let through or answered. */
  readonly seen: Asking[] = [];

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

  /** Everything that is open ends; what comes next is judged by the rule. */
  cut(): void {
    this.#server?.closeAllConnections();
  }

  /** Open watches of that resource bring no more news until the result is called. */
  mute(resource: string): () => void {
    const muted = [...this.#streams].filter(({ asking }) => asking.resource === resource);
    for (const { answer, response } of muted) {
      answer.unpipe(response);
      answer.pause();
    }
    return () => {
      for (const { answer, response } of muted) answer.pipe(response);
    };
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
    const asking = askingOf(request);
    const interference = await this.rule(asking);
    if (interference === 'drop') return void response.destroy();
    this.seen.push(asking);
    if (typeof interference === 'object') {
      response.writeHead(interference.status, { 'content-type': 'application/json', ...interference.headers });
      return void response.end(JSON.stringify(interference.body));
    }
    await this.#forward(request, response, { body: Buffer.concat(chunks), isLost: interference === 'lose', asking });
  }

  #forward(
    request: IncomingMessage,
    response: ServerResponse,
    sent: { body: Buffer; isLost: boolean; asking: Asking },
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
          answer.pipe(response);
          const stream = { asking: sent.asking, answer, response };
          if (sent.asking.isWatch) this.#streams.add(stream);
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

/** A certificate takes longer to make than most tests run, so interferers are used again. */
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

  /** All of them honest and silent again. */
  release(): void {
    for (const one of this.#busy.splice(0)) {
      one.interferer.rule = () => 'pass';
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

function askingOf(request: IncomingMessage): Asking {
  const { method = 'GET', url = '/' } = request;
  const { pathname, searchParams } = new URL(url, 'https://x');
  const parts = pathname.split('/').filter((part) => part !== '');
  const rest = parts[0] === 'api' ? parts.slice(2) : parts.slice(3);
  const [resource = '', name = ''] = rest[0] === 'namespaces' && rest.length > 2 ? rest.slice(2) : rest;
  const isWatch = searchParams.get('watch') === 'true' || searchParams.get('watch') === '1';
  return { method, url, resource, name, isWatch, isWrite: method !== 'GET' && !resource.includes('reviews') };
}
