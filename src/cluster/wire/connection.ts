// The interface between the callers of an API server and the transport: one request with one answer, or one stream.
import { type Clock, pause } from '../../clock.ts';
import type { Answer } from '../answer.ts';
import type { AddressState, ClusterIdentity } from './same-cluster.ts';

/** The reason of a `refused` answer when our own limit refused the body, not the server. */
export const answerTooLong = 'AnswerTooLong';

/**
 * A reusable slot for the abort function of a request. An AbortSignal with many listeners, or a set, would link finished
 * requests into a chain that survives until the next full garbage collection.
 */
export interface RequestHandle {
  abort: (() => void) | undefined;
}

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path from the root of the API, with its query: `/api/v1/…?limit=500`. */
  path: string;
  /** JSON text. */
  body?: string;
  contentType?: 'application/json' | 'application/merge-patch+json';
  /** Time from the call to the last byte of the answer; default 30 s. */
  timeoutMs?: number;
  /** Limit for the body of the answer; default 8 MiB. */
  maxBytes?: number;
  /** Called just before the first byte leaves; false = do not send. */
  permit?: () => boolean;
  /** Aborts the request. The outcome of a request that has left is then unknown. */
  signal?: AbortSignal;
  /** Holds the abort function while the request runs. */
  handle?: RequestHandle;
}

export interface StreamRequest {
  path: string;
  /** Wanted forms of the answer; default `application/json`. */
  accept?: string;
  /** Time limit for the response headers. */
  headersTimeoutMs: number;
  /** The server counts as gone after this time without a byte. */
  silenceMs: number;
  /** Called after such a silence. True = the silence has a good reason, and the stream gets the same time again. */
  isExcused?: () => Promise<boolean>;
}

export interface StreamSink {
  /** The server has accepted the stream; data follows. */
  opened(): void;
  data(chunk: Buffer): void;
}

export type WatchStreamEnd =
  /** The server ended the stream regularly. */
  | { kind: 'ended' }
  | { kind: 'broken'; message: string }
  | { kind: 'silent'; message: string }
  /** The stream never began: the server answered with a status other than 200. */
  | { kind: 'answered'; answer: Exclude<Answer, { kind: 'ok' | 'notSent' }> }
  | { kind: 'aborted' };

export interface Stream {
  readonly ended: Promise<WatchStreamEnd>;
  pause(): void;
  resume(): void;
  abort(): void;
}

export interface Connection {
  /** `virtual` or `host`: the label of metrics and log lines. */
  readonly name: string;
  readonly server: string;
  request(request: ApiRequest): Promise<Answer>;
  stream(request: StreamRequest, sink: StreamSink): Stream;
  /**
   * Called when the server answers again after it could not be reached, and when other credentials are in use: what waits for the
   * server may try at once. Returns the way to stop listening.
   */
  subscribe(listener: () => void): () => void;
  /** Cuts all open requests and streams. */
  close(): Promise<void>;
}

/** A connection that follows its credentials to another address. */
export interface ClusterConnection extends Connection {
  /** From now on another server is taken only when it shows the same uid. */
  pin(identity: ClusterIdentity): void;
  readonly address: AddressState;
  /** Reads the credentials at once. */
  reread(): Promise<void>;
}

/** Waits before a step, and no longer when a server that could not be reached answers somebody again, or has another address now. */
export async function pauseBefore(
  { delayMs, isAnswered }: { delayMs: number; isAnswered?: boolean },
  {
    clock,
    connection,
    signal,
    floorMs,
  }: { clock: Clock; connection: Connection; signal: AbortSignal; floorMs: number },
): Promise<void> {
  // An answer over an old connection does not show that a new one can be opened: windows would wake each other without end.
  const notBeforeMs = clock.now() + Math.min(delayMs, floorMs);
  const woken = new AbortController();
  const forget = connection.subscribe(() => isAnswered === false && woken.abort());
  await pause(clock, delayMs, AbortSignal.any([signal, woken.signal]));
  forget();
  if (woken.signal.aborted) await pause(clock, notBeforeMs - clock.now(), signal);
}
