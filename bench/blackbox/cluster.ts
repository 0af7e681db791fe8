// One of the two API servers, as anybody reaches it with a kubeconfig: requests, and a watch that goes on after an end.
import { readFileSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';
import { Pool } from 'undici';
import { EnvironmentFault } from './fault.ts';

export interface KubeObject {
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    labels?: Record<string, string>;
  };
  [field: string]: unknown;
}

export interface Answer {
  status: number;
  json: unknown;
  text: string;
}

interface Sending {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  body?: unknown;
}

export interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: KubeObject;
  /** When its last byte was here. */
  atMs: number;
}

const connections = 48;
const requestTimeoutMs = 30_000;
/** A watch that fails again and again says that the server is gone. */
const mostFailures = 20;
const failurePauseMs = 500;

export class Cluster {
  readonly side: 'virtual' | 'host';
  #pool: Pool;
  #origin: string;
  #base: string;
  #headers: Record<string, string>;
  #closers = new Set<() => void>();
  #isClosed = false;

  private constructor(given: { side: 'virtual' | 'host'; url: URL; options: RequestOptions }) {
    const { side, url, options } = given;
    this.side = side;
    this.#origin = url.origin;
    this.#base = url.pathname.replace(/\/$/, '');
    this.#headers = { accept: 'application/json', ...(options.headers as Record<string, string>) };
    const { ca, cert, key, rejectUnauthorized, servername } = options;
    const connect = Object.fromEntries(
      Object.entries({ ca, cert, key, rejectUnauthorized, servername }).filter(([, value]) => value !== undefined),
    );
    this.#pool = new Pool(url.origin, { connections, pipelining: 1, allowH2: false, connect });
  }

  static async open(side: 'virtual' | 'host', path: string): Promise<Cluster> {
    try {
      // Read first, because the library says only that it found no cluster.
      readFileSync(path);
      const config = new KubeConfig();
      config.loadFromFile(path);
      const server = config.getCurrentCluster()?.server;
      if (server === undefined) throw new Error('its current context names no cluster');
      const options: RequestOptions = {};
      await config.applyToHTTPSOptions(options);
      return new Cluster({ side, url: new URL(server), options });
    } catch (error) {
      const [sentence] = (error as Error).message.split('\n');
      throw new EnvironmentFault(`cannot use the ${side} kubeconfig "${path}": ${sentence}`);
    }
  }

