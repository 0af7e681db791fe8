// One request on the wire and its answer: collects the body, enforces the deadline, and settles exactly once.
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Clock, Timer } from '../../clock.ts';
import { GatheredBytes } from '../../object/text/gathered-bytes.ts';
import type { RequestHandle } from './connection.ts';

export type Exchanged =
  | { kind: 'response'; status: number; headers: IncomingHttpHeaders; body: Buffer }
  | { kind: 'error'; error: unknown }
  | { kind: 'tooLong' }
  | { kind: 'notPermitted' };

export interface ExchangeLimits {
  timeoutMs: number;
  maxBytes: number;
  permit: (() => boolean) | undefined;
  signal: AbortSignal | undefined;
  handle: RequestHandle | undefined;
}

class NotPermitted extends Error {}

/** Not even the head of an answer came. */
export class NoAnswer extends Error {}

export class Exchange implements Dispatcher.DispatchHandler {
  #settle: (result: Exchanged) => void;
  #limits: ExchangeLimits;
  #timer: Timer;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #body = new GatheredBytes();
  #isSettled = false;
  #abort = () => this.fail(new Error('the request was given up'));

  constructor(clock: Clock, limits: ExchangeLimits, settle: (result: Exchanged) => void) {
    this.#settle = settle;
    this.#limits = limits;
    this.#timer = clock.after(limits.timeoutMs, () => {
      const message = `no complete answer within ${limits.timeoutMs / 1000} s`;
      this.fail(this.#status === 0 ? new NoAnswer(message) : new Error(message));
    });
    if (limits.handle !== undefined) limits.handle.abort = this.#abort;
    if (limits.signal?.aborted) this.#abort();
    else limits.signal?.addEventListener('abort', this.#abort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // The request may have waited for a connection, and its permit may have ended since.
    if (!this.#isSettled && this.#limits.permit?.() === false) this.#finish({ kind: 'notPermitted' });
    if (this.#isSettled) controller.abort(new NotPermitted());
    else this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isSettled) return;
    this.#body.add(chunk);
    if (this.#body.size <= this.#limits.maxBytes) return;
    this.#finish({ kind: 'tooLong' });
    this.#controller?.abort(new Error('the answer is too long'));
  }

  onResponseEnd(): void {
    this.#finish({ kind: 'response', status: this.#status, headers: this.#headers, body: this.#body.take() });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#finish({ kind: 'error', error });
  }

  fail(error: unknown): void {
    this.#finish({ kind: 'error', error });
    this.#controller?.abort(error instanceof Error ? error : new Error('the request failed'));
  }

  #finish(result: Exchanged): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#timer.cancel();
    if (this.#limits.handle !== undefined) this.#limits.handle.abort = undefined;
    this.#limits.signal?.removeEventListener('abort', this.#abort);
    this.#body = new GatheredBytes();
    this.#settle(result);
  }
}
