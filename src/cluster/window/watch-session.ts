// One watch from its first byte to its end: opens the stream, splits it into events, passes the events on in slices that
// do not block the event loop, and reports how the watch ended.
import type { Clock } from '../../clock.ts';
import type { Connection, Stream, WatchStreamEnd } from '../wire/connection.ts';
import type { WatchEnd } from './reflector-steps.ts';
import { type DecodedLine, decodeEvent, LineSplitter } from './text/watch-lines.ts';

/**
 * kube-apiserver sends a bookmark about once a minute. A new watch gets its first bookmark only when the server's cache has
 * passed the version where the watch began. For a resource without changes that can take ten minutes, until etcd reports its
 * progress; a list request makes the cache ask etcd at once.
 */
const bookmarkIntervalMs = 60_000;
/** After a bookmark interval and this margin without a byte, the server counts as gone. */
const silenceMarginMs = 15_000;
const silenceLimitMs = bookmarkIntervalMs + silenceMarginMs;
/**
 * A server that has sent no byte for so long is asked whether it still answers, so that a frozen server is an outage within a
 * minute. It divides the limit, and an idle watch costs two small requests a minute.
 */
const askAfterMs = silenceLimitMs / 3;
const headersTimeoutMs = 30_000;
/** A third of the longest allowed stall of the event loop, because other work shares the turn. */
const sliceMs = 8;
/** The clock is read once per this many lines; a line costs about 10 µs. */
const linesPerLook = 32;
/** Ends a slice even when the clock is coarse or stops. */
const sliceLines = 2_000;

export interface WatchSessionOptions {
  connection: Connection;
  path: string;
  clock: Clock;
  signal: AbortSignal;
  opened(): void;
  heard(): void;
  /** Checks that the server answers and has not gone back in time; called while the watch is silent. */
  probe(): Promise<WatchEnd | undefined>;
  /** True for a line that needs no decoding, because its first bytes show a known object. */
  skip(line: Buffer): boolean;
  /** Applies one event; a returned end closes the watch. */
  event(event: Extract<DecodedLine, { kind: 'event' }>): WatchEnd | undefined;
  /** Called after each slice. */
  slice(): void;
}

export async function watchOnce(options: WatchSessionOptions): Promise<WatchEnd> {
  const session = new WatchSession(options);
  return session.run();
}

interface WorkSlice {
  startMs: number;
  lines: number;
}

class WatchSession {
  #options: WatchSessionOptions;
  #lines = new LineSplitter();
  #stream: Stream | undefined;
  #end: WatchEnd | undefined;
  /** True while lines wait for the next slice. */
  #isDraining = false;
  #slice: WorkSlice | undefined;
  /** After its first bookmark a watch gets one every minute, so a silence then means a broken connection. */
  #hasBookmark = false;
  #lastByteMs = 0;
  /** A server that was too busy for the last question has said when to come again. */
  #probeNotBeforeMs = 0;
  #drained: (() => void) | undefined;

  constructor(options: WatchSessionOptions) {
    this.#options = options;
  }

