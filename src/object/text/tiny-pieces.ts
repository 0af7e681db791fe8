// Slows down a connection whose server answers in tiny pieces. A piece costs microseconds, whatever its size, and one packet holds ten
// thousand chunks of one byte, or thousands of TLS records: a server that sends nothing else would take the event loop. In: a socket that
// Node reads, before its first byte. Out: the same bytes, a few kilobytes at a time, so that a flood is seen before much of it is
// parsed; behind a slice of tiny pieces the rest waits. Knows no protocol.
import type { Socket } from 'node:net';
import { GatheredBytes } from './gathered-bytes.ts';

/** Calls back when the connection may go on. */
export type Wait = (goOn: () => void) => void;

/** Parsed at a time, doubled while the pieces are large. */
const firstBytes = 4 * 1024;
/** Of a TLS record, so that TLS is not cut any further. */
const mostBytes = 16 * 1024;
/** With what surrounds it, as the size of its chunk. */
const tinyPieceBytes = 24;
/** Of a connection in one turn of the loop: a terminal, a log and a watch send far fewer, unless the loop was late. */
const freePieces = 256;
/** Of all connections in one turn, whatever their size: some milliseconds. */
const piecesOfTurn = 1_024;

const turn = { id: 0, pieces: 0, ends: false };

function endTurnLater(): void {
  if (turn.ends) return;
  turn.ends = true;
  setImmediate(() => {
    turn.ends = false;
    turn.pieces = 0;
    turn.id++;
  });
}

const ofSockets = new WeakMap<Socket, TinyPieces>();

/**
 * Relies on Node to hand all bytes of a connection to `push`, which Node does not promise. If it stops, a flood costs more and nothing
 * else changes. A kept connection serves one request after the other, each with its own `slowed`.
 */
export function slowTinyPieces(socket: Socket, slowed: Wait): TinyPieces {
  const known = ofSockets.get(socket) ?? new TinyPieces(socket);
  ofSockets.set(socket, known);
  known.slowed = slowed;
  return known;
}

export class TinyPieces {
  slowed: Wait = (goOn) => void setImmediate(goOn);
  readonly #socket: Socket;
  readonly #push: Socket['push'];
  readonly #read: Socket['read'];
  readonly #held = new GatheredBytes();
  #isWaiting = false;
  #hasEnded = false;
  #sliceBytes = firstBytes;
  #turnId = -1;
  #pieces = 0;
  #bytes = 0;
  /** Since the beginning. What waits in the socket is not parsed yet. */
  #pushed = 0;
  #parsed = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#push = socket.push.bind(socket);
    this.#read = socket.read.bind(socket);
    socket.push = (chunk: unknown, encoding?: BufferEncoding) => this.#take(chunk, encoding);
    socket.read = (size?: number) => {
      if (this.#isWaiting) return null;
      const read: unknown = this.#read(size);
      this.#judge();
      return read;
    };
  }

  /** The parser has found one, in what was read last. */
  found(): void {
    this.#begin();
    this.#pieces++;
    turn.pieces++;
  }

  #take(chunk: unknown, encoding?: BufferEncoding): boolean {
    if (!Buffer.isBuffer(chunk)) {
      if (chunk === null && this.#isWaiting) {
        this.#hasEnded = true;
        return false;
      }
      return this.#push(chunk, encoding);
    }
    // A record of TLS comes alone.
    if (chunk.length < tinyPieceBytes) this.found();
    if (!this.#isWaiting) return this.#feed(chunk);
    this.#held.add(chunk);
    return false;
  }

  /** False = Node reads no more for now. */
  #feed(chunk: Buffer): boolean {
    let hasRoom = true;
    for (let at = 0; at < chunk.length; ) {
      if (this.#isWaiting) {
        this.#held.add(chunk.subarray(at));
        return false;
      }
      const slice = chunk.subarray(at, at + this.#sliceBytes);
      at += slice.length;
      this.#pushed += slice.length;
      hasRoom = this.#push(slice);
      this.#judge();
    }
    return hasRoom && !this.#isWaiting;
  }

  #begin(): void {
    endTurnLater();
    if (this.#turnId === turn.id) return;
    this.#turnId = turn.id;
    this.#pieces = 0;
    this.#bytes = 0;
  }

  #judge(): void {
    if (this.#isWaiting) return;
    this.#begin();
    const parsed = this.#pushed - this.#socket.readableLength;
    this.#bytes += parsed - this.#parsed;
    this.#parsed = parsed;
    const isFlood = this.#pieces > freePieces && this.#bytes < this.#pieces * tinyPieceBytes;
    this.#sliceBytes = isFlood ? firstBytes : Math.min(mostBytes, this.#sliceBytes * 2);
    // Only who has many pieces waits for those of others.
    if (!isFlood && (turn.pieces <= piecesOfTurn || this.#pieces <= freePieces)) return;
    this.#isWaiting = true;
    const goOn = () => this.#goOn();
    if (isFlood) this.slowed(goOn);
    else setImmediate(goOn);
  }

  #goOn(): void {
    const socket = this.#socket;
    this.#isWaiting = false;
    if (socket.destroyed) return;
    // What was found before the wait has been judged.
    this.#pieces = 0;
    this.#bytes = 0;
    if (this.#held.size > 0) this.#feed(this.#held.take());
    if (this.#isWaiting) return;
    if (this.#hasEnded) {
      this.#hasEnded = false;
      this.#push(null);
    }
    if (socket.readableFlowing !== true) socket.read(0);
    else while (socket.read() !== null);
  }
}
