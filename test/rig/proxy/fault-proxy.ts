// The proxy between the daemons and one API server. It sees every request, answer and watch event, and asks the meddlers of the run what
// becomes of each: at the level of sockets, of HTTP and of watch events. Without a meddler everything passes as it is.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { createServer as createTlsServer } from 'node:tls';
import type { AnswerHeaders } from '../stage/direct-call.ts';
import { MemoryWire } from '../stage/memory-wire.ts';
import type { RigClock } from '../stage/rig-clock.ts';
import type { RigCluster } from '../stage/rig-cluster.ts';
import { type Passing, passingOf, type WatchedLine, watchedLine } from './passing.ts';

export type Meddling =
  | { kind: 'answer'; status: number; body: unknown; headers?: Record<string, string>; isDone?: boolean }
  /** `before`: the API server never sees the request; `after`: it has carried it out, and the answer is lost. */
  | { kind: 'cut'; when: 'before' | 'after' | 'headers' | 'body' }
  /** Neither answer nor end. */
  | { kind: 'hang' }
  | { kind: 'delay'; ms: number }
  | { kind: 'delayAnswer'; ms: number }
  | {
      kind: 'change';
      path?: string;
      /** What the API server gets in place of the body. */
      request?: (text: string) => string;
      body?: (text: string) => string;
      headers?: Record<string, string>;
    };

/** One open watch, with what may be done to it. */
export interface OpenWatch {
  readonly passing: Passing;
  /** Its connection is dead, and neither side knows. */
  readonly isHeld: boolean;
  /** From now on nothing arrives on its connection, in neither direction, and nobody is told. */
  hold(): void;
  send(text: string): void;
  end(): void;
  cut(): void;
}

export interface Meddler {
  request?(passing: Passing): Meddling | undefined;
  /** The texts that go on in place of the line; undefined = the line itself. */
  line?(watch: OpenWatch, line: WatchedLine, text: string): readonly string[] | undefined;
  /** The error of a connection attempt, and how long the attempt takes. */
  connect?(daemon: string, hostname: string): { error: Error; afterMs?: number } | undefined;
  wire?(wire: MemoryWire, daemon: string): void;
}

export interface ProxyEars {
  passed(passing: Passing): void;
  answered(passing: Passing, status: number, body: string): void;
  /** The proxy answers in place of the API server, or lets nobody answer (status 0). */
  /** A whole answer as the daemon gets it. */
  given(passing: Passing, status: number, text: string): void;
  madeUp(passing: Passing, status: number, headers: Readonly<Record<string, string>>): void;
  /** A watch begins. */
  opened(passing: Passing): void;
  event(watch: OpenWatch, line: WatchedLine): void;
  /** No meddler has touched the line. */
  delivered(watch: OpenWatch, line: WatchedLine): void;
  /** Called before the bytes of an answer leave, and before the request reaches the server; false = the daemon is gone. */
  isAlive(daemon: string): boolean;
}

/** A list of heads without objects says null on a real API server. */
function asKubernetesSays(text: string): string {
  return text.replace(/"items":\[\]/, '"items":null');
}

function smallerPage(path: string, most: number): string {
  return path.replace(
    /([?&]limit=)(\d+)/,
    (_, before: string, limit: string) => before + Math.min(Number(limit), most),
  );
}

/** Most requests have none, and nothing else would wait for its end. */
function bodyOf(request: IncomingMessage): Promise<string> | string {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  if (length === '0' && encoding === undefined) return '';
  return new Promise((resolve, reject) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => {
      text += chunk;
    });
    request.once('end', () => resolve(text));
    request.once('error', reject);
  });
}

export class FaultProxy {
  readonly cluster: RigCluster;
  meddlers: Meddler[] = [];
  readonly watches = new Set<OpenWatch>();
  /** What the server shows to daemons; undefined = they come without TLS. */
  certificate: { certPem: string; keyPem: string } | undefined;
  readonly wires = new Map<MemoryWire, string>();
  readonly #clock: RigClock;
  readonly #note: () => void;
  readonly #ears: ProxyEars;
  readonly #server: Server;
  /** By the socket that the server reads. */
  readonly #cameBy = new WeakMap<object, { wire: MemoryWire; daemon: string }>();
  #requests = 0;
  readonly #lagMs: number;
  readonly #pageItems: number | undefined;

  constructor(options: {
    cluster: RigCluster;
    clock: RigClock;
    note: () => void;
    ears: ProxyEars;
    watchLagMs?: number;
    pageItems?: number;
  }) {
    this.cluster = options.cluster;
    this.#clock = options.clock;
    this.#note = options.note;
    this.#ears = options.ears;
    this.#lagMs = options.watchLagMs ?? 0;
    this.#pageItems = options.pageItems;
    this.#server = createServer({ keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 }, (request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
  }

