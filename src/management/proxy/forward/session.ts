// Joins the two sockets of an upgraded connection. After the upstream's 101, bytes pass both ways unchanged, at the pace of the
// slower side, until one side closes or the credential of the session ends. The client is then told why: the frames are followed,
// so that the last ones are between two others.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../../clock.ts';
import type { Status } from '../../../object/meta/status.ts';
import { type Gate, gatherChunks, passOn } from '../../../object/text/small-chunks.ts';
import { errorChannels, lastFrames } from '../frames/last-frames.ts';
import { resultFrame, SpdyFrames } from '../frames/spdy-frames.ts';
import { WebSocketFrames } from '../frames/web-socket-frames.ts';
import { responseLines } from './headers.ts';
import { badGateway } from './own-answers.ts';

export interface StreamEnd {
  /** Bytes from the client. */
  bytesIn: number;
  /** Bytes to the client. */
  bytesOut: number;
  reason: string;
}

export interface ProxySession {
  readonly done: Promise<StreamEnd>;
  /** A WebSocket, and exec and attach over SPDY, get the reason in the last frames. */
  close(because: Status): void;
}

export interface SessionOptions {
  clock: Clock;
  /** Asked for what is written to either connection. */
  gateOf(socket: Socket): Gate;
  auditId: string;
  /** Name of the upstream, for messages. */
  name: string;
  subresource: string;
  /** Number of ports that a port-forward asked for. */
  ports: number;
}

/** Time for the last event of a watch, or the last frame of a session, to reach the client before the connection is cut. */
export const lastWordsMs = 300;
/** Interval of the system's probes on a silent connection. */
const keepAliveMs = 30_000;
/** Time to deliver the last bytes of a side that has closed; after it they are lost. */
const lastBytesMs = 5_000;
/** Sessions whose clients wait for a result. */
const awaited: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward']);

export function joined(
  client: { socket: Socket; head: Buffer },
  upgraded: { response: IncomingMessage; socket: Duplex; head: Buffer },
  options: SessionOptions,
): ProxySession {
  return new Joined(client, upgraded, options);
}

class Joined implements ProxySession {
  readonly done: Promise<StreamEnd>;
  readonly #options: SessionOptions;
  readonly #near: Socket;
  readonly #far: Socket;
  readonly #protocol: string;
  /** Undefined = a port-forward over SPDY, which has no stream for the reason. */
  readonly #frames: WebSocketFrames | SpdyFrames | undefined;
  #bytesIn: number;
  #bytesOut: number;
  #reason = '';
  #stopPassing: () => void = () => undefined;
  /** The last frames wait for the end of the frame that has begun. */
  #because: Status | undefined;

