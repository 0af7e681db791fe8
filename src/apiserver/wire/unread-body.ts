// After an answer the client may still be sending. It is read on, because a closed connection would hide the answer from a client
// that sends its whole body first; but neither for ever nor without a limit, because nothing of it counts any more.
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../clock.ts';

/** Far more than any file that somebody hands to kubectl by mistake. */
const mostBytes = 32 * 1024 * 1024;
/** A client that has not read its answer by then does not look for one. */
const longestMs = 10_000;
const lookAfterMs = 250;

export function boundUnreadBody(request: IncomingMessage, clock: Clock): void {
  if (request.complete || request.destroyed) return;
  const { socket } = request;
  const [startMs, startBytes] = [clock.now(), socket.bytesRead];
  const look = () => {
    if (request.complete || socket.destroyed) return;
    const isOver = socket.bytesRead - startBytes > mostBytes || clock.now() - startMs >= longestMs;
    if (isOver) socket.destroy();
    else timer = clock.after(lookAfterMs, look);
  };
  let timer = clock.after(lookAfterMs, look);
  request.once('close', () => timer.cancel());
}
