// A host that answers one request of a kind with a fault, once, and passes everything else on: between one replica and the API server.
import { readFileSync, writeFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  request as plainRequest,
  type Server,
  type ServerResponse,
} from 'node:http';
import { request } from 'node:https';

export interface HostFault {
  /** Which request; see `pointOf`. */
  point: string;
  code: 409 | 410 | 429 | 500 | 504;
  /** For a watch: in the middle of the stream instead of as its answer. */
  inStream?: boolean;
  /** The API server gets the request and does it, and the answer is this one, as a proxy answers that has waited too long. */
  isDone?: boolean;
}

/** What the store asks of its host, by method and path. */
export function pointOf(method: string, path: string): string {
  const { pathname, searchParams } = new URL(path, 'http://host');
  const parts = pathname.split('/');
  const at = parts.findIndex((part) => ['secrets', 'configmaps', 'leases'].includes(part));
  if (at < 0) return 'other';
  const [resource, name] = [parts[at] as string, parts[at + 1]];
  if (searchParams.has('watch')) return 'watch';
  if (searchParams.has('continue')) return `${resource}: further page`;
  const what = name === undefined ? '' : (/^hostward-(meta|replica)/.exec(name)?.[1] ?? 'one');
  return `${resource}: ${method} ${what}`.trim();
}

export class FaultHost {
  readonly kubeconfigPath: string;
  readonly #target: { url: string; caPem: string };
  readonly #from: string;
  #server: Server | undefined;
  #armed: HostFault[] = [];
  readonly #watches = new Set<ServerResponse>();
  /** How often each kind of request was seen. */
  readonly seen = new Map<string, number>();
  /** Of streams of changes at one time. */
  mostWatches = 0;
  #isHeld = false;
  /** How long each request waits before it is passed on, as behind a busy API server. */
  delayMs = 0;

  constructor(host: { url: string; caPem: string; kubeconfigPath: string }, path: string) {
    this.#target = host;
    this.#from = host.kubeconfigPath;
    this.kubeconfigPath = path;
  }

  async open(): Promise<void> {
    const server = createServer((asked, response) => this.#take(asked, response));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const config = JSON.parse(readFileSync(this.#from, 'utf8')) as { clusters: { cluster: object }[] };
    for (const one of config.clusters) one.cluster = { server: `http://127.0.0.1:${port}` };
    writeFileSync(this.kubeconfigPath, JSON.stringify(config), { mode: 0o600 });
  }

  /** In this order, each once. A fault in the stream comes at once. */
  arm(...faults: HostFault[]): void {
    for (const { code, inStream } of faults)
      if (inStream === true) for (const watch of this.#watches) watch.end(`${JSON.stringify(errorEvent(code))}\n`);
    this.#armed.push(...faults.filter(({ inStream }) => inStream !== true));
  }

  /** Changes do not come through any more; every request is answered. */
  holdWatches(isHeld: boolean): void {
    this.#isHeld = isHeld;
    for (const watch of this.#watches) watch.emit(isHeld ? 'hold' : 'release');
  }

  get isArmed(): boolean {
    return this.#armed.length > 0;
  }

  close(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  #take(asked: IncomingMessage, response: ServerResponse): void {
    const { method = 'GET', url: path = '/' } = asked;
    const point = pointOf(method, path);
    this.seen.set(point, (this.seen.get(point) ?? 0) + 1);
    const at = this.#armed.findIndex((fault) => fault.point === point);
    if (at >= 0) {
      const [fault] = this.#armed.splice(at, 1);
      const { code, isDone } = fault as HostFault;
      if (isDone === true) return void this.#passOn(asked, response, { point, code });
      asked.resume();
      return void refuse(response, code);
    }
    if (this.delayMs === 0) this.#passOn(asked, response, { point });
    else {
      const waiting = setTimeout(() => this.#passOn(asked, response, { point }), this.delayMs);
      response.once('close', () => clearTimeout(waiting));
    }
  }

  /** `code`: what is answered in place of the answer. */
  #passOn(asked: IncomingMessage, response: ServerResponse, { point, code }: { point: string; code?: number }): void {
    const { method = 'GET', url: path = '/' } = asked;
    const headers = { ...asked.headers };
    delete headers['host'];
    const ask = this.#target.url.startsWith('https:') ? request : plainRequest;
    const onward = ask(new URL(path, this.#target.url), { method, headers, ca: this.#target.caPem }, (answer) => {
      if (code !== undefined) {
        answer.resume();
        return void answer.once('end', () => refuse(response, code));
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      if (point === 'watch') {
        this.#watches.add(response);
        this.mostWatches = Math.max(this.mostWatches, this.#watches.size);
        response.once('close', () => this.#watches.delete(response));
        response.flushHeaders();
        response.on('hold', () => answer.unpipe(response).pause());
        response.on('release', () => answer.pipe(response));
        if (this.#isHeld) return;
      }
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    asked.pipe(onward);
  }
}

const statuses: Readonly<Record<number, [string, string]>> = {
  409: ['Conflict', 'the object has been modified; please apply your changes to the latest version and try again'],
  410: ['Expired', 'too old resource version'],
  429: ['TooManyRequests', 'too many requests, please try again later'],
  504: ['Timeout', 'Timeout: request did not complete within the allotted timeout'],
};

function refuse(response: ServerResponse, code: number): void {
  response.writeHead(code, { 'content-type': 'application/json', ...(code === 429 && { 'retry-after': '1' }) });
  response.end(JSON.stringify(statusOf(code)));
}

function statusOf(code: number): object {
  const [reason, message] = statuses[code] ?? ['InternalError', 'Internal error occurred'];
  const details = code === 429 ? { details: { retryAfterSeconds: 1 } } : {};
  return { apiVersion: 'v1', kind: 'Status', status: 'Failure', code, reason, message, ...details };
}

function errorEvent(code: number): object {
  return { type: 'ERROR', object: statusOf(code) };
}
