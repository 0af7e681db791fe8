// The seam between the callers of an API server and the transport: one request with one answer, or one stream.
import type { Answer } from '../answer.ts';

/** The reason of a `refused` answer that this process refused, not the server. */
export const answerTooLong = 'AnswerTooLong';

/**
 * A slot that is used again and again. A signal with many listeners, or a set, links each request to the next one by
 * what it leaves behind, and that chain survives until the next full garbage collection.
 */
export interface RequestHandle {
  abort: (() => void) | undefined;
}

export interface Request {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** From the root of the API, with its query: `/api/v1/…?limit=500`. */
  path: string;
  /** JSON text. */
  body?: string;
  contentType?: 'application/json' | 'application/merge-patch+json';
  /** From the call to the last byte of the answer; default 30 s. */
  timeoutMs?: number;
  /** Of the answer's body; default 8 MiB. */
  maxBytes?: number;
  /** Asked when the first byte is about to leave; false = not sent. */
  permit?: () => boolean;
  /** Aborting an exchange that has begun leaves its outcome unknown. */
  signal?: AbortSignal;
  /** Where the way to abort it stands while it is under way. */
  handle?: RequestHandle;
}

export interface StreamRequest {
  path: string;
  /** For the response headers. */
  headersTimeoutMs: number;
  /** Without a byte for so long, the other side counts as gone. */
  silenceMs: number;
  /** Called after such a silence. True = the silence has another reason, and the stream gets the same time again. */
  isExcused?: () => Promise<boolean>;
}

export interface StreamSink {
  /** The server has accepted; data follows. */
  opened(): void;
  data(chunk: Buffer): void;
}

export type StreamEnd =
  /** The server ended it in good order. */
  | { kind: 'ended' }
  | { kind: 'broken'; message: string }
  | { kind: 'silent'; message: string }
  /** It never began: the server answered something else than 200. */
  | { kind: 'answered'; answer: Exclude<Answer, { kind: 'ok' | 'notSent' }> }
  | { kind: 'aborted' };

export interface Stream {
  readonly ended: Promise<StreamEnd>;
  pause(): void;
  resume(): void;
  abort(): void;
}

export interface Connection {
  /** `virtual` or `host`: the label of metrics and log lines. */
  readonly name: string;
  readonly server: string;
  request(request: Request): Promise<Answer>;
  stream(request: StreamRequest, sink: StreamSink): Stream;
  /** Cuts everything that is open. */
  close(): Promise<void>;
}
