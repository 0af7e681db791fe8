// A host that goes away for good at one of its writes: before the write, or after it and before its answer.
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { request as secureRequest } from 'node:https';
import { pointOf } from '../../../kube/store/fault-host.ts';

export interface Ending {
  /** Of the writes of records, the first being 1; absent = it stays. */
  at?: number;
  /** The write itself is made. */
  isWritten?: boolean;
}

export class EndingHost {
  readonly #host: { url: string; caPem: string; adminToken: string };
  readonly #ending: Ending;
  readonly #server: Server;
  #isGone = false;
  /** Kinds of the writes of records that were seen. */
  readonly writes: string[] = [];

  constructor(host: { url: string; caPem: string; adminToken: string }, ending: Ending = {}) {
    this.#host = host;
    this.#ending = ending;
    this.#server = createServer((asked, response) => this.#take(asked, response));
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  async open(path: string): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const { port } = this.#server.address() as { port: number };
    const config = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'host' },
      clusters: [{ name: 'host', cluster: { server: `http://127.0.0.1:${port}` } }],
      users: [{ name: 'admin', user: { token: this.#host.adminToken } }],
      contexts: [{ name: 'host', context: { cluster: 'host', user: 'admin' } }],
    };
    writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #take(asked: IncomingMessage, response: ServerResponse): void {
    const { method = 'GET', url: path = '/' } = asked;
    const point = pointOf(method, path);
    const isWrite = point.startsWith('secrets: ') && method !== 'GET';
    if (isWrite && !this.#isGone) this.writes.push(point);
    const isLast = isWrite && !this.#isGone && this.writes.length === this.#ending.at;
    if (this.#isGone || (isLast && this.#ending.isWritten !== true)) return void this.#end();
    const ask = this.#host.url.startsWith('https:') ? secureRequest : request;
    const headers = { ...asked.headers, host: new URL(this.#host.url).host };
    const onward = ask(new URL(path, this.#host.url), { method, headers, ca: this.#host.caPem }, (answer) => {
      if (isLast) {
        answer.resume();
        answer.on('end', () => this.#end());
        return;
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    asked.pipe(onward);
  }

  #end(): void {
    this.#isGone = true;
    this.close();
  }
}
