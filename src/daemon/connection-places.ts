// The places for clients of the local HTTP port. A new client always gets a place: when all are taken, the oldest client that
// sends its request slowly, or none at all, loses its own. In: sockets. Out: destroyed sockets. A limit that turned new clients
// away would let a few slow ones block every probe.
import type { Socket } from 'node:net';

export class ConnectionPlaces {
  readonly #limit: number;
  /** Clients without a complete request, oldest first. */
  readonly #waiting = new Set<Socket>();
  /** Clients whose answer is under way, oldest first. */
  readonly #answering = new Set<Socket>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  take(socket: Socket): void {
    while (this.#waiting.size + this.#answering.size >= this.#limit) this.#giveUpOne();
    this.#waiting.add(socket);
    socket.once('close', () => this.#forget(socket));
  }

  /** The whole request is there. */
  answering(socket: Socket): void {
    if (this.#waiting.delete(socket)) this.#answering.add(socket);
  }

  /** The answer has been sent; the connection stays open for another request. */
  waiting(socket: Socket): void {
    if (this.#answering.delete(socket)) this.#waiting.add(socket);
  }

  /** Clients that wait go first; when all are being answered, the oldest is one that does not read its answer. */
  #giveUpOne(): void {
    const [oldest] = this.#waiting.size > 0 ? this.#waiting : this.#answering;
    if (oldest === undefined) return;
    this.#forget(oldest);
    oldest.destroy();
  }

  #forget(socket: Socket): void {
    this.#waiting.delete(socket);
    this.#answering.delete(socket);
  }
}
