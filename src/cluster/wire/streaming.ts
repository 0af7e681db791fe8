// One long response on the wire: passes its bytes on as they arrive, detects silence, and reports its end exactly once.
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Clock, Timer } from '../../clock.ts';
import { GatheredBytes } from '../../object/text/gathered-bytes.ts';
import type { StreamRequest, StreamSink } from './connection.ts';

export type Streamed =
  | { kind: 'ended' }
  | { kind: 'error'; error: unknown; wasOpen: boolean }
  | { kind: 'silent' }
  | { kind: 'response'; status: number; headers: IncomingHttpHeaders; body: Buffer }
  | { kind: 'aborted' };

/** A refused stream answers with a Status of a few hundred bytes. */
const refusalLimit = 64 * 1024;

export class Streaming implements Dispatcher.DispatchHandler {
  #clock: Clock;
  #request: StreamRequest;
  #sink: StreamSink;
  #settle: (result: Streamed) => void;
  #timer: Timer;
  #controller: Dispatcher.DispatchController | undefined;
  #phase: 'waiting' | 'open' | 'refused' | 'done' = 'waiting';
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #refusal = new GatheredBytes();
  #lastByteMs: number;

  constructor(clock: Clock, request: StreamRequest, sink: StreamSink, settle: (result: Streamed) => void) {
    this.#clock = clock;
    this.#request = request;
    this.#sink = sink;
    this.#settle = settle;
    this.#lastByteMs = clock.now();
    this.#timer = clock.after(request.headersTimeoutMs, () =>
      this.fail(new Error(`no answer within ${request.headersTimeoutMs / 1000} s`)),
    );
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#phase === 'done') controller.abort(new Error('the stream was given up'));
    else this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || this.#phase === 'done') return;
    this.#status = status;
    this.#headers = headers;
    this.#timer.cancel();
    this.#phase = status === 200 ? 'open' : 'refused';
    this.#lastByteMs = this.#clock.now();
    this.#watchSilence(this.#request.silenceMs);
    if (this.#phase === 'open') this.#sink.opened();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#phase === 'done') return;
    this.#lastByteMs = this.#clock.now();
    if (this.#phase === 'open') {
      this.#sink.data(chunk);
      return;
    }
    if (this.#refusal.size + chunk.length > refusalLimit) this.#finishRefusal({ isCut: true });
    else this.#refusal.add(chunk);
  }

  onResponseEnd(): void {
    if (this.#phase === 'refused') this.#finishRefusal({ isCut: false });
    else this.#finish({ kind: 'ended' });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#finish({ kind: 'error', error, wasOpen: this.#phase === 'open' });
  }

  pause(): void {
    if (this.#phase === 'open') this.#controller?.pause();
  }

  resume(): void {
    // The server could not be heard during the pause, so the silence is measured from now.
    this.#lastByteMs = this.#clock.now();
    if (this.#phase === 'open') this.#controller?.resume();
  }

  abort(): void {
    this.#finish({ kind: 'aborted' });
    this.#controller?.abort(new Error('the stream is no longer wanted'));
  }

  #watchSilence(delayMs: number): void {
    this.#timer = this.#clock.after(delayMs, () => {
      const restMs = this.#lastByteMs + this.#request.silenceMs - this.#clock.now();
      if (restMs > 0) return this.#watchSilence(restMs);
      const excuse = this.#request.isExcused?.();
      if (excuse === undefined) this.#endSilent();
      else void excuse.then((isExcused) => this.#hearExcuse(isExcused));
    });
  }

  #hearExcuse(isExcused: boolean): void {
    if (this.#phase === 'done') return;
    const nowMs = this.#clock.now();
    const isStillSilent = this.#lastByteMs + this.#request.silenceMs <= nowMs;
    if (isStillSilent && !isExcused) {
      this.#endSilent();
      return;
    }
    if (isStillSilent) this.#lastByteMs = nowMs;
    this.#watchSilence(this.#lastByteMs + this.#request.silenceMs - nowMs);
  }

  #endSilent(): void {
    this.#finish({ kind: 'silent' });
    this.#controller?.abort(new Error('the stream has gone silent'));
  }

  #finishRefusal({ isCut }: { isCut: boolean }): void {
    const body = this.#refusal.take();
    this.#finish({ kind: 'response', status: this.#status, headers: this.#headers, body });
    if (isCut) this.#controller?.abort(new Error('the refusal is too long'));
  }

  fail(error: unknown): void {
    this.#finish({ kind: 'error', error, wasOpen: this.#phase === 'open' });
    this.#controller?.abort(error instanceof Error ? error : new Error('the request failed'));
  }

  #finish(result: Streamed): void {
    if (this.#phase === 'done') return;
    this.#phase = 'done';
    this.#timer.cancel();
    this.#settle(result);
  }
}
