// Bounds how long a connection may take for its last bytes. When a client resets a connection with unread bytes that nobody reads,
// Node neither ends nor fails the write, and does not close the socket: only `destroy()` frees its descriptor.
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Clock, pause } from '../../clock.ts';

/** A client takes its answer within a moment. */
export const lastBytesMs = 5_000;
/** For the answers of connections that Node has handed over, which it does not close itself. */
const closeMs = 2_000;

/** For a socket whose last bytes are written, and that nobody reads. */
export function boundLastBytes(socket: Duplex, clock: Clock): void {
  if (socket.closed) return;
  const timer = clock.after(lastBytesMs, () => socket.destroy());
  socket.once('close', () => timer.cancel());
}

/** All that are open, those that Node has handed over too: Node does not close those with the server. */
const openSockets = new WeakMap<Server, Set<Socket>>();

export function keepOpenSockets(server: Server): void {
  const sockets = new Set<Socket>();
  openSockets.set(server, sockets);
  // With TLS this is the socket below, which takes the TLS socket with it.
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
}

/** Cuts off running answers; for a server with `keepOpenSockets`, where `closed` resolves in the callback of `server.close`. */
export async function closeConnections(server: Server, closed: Promise<void>, clock: Clock): Promise<void> {
  server.closeAllConnections();
  const patience = new AbortController();
  await Promise.race([closed, pause(clock, closeMs, patience.signal)]);
  patience.abort();
  for (const socket of openSockets.get(server) ?? []) socket.destroy();
  await closed;
}
