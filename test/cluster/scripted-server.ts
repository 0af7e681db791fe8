// A small API server for one resource, with resource versions, history and bookmarks, that misbehaves on demand: each
// script of a test answers the next request of its sort.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePort } from '../../src/cli/demo/free-ports.ts';
import type { KubeObject } from '../../src/object/meta/object.ts';

/** `heads` is a list of metadata alone. */
export type Sort = 'list' | 'heads' | 'watch' | 'write' | 'read';
export type Behaviour = (exchange: { request: IncomingMessage; response: ServerResponse; url: URL }) => void;

interface Script {
  sort: Sort;
  behave: Behaviour;
}

export interface Seen {
  sort: Sort;
  method: string;
  url: URL;
  body: string;
  headers: IncomingMessage['headers'];
}

interface Event {
  type: string;
  object: KubeObject;
  rv: number;
}

/** Closes the server and waits until all its connections are closed. */
export async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

export class ScriptedServer {
  readonly seen: Seen[] = [];
  /** Pages have no more objects than that, whatever was asked for. */
  pageItems = Number.POSITIVE_INFINITY;
  readonly scripts: Script[] = [];
  readonly objects = new Map<string, KubeObject>();
  rv = 1000;
  compactedTo = 0;
  history: Event[] = [];
  /** Open watches, each with the last version that was sent to it. */
  readonly watches = new Set<{ response: ServerResponse; sent: number }>();
  kind = 'Endpoints';
  #server: Server;
  #uids = 0;

  constructor() {
    this.#server = this.#create();
  }

  #create(): Server {
    const made = createServer((request, response) => void this.#serve(request, response));
    made.keepAliveTimeout = 60_000;
    return made;
  }

  /** After close(): listens at its old port again, with all its objects. */
  async reopen(port: number): Promise<void> {
    this.#server = this.#create();
    await this.listen(port);
  }

  /** Asks for a port that stays free after close(), until reopen(). */
  async listen(port?: number): Promise<void> {
    this.#server.listen(port ?? (await freePort()), '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async close(): Promise<void> {
    await closeServer(this.#server);
  }

  /** `behave` answers the next request of this sort. */
  script(sort: Sort, behave: Behaviour): void {
    this.scripts.push({ sort, behave });
  }

  count(sort: Sort): number {
    return this.seen.filter((seen) => seen.sort === sort && seen.url.searchParams.get('limit') !== '1').length;
  }

  put(name: string, fields: Record<string, unknown> = {}, namespace = 'default'): KubeObject {
    const key = `${namespace}/${name}`;
    const known = this.objects.get(key);
    this.rv++;
    const uid = known?.metadata.uid ?? `uid-${++this.#uids}`;
    const metadata = { name, namespace, uid, resourceVersion: String(this.rv) };
    const object: KubeObject = { apiVersion: 'v1', kind: this.kind, metadata, ...fields };
    this.objects.set(key, object);
    this.emit(known === undefined ? 'ADDED' : 'MODIFIED', object);
    return object;
  }

  remove(name: string, namespace = 'default'): void {
    const key = `${namespace}/${name}`;
    const known = this.objects.get(key);
    if (known === undefined) return;
    this.rv++;
    this.objects.delete(key);
    this.emit('DELETED', { ...known, metadata: { ...known.metadata, resourceVersion: String(this.rv) } });
  }

  emit(type: string, object: KubeObject): void {
    const event = { type, object, rv: this.rv };
    this.history.push(event);
    for (const watch of this.watches) this.#send(watch, event);
  }

  bookmark(): void {
    const object = { apiVersion: 'v1', kind: this.kind, metadata: { resourceVersion: String(this.rv) } };
    this.raw(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`);
  }

  raw(bytes: string | Buffer): void {
    for (const watch of this.watches) watch.response.write(bytes);
  }

  /** Drops the history: a watch from an older version gets 410. */
  compact(): void {
    this.compactedTo = this.rv;
    this.history = [];
  }

  endWatches(how: 'end' | 'reset'): void {
    for (const watch of this.watches) {
      if (how === 'end') watch.response.end();
      else (watch.response.socket as import('node:net').Socket).resetAndDestroy();
    }
    this.watches.clear();
  }

  #send(watch: { response: ServerResponse; sent: number }, event: Event): void {
    watch.sent = event.rv;
    watch.response.write(`${JSON.stringify({ type: event.type, object: event.object })}\n`);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://server');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const isCollection = /\/(endpoints|services|events|leases)$/.test(url.pathname);
    const isPartial = request.headers.accept?.includes('as=PartialObjectMetadataList') === true;
    const listed: Sort = isPartial ? 'heads' : 'list';
    const sort: Sort =
      request.method !== 'GET' ? 'write' : !isCollection ? 'read' : url.searchParams.has('watch') ? 'watch' : listed;
    const body = Buffer.concat(chunks).toString('utf8');
    this.seen.push({ sort, method: request.method ?? '', url, body, headers: request.headers });
    const at = this.scripts.findIndex((script) => script.sort === sort);
    if (at >= 0) {
      const [script] = this.scripts.splice(at, 1);
      script?.behave({ request, response, url });
      return;
    }
    if (sort === 'list' || sort === 'heads') this.#list(url, response, isPartial);
    else if (sort === 'watch') this.#watch(url, response);
    else sendStatus(response, 404, 'NotFound', 'no such object');
  }

  #list(url: URL, response: ServerResponse, isPartial: boolean): void {
    const limit = Math.min(Number(url.searchParams.get('limit') ?? '0') || Number.POSITIVE_INFINITY, this.pageItems);
    const token = url.searchParams.get('continue');
    const [atRv, from] = token === null ? [this.rv, 0] : (JSON.parse(token) as [number, number]);
    if (atRv < this.compactedTo) {
      sendStatus(response, 410, 'Expired', 'the continue token is too old');
      return;
    }
    const chosen = url.searchParams.get('fieldSelector')?.replace('metadata.name=', '');
    const namespace = /\/namespaces\/([^/]+)\//.exec(url.pathname)?.[1];
    const isMeant = ({ metadata }: KubeObject): boolean =>
      (chosen === undefined || metadata.name === chosen) &&
      (namespace === undefined || metadata.namespace === namespace);
    const all = [...this.objects.values()]
      .filter(isMeant)
      .sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
    const items = all.slice(from, from + limit);
    const more = from + limit < all.length ? { continue: JSON.stringify([atRv, from + limit]) } : {};
    const metadata = { resourceVersion: String(atRv), ...more };
    const form = isPartial
      ? { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadataList' }
      : { apiVersion: 'v1', kind: `${this.kind}List` };
    // As kube-apiserver: an empty list of metadata alone has no list.
    sendJson(response, 200, { ...form, metadata, items: isPartial && items.length === 0 ? null : items });
  }

  #watch(url: URL, response: ServerResponse): void {
    const from = Number(url.searchParams.get('resourceVersion'));
    if (from < this.compactedTo) {
      sendStatus(response, 410, 'Expired', 'too old resource version');
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    const watch = { response, sent: from };
    this.watches.add(watch);
    response.on('close', () => this.watches.delete(watch));
    for (const event of this.history) if (event.rv > from) this.#send(watch, event);
  }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

export function sendStatus(
  response: ServerResponse,
  code: number,
  reason: string,
  message: string,
  headers: Record<string, string> = {},
): void {
  sendJson(response, code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, message, code }, headers);
}