  async send({ method, path, body }: Sending): Promise<Answer> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    try {
      const answer = await this.#pool.request({
        method,
        path: this.#base + path,
        headers: { ...this.#headers, ...(body !== undefined && { 'content-type': type }) },
        body: body === undefined ? null : JSON.stringify(body),
        headersTimeout: requestTimeoutMs,
        bodyTimeout: requestTimeoutMs,
      });
      const text = await answer.body.text();
      return { status: answer.statusCode, text, json: text.startsWith('{') ? JSON.parse(text) : undefined };
    } catch (error) {
      throw new EnvironmentFault(`cannot reach the ${this.side} API server at ${this.#origin}: ${causeOf(error)}`);
    }
  }

  /** An answer that the black box cannot do without. */
  async expect(sending: Sending, wanted: { status: readonly number[]; todo: string }): Promise<Answer> {
    const answer = await this.send(sending);
    if (wanted.status.includes(answer.status)) return answer;
    throw new EnvironmentFault(this.sentence(answer, wanted.todo));
  }

  sentence({ status, json, text }: Answer, todo: string): string {
    const said = (json as { message?: string } | undefined)?.message ?? text.slice(0, 200);
    if (status === 401) return `the ${this.side} kubeconfig is not accepted: ${said}`;
    if (status === 403) return `the ${this.side} kubeconfig may not ${todo}: ${said}`;
    return `cannot ${todo} on the ${this.side} side: status ${status}, ${said}`;
  }

  async list(path: string, todo: string): Promise<{ items: KubeObject[]; revision: string }> {
    const items: KubeObject[] = [];
    let next = '';
    for (;;) {
      const query = `limit=500${next === '' ? '' : `&continue=${encodeURIComponent(next)}`}`;
      const { json } = await this.expect({ method: 'GET', path: `${path}?${query}` }, { status: [200], todo });
      const page = json as { items?: KubeObject[]; metadata: { resourceVersion: string; continue?: string } };
      for (const item of page.items ?? []) items.push(item);
      next = page.metadata.continue ?? '';
      if (next === '') return { items, revision: page.metadata.resourceVersion };
    }
  }

  /** Tells every change from the revision on, and lists again when the server has forgotten it. `failed` hears why it gave up. */
  watch(path: string, from: string, tell: (event: WatchEvent) => void, failed: (error: Error) => void): void {
    void this.#follow(path, from, tell).catch((error: unknown) => {
      if (!this.#isClosed) failed(error as Error);
    });
  }

  async #follow(path: string, from: string, tell: (event: WatchEvent) => void): Promise<void> {
    let revision = from;
    for (let failures = 0; !this.#isClosed; ) {
      const end = await this.#watchOnce(path, revision, (event) => {
        failures = 0;
        revision = event.object.metadata.resourceVersion ?? revision;
        if (event.type !== ('BOOKMARK' as string)) tell(event);
      });
      if (this.#isClosed || end === 'ended') continue;
      if (++failures > mostFailures) throw new EnvironmentFault(`the watch of the ${this.side} side ends: ${end}`);
      if (end === 'gone') {
        const { items, revision: listed } = await this.list(path, 'list objects');
        for (const object of items) tell({ type: 'MODIFIED', object, atMs: performance.now() });
        revision = listed;
      } else await new Promise((resolve) => setTimeout(resolve, failurePauseMs));
    }
  }

  async #watchOnce(path: string, from: string, tell: (event: WatchEvent) => void): Promise<string> {
    const query = `watch=1&allowWatchBookmarks=true&timeoutSeconds=3000&resourceVersion=${encodeURIComponent(from)}`;
    const closing = new AbortController();
    const close = () => closing.abort();
    this.#closers.add(close);
    try {
      const { statusCode, body } = await this.#pool.request({
        method: 'GET',
        path: `${this.#base}${path}?${query}`,
        headers: this.#headers,
        headersTimeout: requestTimeoutMs,
        bodyTimeout: 0,
        signal: closing.signal,
      });
      if (statusCode !== 200) {
        const text = await body.text();
        const answer = { status: statusCode, text, json: text.startsWith('{') ? JSON.parse(text) : undefined };
        if (statusCode === 401 || statusCode === 403)
          throw new EnvironmentFault(this.sentence(answer, 'watch objects'));
        return statusCode === 410 ? 'gone' : `status ${statusCode}, ${text.slice(0, 200)}`;
      }
      let rest = '';
      body.setEncoding('utf8');
      for await (const chunk of body as AsyncIterable<string>) {
        const atMs = performance.now();
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          if (line === '') continue;
          const event = JSON.parse(line) as { type: string; object: KubeObject & { code?: number } };
          if (event.type === 'ERROR') return event.object.code === 410 ? 'gone' : JSON.stringify(event.object);
          tell({ ...(event as WatchEvent), atMs });
        }
      }
      return 'ended';
    } catch (error) {
      if (error instanceof EnvironmentFault) throw error;
      return this.#isClosed ? 'closed' : causeOf(error);
    } finally {
      this.#closers.delete(close);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const close of this.#closers) close();
    await this.#pool.destroy();
  }
}

function causeOf(error: unknown): string {
  const { message, cause, errors } = error as { message?: string; cause?: unknown; errors?: unknown[] };
  if (message !== undefined && message !== '') return message;
  const deeper = errors?.[0] ?? cause;
  return deeper === undefined ? String(error) : causeOf(deeper);
}
