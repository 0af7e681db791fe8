// After an answer the client may still be sending. It is read on, because a closed connection would hide the answer from a client
// that sends its whole body first; but neither for ever nor without a limit, because nothing of it counts any more: a thousand refused
// uploads held more memory than those that were let in.
import type { IncomingMessage } from 'node:http';
import type { Clock, Timer } from '../../clock.ts';

/** Far more than any file that somebody hands to kubectl by mistake. */
const mostBytes = 32 * 1024 * 1024;
/** A client that has not read its answer by then does not look for one. */
const longestMs = 10_000;
const lookAfterMs = 250;
/** A connection with TLS costs about 100 KiB. Honest clients have sent the rest within a moment. */
const mostUnreadBodies = 64;

export class UnreadBodies {
  readonly #clock: Clock;
  /** Oldest first. */
  readonly #open = new Map<IncomingMessage, Timer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Called for an answered request. When there are too many, the oldest one is cut. */
  bound(request: IncomingMessage): void {
    if (request.complete || request.destroyed) return;
    const { socket } = request;
    endAfterBody(request);
    const [startMs, startBytes] = [this.#clock.now(), socket.bytesRead];
    const look = () => {
      if (request.complete) return void this.#open.delete(request);
      const isOver = socket.bytesRead - startBytes > mostBytes || this.#clock.now() - startMs >= longestMs;
      if (isOver || socket.destroyed) this.#cut(request);
      else this.#open.set(request, this.#clock.after(lookAfterMs, look));
    };
    this.#open.set(request, this.#clock.after(lookAfterMs, look));
    request.once('close', () => this.#forget(request));
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= mostUnreadBodies) break;
      if (oldest.complete) this.#forget(oldest);
      else this.#cut(oldest);
    }
  }

  #cut(request: IncomingMessage): void {
    this.#forget(request);
    request.socket.destroy();
  }

  #forget(request: IncomingMessage): void {
    this.#open.get(request)?.cancel();
    this.#open.delete(request);
  }
}

/** After the last answer of a connection Node closes it at once, also under a client that still sends. */
function endAfterBody(request: IncomingMessage): void {
  const { socket } = request;
  const { destroySoon } = socket;
  let isLast = false;
  socket.destroySoon = () => {
    isLast = true;
    socket.end();
  };
  request.once('close', () => {
    socket.destroySoon = destroySoon;
    if (isLast) socket.destroySoon();
  });
}