  constructor(
    client: { socket: Socket; head: Buffer },
    { response, socket, head: first }: { response: IncomingMessage; socket: Duplex; head: Buffer },
    options: SessionOptions,
  ) {
    this.#options = options;
    this.#near = client.socket;
    // Connections of node:http and node:https are sockets, although the type of the event is Duplex.
    this.#far = socket as Socket;
    for (const one of [this.#near, this.#far]) {
      one.setNoDelay(true);
      one.setKeepAlive(true, keepAliveMs);
      gatherChunks(one);
    }
    this.#protocol = response.headers['sec-websocket-protocol'] ?? '';
    this.#frames = this.#framesOf(response);
    this.#bytesIn = client.head.length;
    this.#bytesOut = first.length;
    this.done = this.#settled();
    this.#near.write(head(response, options.auditId), 'latin1');
    if (first.length > 0) this.#near.write(first);
    this.#frames?.place.take(first);
    if (client.head.length > 0) this.#far.write(client.head);
    this.#pipe();
  }

  close(because: Status): void {
    if (this.#because !== undefined) return;
    this.#because = because;
    this.#reason = because.message ?? '';
    const { clock } = this.#options;
    this.#stopPassing();
    const frames = this.#frames;
    if (frames === undefined) {
      this.#destroy();
      return;
    }
    const timer = clock.after(lastWordsMs, () => this.#destroy());
    this.#near.once('close', () => timer.cancel());
    // A closed socket with unread bytes resets the connection, and the client would lose the last frames.
    this.#near.resume();
    if (frames.place.isBetweenFrames) this.#sayLast(frames, because);
    else this.#far.resume();
  }

  #framesOf({ headers }: IncomingMessage): WebSocketFrames | SpdyFrames | undefined {
    if (headers.upgrade?.toLowerCase() === 'websocket') return new WebSocketFrames();
    const isObject = /^v[45]\.channel\.k8s\.io$/.test(String(headers['x-stream-protocol-version']));
    return isObject && this.#options.subresource !== 'portforward' ? new SpdyFrames() : undefined;
  }

  #pipe(): void {
    const near = this.#near;
    const far = this.#far;
    near.on('error', () => near.destroy());
    far.on('error', () => far.destroy());
    // In both protocols, one side cannot go on alone.
    near.once('end', () => {
      if (this.#reason === '') this.#reason = 'ended by the client';
      far.destroySoon();
    });
    far.once('end', () => this.#farEnded());
    near.on('data', (chunk: Buffer) => {
      if (this.#because === undefined) this.#bytesIn += chunk.length;
    });
    far.on('data', (chunk: Buffer) => {
      if (this.#because !== undefined) return this.#takeRest(chunk, this.#because);
      this.#bytesOut += chunk.length;
      this.#frames?.place.take(chunk);
    });
    // It may have ended while the audit line was written.
    if (far.readableEnded) {
      this.#farEnded();
      return;
    }
    const { gateOf } = this.#options;
    const stops = [
      passOn(near, far, { end: false, gate: gateOf(far) }),
      passOn(far, near, { end: false, gate: gateOf(near) }),
    ];
    this.#stopPassing = () => {
      for (const stop of stops) stop();
    };
  }

  #settled(): Promise<StreamEnd> {
    return new Promise((resolve) => {
      let open = 2;
      const closed = (why: string, other: Socket) => () => {
        if (this.#reason === '') this.#reason = why;
        if (this.#because === undefined || other === this.#far) other.destroySoon();
        const timer = this.#options.clock.after(lastBytesMs, () => other.destroy());
        other.once('close', () => timer.cancel());
        if (other.destroyed) timer.cancel();
        if (--open === 0) resolve({ bytesIn: this.#bytesIn, bytesOut: this.#bytesOut, reason: this.#reason });
      };
      whenClosed(this.#near, closed('ended by the client', this.#far));
      whenClosed(this.#far, () => {
        this.#farEnded();
        closed('ended by the upstream', this.#near)();
      });
    });
  }

  /** The upstream's bytes up to the end of the frame that has begun; the bytes behind it are dropped. */
  #takeRest(chunk: Buffer, because: Status): void {
    const frames = this.#frames;
    if (frames === undefined || this.#near.writableEnded) return;
    const taken = frames.place.takeOneFrame(chunk);
    this.#bytesOut += taken;
    this.#near.write(chunk.subarray(0, taken));
    if (frames.place.isBetweenFrames) this.#sayLast(frames, because);
  }

  #farEnded(): void {
    const frames = this.#frames;
    const { name, subresource } = this.#options;
    if (this.#because !== undefined || this.#near.writableEnded) return;
    const isComplete = frames === undefined || hasResult(frames);
    const isTold = this.#reason === '' && !isComplete && frames.place.isBetweenFrames && awaited.has(subresource);
    if (!isTold) {
      this.#near.destroySoon();
      return;
    }
    this.#stopPassing();
    this.close(badGateway(`${name} broke the session off; start it again`));
  }

  #sayLast(frames: WebSocketFrames | SpdyFrames, because: Status): void {
    this.#far.destroy();
    const words =
      frames instanceof SpdyFrames ? this.#lastOfSpdy(frames, because) : this.#lastOfWebSocket(frames, because);
    this.#bytesOut += words.length;
    this.#near.end(words);
  }

  #lastOfSpdy(frames: SpdyFrames, because: Status): Buffer {
    const isAwaited = awaited.has(this.#options.subresource);
    return isAwaited && frames.mayAddResult ? resultFrame(because) : Buffer.alloc(0);
  }

  #lastOfWebSocket(frames: WebSocketFrames, because: Status): Buffer {
    if (frames.isClosing) return Buffer.alloc(0);
    const { subresource, ports } = this.#options;
    return lastFrames(because, {
      ...{ protocol: this.#protocol, subresource, ports },
      ...{ hasUsed: (channel) => frames.hasUsed(channel), isInMessage: frames.isInMessage },
    });
  }

  #destroy(): void {
    this.#near.destroy();
    this.#far.destroy();
  }
}

function hasResult(frames: WebSocketFrames | SpdyFrames): boolean {
  if (frames instanceof SpdyFrames) return !frames.mayAddResult;
  return frames.isClosing || errorChannels.some((one) => frames.hasUsed(one));
}

/** Works for a socket that has already closed, too. */
function whenClosed(socket: Socket, closed: () => void): void {
  if (socket.closed) queueMicrotask(closed);
  else socket.once('close', closed);
}

function head({ rawHeaders, headers }: IncomingMessage, auditId: string): string {
  const kept = responseLines(rawHeaders);
  const lines = [...kept, 'Audit-Id', auditId, 'Connection', 'Upgrade', 'Upgrade', headers.upgrade ?? ''];
  const text = lines.map((part, at) => (at % 2 === 0 ? `${part}: ` : `${part}\r\n`)).join('');
  return `HTTP/1.1 101 Switching Protocols\r\n${text}\r\n`;
}
