// The slots for clients of the local HTTP port. In: sockets. Out: destroyed sockets. A new client always gets a slot: when all
// slots are taken, the oldest client without a complete request loses its slot. A limit that refused new clients instead
// would let a few slow clients block every probe.
import type { Socket } from 'node:net';

export class ConnectionSlots {
  readonly #limit: number;
  /** Clients without a complete request, oldest first. */
  readonly #waiting = new Set<Socket>();
  /** Clients to which the server is sending an answer, oldest first. */
  readonly #answering = new Set<Socket>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  take(socket: Socket): void {
    while (this.#waiting.size + this.#answering.size >= this.#limit) this.#freeOne();
    this.#waiting.add(socket);
    socket.once('close', () => this.#forget(socket));
  }

  /** Called when the whole request has arrived. */
  answering(socket: Socket): void {
    if (this.#waiting.delete(socket)) this.#answering.add(socket);
  }

  /** Called when the answer has been sent; the connection stays open for the next request. */
  waiting(socket: Socket): void {
    if (this.#answering.delete(socket)) this.#waiting.add(socket);
  }

  /** Clients without a complete request go first. Among answered clients the oldest goes: it does not read its answer. */
  #freeOne(): void {
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
