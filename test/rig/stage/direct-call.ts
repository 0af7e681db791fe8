// One request that an API server of a run serves without a connection: what it is asked and what it answers go from hand to hand. No fault ever
// strikes between the proxy and its server, and bytes, parsers and sockets there cost a seventh of a run.
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';

export type AnswerHeaders = Record<string, string | string[]>;

/** Hears an answer. Each of these comes in a turn of its own, as from a socket. */
export interface Listener {
  begun(status: number, headers: AnswerHeaders): void;
  data(text: string): void;
  ended(): void;
  /** The server has broken off. */
  cut(): void;
}

export interface Asked {
  method: string;
  path: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Where one came several times; absent = none did. */
  headersDistinct?: Readonly<Record<string, string[] | undefined>>;
  body: string;
}

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export class DirectCall {
  readonly #note: () => void;
  readonly #response: DirectResponse;
  #listener: Listener | undefined;

  constructor(asked: Asked, { note, listener, closed }: { note: () => void; listener: Listener; closed: () => void }) {
    this.#note = note;
    this.#listener = listener;
    const socket = { remoteAddress: '127.0.0.1', destroy: () => this.#response.destroy() };
    this.#response = new DirectResponse(requestOf(asked, socket), (tell) => this.#later(tell));
    this.#response.once('close', closed);
  }

  /** The server begins in the next turn. */
  begin(handler: Handler): void {
    this.#note();
    process.nextTick(() => {
      const response = this.#response as unknown as ServerResponse;
      handler(response.req, response);
    });
  }

  #later(tell: (listener: Listener) => void): void {
    this.#note();
    process.nextTick(() => {
      this.#note();
      if (this.#listener !== undefined) tell(this.#listener);
    });
  }

  /** Whoever asked has gone. */
  abandon(): void {
    if (this.#listener === undefined) return;
    this.#listener = undefined;
    this.#note();
    process.nextTick(() => this.#response.destroy());
  }
}

function requestOf(
  { method, path, headers, headersDistinct = distinct(headers), body }: Asked,
  socket: object,
): object {
  const request = new Readable({ read: () => {} });
  if (body !== '') request.push(Buffer.from(body, 'utf8'));
  request.push(null);
  const told = { method, url: path, headers, headersDistinct, rawHeaders: [], complete: true, socket };
  return Object.assign(request, told);
}

function distinct(headers: Asked['headers']): Record<string, string[]> {
  const given = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return Object.fromEntries(given.map(([name, value]) => [name, [value].flat()]));
}

/** What an API server asks of Node's own. */
class DirectResponse extends EventEmitter {
  readonly req: object;
  readonly socket = null;
  readonly writableLength = 0;
  readonly writableNeedDrain = false;
  statusCode = 200;
  shouldKeepAlive = true;
  headersSent = false;
  writableFinished = false;
  destroyed = false;
  readonly #later: (tell: (listener: Listener) => void) => void;
  readonly #headers: AnswerHeaders = {};
  #hasBegun = false;
  #hasEnded = false;
  #corked: string[] | undefined;

  constructor(request: object, later: (tell: (listener: Listener) => void) => void) {
    super();
    this.req = request;
    this.#later = later;
  }

  setHeader(name: string, value: string | number | string[]): this {
    this.#headers[name.toLowerCase()] = Array.isArray(value) ? value : String(value);
    return this;
  }

  writeHead(code: number, headers: Record<string, string | number | string[]> = {}): this {
    this.statusCode = code;
    for (const [name, value] of Object.entries(headers)) this.setHeader(name, value);
    this.headersSent = true;
    return this;
  }

  flushHeaders(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.headersSent = true;
    const { statusCode } = this;
    this.#later((listener) => listener.begun(statusCode, this.#headers));
  }

  cork(): void {
    this.#corked ??= [];
  }

  uncork(): void {
    const waiting = this.#corked ?? [];
    this.#corked = undefined;
    if (waiting.length > 0) this.write(waiting.join(''));
  }

  write(chunk: string | Buffer): boolean {
    if (this.destroyed || this.#hasEnded) return false;
    this.flushHeaders();
    const text = chunk.toString();
    if (this.#corked === undefined) this.#later((listener) => listener.data(text));
    else this.#corked.push(text);
    return true;
  }

  end(chunk?: string | Buffer): this {
    if (this.destroyed || this.#hasEnded) return this;
    this.uncork();
    this.flushHeaders();
    if (chunk !== undefined) this.write(chunk);
    this.#hasEnded = true;
    this.#later((listener) => listener.ended());
    process.nextTick(() => {
      this.writableFinished = true;
      this.emit('finish');
      this.#close();
    });
    return this;
  }

  destroy(): this {
    if (this.destroyed) return this;
    if (!this.#hasEnded) this.#later((listener) => listener.cut());
    this.#close();
    return this;
  }

  #close(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    process.nextTick(() => this.emit('close'));
  }
}
