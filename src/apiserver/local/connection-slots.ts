// The slots for clients of the local HTTP port. In: sockets. Out: answers to clients that lose their slot. A new client always gets a
// slot: when all slots are taken, the oldest client without a complete request loses its slot. A limit that refused new clients
// instead would let a few slow clients block every probe.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { closedHeaders } from './routes.ts';

const tooMany = 'too many clients ask at once; try again\n';
const tooLate = 'there is no answer in time; try again\n';

function headersOf(sentence: string): Readonly<Record<string, string>> {
  return {
    ...closedHeaders,
    'content-type': 'text/plain; charset=utf-8',
    'content-length': String(sentence.length),
    'retry-after': '1',
    connection: 'close',
  };
}

export class ConnectionSlots {
  readonly #limit: number;
  /** Clients that have had an answer and not asked again, oldest first. */
  readonly #idle = new Set<Socket>();
  /** Clients without a complete request, oldest first. */
  readonly #waiting = new Set<Socket>();
  /** Clients whose answer is being made or sent, oldest first. */
  readonly #answering = new Map<Socket, ServerResponse>();
  /** Clients that have lost their slot and may read why. A socket that is closed while its client sends loses what is not read. */
  readonly #leaving = new Set<Socket>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  take(socket: Socket): void {
    while (this.#idle.size + this.#waiting.size + this.#answering.size >= this.#limit) this.#freeOne();
    this.#waiting.add(socket);
    socket.once('close', () => this.#forget(socket));
  }

  /** Called when the head of a request has arrived. */
  answering(socket: Socket, response: ServerResponse): void {
    const isKnown = this.#waiting.delete(socket) || this.#idle.delete(socket);
    if (isKnown) this.#answering.set(socket, response);
  }

  /** Called when the answer has been sent; the connection stays open for the next request. */
  waiting(socket: Socket): void {
    if (this.#answering.delete(socket)) this.#idle.add(socket);
  }

  /** Clients without a complete request go first. Among answered clients the oldest goes: it does not read its answer. */
  #freeOne(): void {
    const [socket] = [...this.#idle, ...this.#waiting, ...this.#answering.keys()];
    if (socket === undefined) return;
    const response = this.#answering.get(socket);
    const isIdle = this.#idle.has(socket);
    this.#forget(socket);
    // To a client that has asked nothing, an answer would be a fault of the protocol.
    if (isIdle || response?.headersSent) socket.destroy();
    else this.#refuse(socket, response, tooMany);
  }

  /** Called when nothing has moved for too long. */
  late(socket: Socket): void {
    const response = this.#answering.get(socket);
    this.#forget(socket);
    if (response === undefined || response.headersSent) socket.destroy();
    else this.#refuse(socket, response, tooLate);
  }

  #refuse(socket: Socket, response: ServerResponse | undefined, sentence: string): void {
    const [oldest] = this.#leaving;
    if (this.#leaving.size >= this.#limit) oldest?.destroy();
    this.#leaving.add(socket);
    const headers = headersOf(sentence);
    if (response !== undefined) return void response.writeHead(503, headers).end(sentence);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 503 Service Unavailable\r\n${lines.join('')}\r\n${sentence}`);
  }

  #forget(socket: Socket): void {
    this.#idle.delete(socket);
    this.#waiting.delete(socket);
    this.#answering.delete(socket);
    this.#leaving.delete(socket);
  }
}