  /** What a daemon gets as its socket. */
  connect(
    { daemon, hostname }: { daemon: string; hostname: string },
    done: (error: Error | null, socket: MemoryWire['client'] | null) => void,
  ): void {
    this.#note();
    const failure = this.meddlers.map((one) => one.connect?.(daemon, hostname)).find((one) => one !== undefined);
    if (failure !== undefined) {
      const fail = (): void => {
        if (this.#ears.isAlive(daemon)) done(failure.error, null);
      };
      if (failure.afterMs === undefined) process.nextTick(fail);
      else this.#clock.after(failure.afterMs, fail);
      return;
    }
    process.nextTick(() => {
      if (!this.#ears.isAlive(daemon)) return;
      const wire = new MemoryWire(this.#note);
      for (const [old] of this.wires) if (!old.isOpen) this.wires.delete(old);
      this.wires.set(wire, daemon);
      for (const one of this.meddlers) one.wire?.(wire, daemon);
      this.#accept(wire, daemon);
      done(null, wire.client);
    });
  }

  #accept(wire: MemoryWire, daemon: string): void {
    const serve = (socket: Duplex): void => {
      this.#cameBy.set(socket, { wire, daemon });
      this.#server.emit('connection', socket);
    };
    if (this.certificate === undefined) {
      serve(wire.server);
      return;
    }
    const { certPem: cert, keyPem: key } = this.certificate;
    // One for each connection, so that it knows which one it is, and no session outlives its certificate.
    const secured = createTlsServer({ cert, key }, serve);
    secured.once('tlsClientError', () => wire.reset());
    secured.emit('connection', wire.server);
  }

  get openWires(): number {
    return [...this.wires.keys()].filter(({ isOpen }) => isOpen).length;
  }

  /** Resets every connection, or those of one daemon. */
  reset(daemon?: string): void {
    for (const [wire, of] of this.wires) if (daemon === undefined || of === daemon) wire.reset();
  }

  stop(): void {
    this.meddlers = [];
    this.reset();
    this.#server.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    const { method = 'GET', url = '/', headers } = request;
    const passing = passingOf({
      id: ++this.#requests,
      side: this.cluster.side,
      daemon: this.#cameBy.get(request.socket)?.daemon ?? '',
      method,
      path: url,
      headers,
      body,
      atMs: this.#clock.now(),
    });
    this.#ears.passed(passing);
    const meddling = this.#meddle(passing);
    if (!this.#ears.isAlive(passing.daemon)) return void response.destroy();
    if (meddling?.kind === 'hang') return this.#ears.madeUp(passing, 0, {});
    if (meddling?.kind === 'cut' && meddling.when === 'before') {
      this.#ears.madeUp(passing, 0, {});
      return this.#reset(response);
    }
    if (meddling?.kind === 'answer' && meddling.isDone !== true) return this.#answer(passing, response, meddling);
    if (meddling?.kind === 'delay') await this.#pause(meddling.ms);
    this.#forward({ passing, headers, response, meddling });
  }

  #meddle(passing: Passing): Meddling | undefined {
    for (const one of this.meddlers) {
      const meddling = one.request?.(passing);
      if (meddling !== undefined) {
        passing.fate = meddling.kind;
        return meddling;
      }
    }
    return undefined;
  }

  #forward(given: {
    passing: Passing;
    headers: IncomingMessage['headers'];
    response: ServerResponse;
    meddling: Meddling | undefined;
  }): void {
    const { passing, headers, response, meddling } = given;
    const asked = meddling?.kind === 'change' && meddling.path !== undefined ? meddling.path : passing.path;
    const path = this.#pageItems === undefined || passing.verb !== 'list' ? asked : smallerPage(asked, this.#pageItems);
    const change = meddling?.kind === 'change' ? meddling.request : undefined;
    const body = change === undefined ? passing.body : change(passing.body);
    const length = change === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const by = { daemon: passing.daemon || undefined, request: passing.id };
    let head: { status: number; headers: AnswerHeaders } | undefined;
    let text = '';
    let watch: { line(chunk: string): void; ended(): void } | undefined;
    const call = this.cluster.forward({ method: passing.method, path, headers: { ...headers, ...length }, body }, by, {
      begun: (status, answered) => {
        passing.status = status;
        head = { status, headers: answered };
        if (passing.verb !== 'watch' || status !== 200) return;
        if (meddling?.kind === 'cut') {
          call.abandon();
          this.#ears.madeUp(passing, 0, {});
          this.#reset(response);
        } else watch = this.#stream(passing, answered, { response, meddling, leave: () => call.abandon() });
      },
      data: (chunk) => {
        if (watch === undefined) text += chunk;
        else watch.line(chunk);
      },
      ended: () => {
        if (watch !== undefined) return watch.ended();
        const { status, headers: answered } = head ?? { status: 502, headers: {} };
        this.#whole(passing, { status, headers: answered, text }, response, meddling).catch(() =>
          this.#reset(response),
        );
      },
      cut: () => this.#reset(response),
    });
    response.once('close', () => call.abandon());
  }

  async #whole(
    passing: Passing,
    answer: { status: number; headers: AnswerHeaders; text: string },
    response: ServerResponse,
    meddling: Meddling | undefined,
  ): Promise<void> {
    const { status } = answer;
    let text = passing.isProof ? asKubernetesSays(answer.text) : answer.text;
    this.#ears.answered(passing, status, text);
    if (!this.#ears.isAlive(passing.daemon)) return void response.destroy();
    if (meddling?.kind === 'answer') return this.#answer(passing, response, meddling);
    if (meddling?.kind === 'delayAnswer') await this.#pause(meddling.ms);
    if (meddling?.kind === 'cut' && meddling.when === 'after') return this.#reset(response);
    const headers = { ...answer.headers };
    if (meddling?.kind === 'change') {
      text = meddling.body?.(text) ?? text;
      Object.assign(headers, meddling.headers);
    }
    const bytes = Buffer.from(text, 'utf8');
    response.writeHead(status, { ...headers, 'content-length': bytes.length });
    if (meddling?.kind === 'cut') {
      // The head leaves at once; the body stops in the middle.
      response.flushHeaders();
      if (meddling.when === 'body') response.write(bytes.subarray(0, Math.floor(bytes.length / 2)));
      return void setImmediate(() => this.#reset(response));
    }
    this.#ears.given(passing, status, text);
    response.end(bytes);
  }

  #stream(
    passing: Passing,
    headers: AnswerHeaders,
    { response, meddling, leave }: { response: ServerResponse; meddling: Meddling | undefined; leave: () => void },
  ): { line(chunk: string): void; ended(): void } {
    response.writeHead(200, { ...headers, ...(meddling?.kind === 'change' && meddling.headers) });
    response.flushHeaders();
    this.#ears.opened(passing);
    const wire = this.#wireBehind(response);
    const watch: OpenWatch = {
      passing,
      get isHeld() {
        return wire?.isHeld === true;
      },
      hold: () => {
        wire?.hold('client');
        wire?.hold('server');
      },
      // A lagging line may come behind the end of its stream, where a response of node still calls itself writable.
      send: (text) => void (response.writable && !response.writableEnded && response.write(text)),
      end: () => {
        response.end();
        leave();
        this.#lagging(() => this.watches.delete(watch));
      },
      cut: () => {
        this.#reset(response);
        leave();
        this.#lagging(() => this.watches.delete(watch));
      },
    };
    this.watches.add(watch);
    response.once('close', () => {
      this.watches.delete(watch);
      leave();
    });
    let rest = '';
    return {
      line: (chunk) => {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const text of lines) if (text !== '') this.#lagging(() => this.#line(watch, text));
      },
      ended: () => {
        this.#lagging(() => response.end());
        this.#lagging(() => this.watches.delete(watch));
      },
    };
  }

  #lagging(run: () => void): void {
    if (this.#lagMs === 0) run();
    else this.#clock.after(this.#lagMs, run);
  }

  #line(watch: OpenWatch, text: string): void {
    if (this.#lagMs > 0 && !this.watches.has(watch)) return;
    const line = watchedLine(text, watch.passing.resource);
    this.#ears.event(watch, line);
    for (const one of this.meddlers) {
      const instead = one.line?.(watch, line, text);
      if (instead === undefined) continue;
      for (const other of instead) watch.send(`${other}\n`);
      return;
    }
    watch.send(`${text}\n`);
    if (!watch.isHeld) this.#ears.delivered(watch, line);
  }

  #answer(
    passing: Passing,
    response: ServerResponse,
    { status, body, headers }: Extract<Meddling, { kind: 'answer' }>,
  ): void {
    passing.status = status;
    this.#ears.madeUp(passing, status, headers ?? {});
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  #wireBehind({ socket }: ServerResponse): MemoryWire | undefined {
    return socket === null ? undefined : this.#cameBy.get(socket)?.wire;
  }

  #reset(response: ServerResponse): void {
    const wire = this.#wireBehind(response);
    if (wire === undefined) response.destroy();
    else wire.reset();
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(ms, resolve));
  }
}
