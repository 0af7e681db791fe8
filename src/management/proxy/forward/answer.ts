// Passes one ordinary answer from an upstream to a client: head, body as it arrives, trailers. A slow client slows the upstream
// down. If the upstream breaks off its answer, the connection to the client is cut too, so that half an answer never looks
// complete.
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../../clock.ts';
import { expired, type Status } from '../../../object/meta/status.ts';
import { type Gate, passOn } from '../../../object/text/small-chunks.ts';
import { responseLines, trailerLines, withoutLines } from './headers.ts';
import { lastWordsMs, type StreamEnd } from './session.ts';

export interface AnswerOptions {
  upstreamResponse: IncomingMessage;
  response: ServerResponse;
  isOpen: boolean;
  isWatch: boolean;
  auditId: string;
  /** Replaces the upstream's header; undefined = the client gets none. */
  location: string | undefined;
  /** The whole body, if it was already read. */
  start: Buffer | undefined;
  /** What kubectl prints in addition to the answer. */
  warning: string | undefined;
  /** Asked for what is written to a connection. */
  gateOf(socket: Socket): Gate;
  clock: Clock;
}

const lineFeed = 0x0a;

export class PassedAnswer {
  readonly done: Promise<StreamEnd>;
  readonly #parts: AnswerOptions;
  #bytesOut = 0;
  #lastByte = lineFeed;
  #reason = '';
  #isEnded = false;
  #settle: () => void = () => undefined;
  #stopPassing: () => void = () => undefined;

  constructor(parts: AnswerOptions) {
    this.#parts = parts;
    this.done = new Promise((resolve) => {
      this.#settle = () => resolve({ bytesIn: 0, bytesOut: this.#bytesOut, reason: this.#reason });
    });
    this.#writeHead();
    this.#pipe();
  }

  /** The whole answer was handed over, so a connection that closes now is no failure. */
  get isFinished(): boolean {
    return this.#isEnded;
  }

  close(because: Status): void {
    const { response, clock } = this.#parts;
    this.#reason = because.message ?? '';
    this.#stopPassing();
    const words = this.#lastWords(because);
    if (words === undefined) {
      response.destroy();
      return;
    }
    this.#bytesOut += words.length;
    response.end(words);
    clock.after(lastWordsMs, () => response.destroy());
  }

  #writeHead(): void {
    const { upstreamResponse, response, isOpen, auditId, location, start, warning } = this.#parts;
    const { statusCode = 502, statusMessage = '', rawHeaders, headers } = upstreamResponse;
    const all = responseLines(rawHeaders);
    const passed = headers.trailer === undefined || this.#takesTrailers() ? all : withoutLines(all, ['trailer']);
    const lines =
      start === undefined
        ? passed
        : [...withoutLines(passed, ['content-length']), 'Content-Length', String(start.length)];
    const placed = location === undefined ? withoutLines(lines, ['location']) : lines;
    if (location !== undefined) replace(placed, 'location', location);
    if (warning !== undefined) placed.push('Warning', `299 hostward "${warning.replaceAll(/["\\]/g, '\\$&')}"`);
    // Node throws for some characters.
    const words = /^[\x20-\x7e]*$/.test(statusMessage) ? statusMessage : (STATUS_CODES[statusCode] ?? '');
    response.writeHead(statusCode, words, [...placed, 'Audit-Id', auditId]);
    // Without this, a client would wait for the first event before it knows that the watch has begun.
    if (isOpen) response.flushHeaders();
  }

  /** Trailers stand behind the last chunk; Node throws where an answer announces them and has no chunks. */
  #takesTrailers(): boolean {
    const { upstreamResponse, response, start } = this.#parts;
    const { statusCode = 502, headers } = upstreamResponse;
    const { httpVersion, method } = response.req;
    const hasBody = method !== 'HEAD' && statusCode !== 204 && statusCode !== 304;
    return httpVersion === '1.1' && hasBody && start === undefined && headers['content-length'] === undefined;
  }

  #pipe(): void {
    const { upstreamResponse, response, start } = this.#parts;
    response.once('close', () => {
      if (this.#reason === '') this.#reason = this.#isEnded ? 'ended by the upstream' : 'the client went away';
      this.#settle();
    });
    if (start !== undefined) {
      this.#isEnded = true;
      response.end(start);
      return;
    }
    upstreamResponse.on('data', (chunk: Buffer) => {
      this.#bytesOut += chunk.length;
      this.#lastByte = chunk.at(-1) ?? this.#lastByte;
    });
    upstreamResponse.once('end', () => {
      this.#isEnded = true;
      const trailers = trailerLines(upstreamResponse.rawTrailers);
      if (trailers.length > 0 && this.#takesTrailers()) response.addTrailers(pairs(trailers));
    });
    const broken = () => {
      if (this.#isEnded) return;
      if (this.#reason === '') this.#reason = 'the upstream broke off';
      response.destroy();
    };
    upstreamResponse.once('error', broken);
    upstreamResponse.once('close', broken);
    this.#stopPassing = passOn(upstreamResponse, response, {
      end: true,
      ...(response.socket && { gate: this.#parts.gateOf(response.socket) }),
    });
  }

  /**
   * An event can only be added between two lines of JSON, not in the middle of one. Undefined = the answer must break off. A caller
   * who may go on lists again; after an outage, or from another replica, it goes on from the same resourceVersion, and is told nothing.
   */
  #lastWords(because: Status): string | undefined {
    const { isWatch, isOpen, upstreamResponse, response } = this.#parts;
    const { 'content-type': type = '', 'content-encoding': encoding } = upstreamResponse.headers;
    const isLine = isOpen && isWatch && encoding === undefined && /^application\/json\b/.test(type);
    if (!isLine || this.#lastByte !== lineFeed || response.writableEnded) return undefined;
    if (because.code === 503) return '';
    const object = because.code === 401 ? because : expired(`${because.message}; list again`);
    return `${JSON.stringify({ type: 'ERROR', object })}\n`;
  }
}

function replace(lines: string[], header: string, value: string): void {
  for (let at = 0; at < lines.length; at += 2) if (lines[at]?.toLowerCase() === header) lines[at + 1] = value;
}

function pairs(lines: readonly string[]): [string, string][] {
  return lines.flatMap((name, at) => (at % 2 === 0 ? [[name, lines[at + 1] ?? ''] as [string, string]] : []));
}