  async run(): Promise<WatchEnd> {
    const { connection, path, signal } = this.#options;
    if (signal.aborted) return { kind: 'aborted' };
    const stream = connection.stream(
      {
        path,
        headersTimeoutMs,
        silenceMs: askAfterMs,
        isExcused: () => this.#excuseSilence(),
      },
      { opened: () => this.#opened(), data: (chunk) => this.#data(chunk) },
    );
    this.#stream = stream;
    const abort = () => this.#close({ kind: 'aborted' });
    signal.addEventListener('abort', abort, { once: true });
    const streamEnd = await stream.ended;
    // Lines that arrived before the end still count, although their slice has not run yet.
    if (this.#isDraining) await new Promise<void>((resolve) => (this.#drained = resolve));
    signal.removeEventListener('abort', abort);
    return this.#end ?? this.#toEnd(streamEnd);
  }

  #opened(): void {
    this.#lastByteMs = this.#options.clock.now();
    this.#options.opened();
  }

  /** Before its first bookmark a watch may be silent for twice as long. */
  async #excuseSilence(): Promise<boolean> {
    const { clock, probe } = this.#options;
    const limitMs = this.#hasBookmark ? silenceLimitMs : 2 * silenceLimitMs;
    if (clock.now() - this.#lastByteMs >= limitMs) return false;
    if (clock.now() < this.#probeNotBeforeMs) return true;
    const problem = await probe();
    if (problem === undefined) return true;
    // A server that is too busy for a list still answers.
    if (problem.kind === 'throttled') {
      this.#probeNotBeforeMs = clock.now() + (problem.retryAfterMs ?? 0);
      return true;
    }
    if (problem.kind !== 'aborted') this.#close(problem);
    return false;
  }

  #data(chunk: Buffer): void {
    this.#lastByteMs = this.#options.clock.now();
    this.#options.heard();
    this.#lines.feed(chunk);
    if (!this.#isDraining) this.#drain();
  }

  #drain(): void {
    const slice = this.#currentSlice();
    while (this.#end === undefined) {
      if (this.#isOver(slice)) {
        this.#isDraining = true;
        this.#stream?.pause();
        this.#options.slice();
        return;
      }
      const line = this.#lines.next();
      if (line === undefined) break;
      slice.lines++;
      if (line.kind === 'tooLong') this.#close({ kind: 'fault', message: 'a line of the watch is too long' });
      else this.#line(line.bytes);
    }
    this.#options.slice();
    if (!this.#isDraining) return;
    this.#isDraining = false;
    this.#lastByteMs = this.#options.clock.now();
    this.#stream?.resume();
    this.#drained?.();
  }

  /** All chunks of one event loop turn share a slice: a socket is read many times before other work gets its turn. */
  #currentSlice(): WorkSlice {
    if (this.#slice === undefined) {
      this.#slice = { startMs: this.#options.clock.now(), lines: 0 };
      setImmediate(() => {
        this.#slice = undefined;
        if (this.#isDraining) this.#drain();
      });
    }
    return this.#slice;
  }

  #isOver(slice: WorkSlice): boolean {
    if (slice.lines >= sliceLines) return true;
    return slice.lines % linesPerLook === 0 && this.#options.clock.now() - slice.startMs >= sliceMs;
  }

  #line(bytes: Buffer): void {
    if (this.#options.skip(bytes)) return;
    const decoded = decodeEvent(bytes);
    switch (decoded.kind) {
      case 'blank':
        return;
      case 'fault':
        this.#close({ kind: 'fault', message: decoded.message });
        return;
      case 'error':
        this.#close(errorEnd(decoded));
        return;
      case 'event': {
        this.#hasBookmark ||= decoded.type === 'BOOKMARK';
        const end = this.#options.event(decoded);
        if (end !== undefined) this.#close(end);
        return;
      }
      default:
        decoded satisfies never;
    }
  }

  #close(end: WatchEnd): void {
    this.#end ??= end;
    this.#stream?.abort();
  }

  #toEnd(end: WatchStreamEnd): WatchEnd {
    switch (end.kind) {
      case 'aborted':
        return end;
      case 'ended':
        // A regular end comes after a whole line.
        return this.#lines.unfinished ? { kind: 'broken', message: 'the watch was cut in the middle of a line' } : end;
      case 'silent':
        // Either the watch is dead or its server sends no bookmarks; a new watch is right in both cases.
        if (!this.#hasBookmark) return { kind: 'ended' };
        return {
          kind: 'silent',
          message: `${this.#options.connection.name} cluster: no byte for ${silenceLimitMs / 1000} s`,
        };
      case 'broken':
        return end;
      case 'answered': {
        const { answer } = end;
        if (answer.kind === 'gone') return { kind: 'gone', message: answer.message };
        if (answer.kind === 'throttled' || answer.kind === 'failed')
          return { kind: answer.kind, retryAfterMs: answer.retryAfterMs, message: answer.message, isAnswered: true };
        // Rights and credentials may come back without a new list, and the cache stays valid until then.
        const isOurs = answer.kind !== 'unauthorized' && answer.kind !== 'forbidden';
        const kind = isOurs ? 'refused' : 'failed';
        const isForbidden = answer.kind === 'forbidden';
        return { kind, retryAfterMs: undefined, message: answer.message, isAnswered: true, isForbidden };
      }
      default:
        return end satisfies never;
    }
  }
}

function errorEnd(error: Extract<DecodedLine, { kind: 'error' }>): WatchEnd {
  if (error.code === 410) return { kind: 'gone', message: error.message };
  const kind = error.code === 429 ? 'throttled' : 'failed';
  return { kind, retryAfterMs: error.retryAfterMs, message: error.message, isAnswered: true };
}
