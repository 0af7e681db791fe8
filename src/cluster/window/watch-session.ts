// One watch from its first byte to its end: opens the stream, cuts it into events, hands them on in slices short enough
// that the rest of the process keeps its turn, and says how it ended.
import type { Clock } from '../../clock.ts';
import type { Connection, Stream, StreamEnd } from '../wire/connection.ts';
import type { WatchEnd } from './reflector-steps.ts';
import { type Decoded, decodeEvent, LineSplitter } from './watch-lines.ts';

/**
 * kube-apiserver sends a bookmark about once a minute, but to a new watch only when its cache of the resource has come beyond
 * the version where the watch began. Of a resource without changes that takes until etcd tells the cache how far it is: ten
 * minutes by default. A request for a list makes the cache ask.
 */
const bookmarkIntervalMs = 60_000;
/** Silence beyond a bookmark interval plus this is a peer that is gone. */
const silenceMarginMs = 15_000;
const headersTimeoutMs = 30_000;
/** A third of the longest stall of the loop that we allow ourselves, since others take their share of a turn too. */
const sliceMs = 8;
/** The clock is looked at once in so many lines; a line costs about 10 µs. */
const linesPerLook = 32;
/** A bound of the slice for when the clock stands still or is coarse. */
const sliceLines = 2_000;

export interface WatchSessionOptions {
  connection: Connection;
  path: string;
  clock: Clock;
  signal: AbortSignal;
  opened(): void;
  heard(): void;
  /** Whether the server answers and has not gone back in time; asked when a watch is silent from its beginning. */
  probe(): Promise<WatchEnd | undefined>;
  /** Takes an event of which nothing but the beginning needs to be read. */
  skip(line: Buffer): boolean;
  /** Applies one event; an end given back closes the watch. */
  event(event: Extract<Decoded, { kind: 'event' }>): WatchEnd | undefined;
  /** After each slice. */
  slice(): void;
}

export async function watchOnce(options: WatchSessionOptions): Promise<WatchEnd> {
  const session = new WatchSession(options);
  return session.run();
}

interface Slice {
  startMs: number;
  lines: number;
}

class WatchSession {
  #options: WatchSessionOptions;
  #lines = new LineSplitter();
  #stream: Stream | undefined;
  #end: WatchEnd | undefined;
  /** The slice is over and lines are left. */
  #isDraining = false;
  #slice: Slice | undefined;
  /** From then on the server sends bookmarks to this watch, and silence means that they do not arrive. */
  #hasBookmark = false;
  /** The server was asked and answered while this watch was silent. */
  #isExcused = false;
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
        silenceMs: bookmarkIntervalMs + silenceMarginMs,
        isExcused: () => this.#excuseSilence(),
      },
      { opened: this.#options.opened, data: (chunk) => this.#data(chunk) },
    );
    this.#stream = stream;
    const abort = () => this.#close({ kind: 'aborted' });
    signal.addEventListener('abort', abort, { once: true });
    const streamEnd = await stream.ended;
    // What came before the end still counts, even if the slices have not got to it.
    if (this.#isDraining) await new Promise<void>((resolve) => (this.#drained = resolve));
    signal.removeEventListener('abort', abort);
    return this.#end ?? this.#toEnd(streamEnd);
  }

  async #excuseSilence(): Promise<boolean> {
    if (this.#hasBookmark || this.#isExcused) return false;
    const problem = await this.#options.probe();
    if (problem?.kind === 'rollback') this.#close(problem);
    this.#isExcused = problem === undefined;
    return this.#isExcused;
  }

  #data(chunk: Buffer): void {
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
    this.#stream?.resume();
    this.#drained?.();
  }

  /** One for all chunks that a turn of the loop brings: a socket is read many times before anyone else is asked. */
  #currentSlice(): Slice {
    if (this.#slice === undefined) {
      this.#slice = { startMs: this.#options.clock.now(), lines: 0 };
      setImmediate(() => {
        this.#slice = undefined;
        if (this.#isDraining) this.#drain();
      });
    }
    return this.#slice;
  }

  #isOver(slice: Slice): boolean {
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

  #toEnd(end: StreamEnd): WatchEnd {
    switch (end.kind) {
      case 'aborted':
        return end;
      case 'ended':
        // A server that ends in good order ends after a whole line.
        return this.#lines.unfinished ? { kind: 'broken', message: 'the watch was cut in the middle of a line' } : end;
      case 'silent':
        // A watch without bookmarks may be dead, or its server sends no bookmarks: a new watch is right in both cases.
        return this.#isExcused && !this.#hasBookmark ? { kind: 'ended' } : end;
      case 'broken':
        return end;
      case 'answered': {
        const { answer } = end;
        if (answer.kind === 'gone') return { kind: 'gone', message: answer.message };
        if (answer.kind === 'throttled' || answer.kind === 'failed')
          return { kind: answer.kind, retryAfterMs: answer.retryAfterMs, message: answer.message };
        // Rights and credentials come back without our doing; what we know stays good meanwhile.
        const isOurs = answer.kind !== 'unauthorized' && answer.kind !== 'forbidden';
        return { kind: isOurs ? 'refused' : 'failed', retryAfterMs: undefined, message: answer.message };
      }
      default:
        return end satisfies never;
    }
  }
}

function errorEnd(error: Extract<Decoded, { kind: 'error' }>): WatchEnd {
  if (error.code === 410) return { kind: 'gone', message: error.message };
  const kind = error.code === 429 ? 'throttled' : 'failed';
  return { kind, retryAfterMs: error.retryAfterMs, message: error.message };
}
