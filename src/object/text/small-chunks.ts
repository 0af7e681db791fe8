// Keeps a stream cheap when its peer sends single bytes. Node counts the bytes of what waits in a stream, but a chunk of one byte costs
// about five hundred, and as a write that waits it costs more: 64 KiB of such chunks below every limit in bytes held 32 MiB. In: streams
// that Node fills from a connection. Out: the same bytes in few chunks. Knows no protocol.
import type { Readable, Writable } from 'node:stream';
import { GatheredBytes } from './gathered-bytes.ts';

/** Its own bytes are most of what such a chunk costs. */
const largeBytes = 4 * 1024;

/**
 * Each chunk costs microseconds too. A slow sender never reaches this number in one turn of the loop, nor does a body of 64 KiB that a
 * program writes word by word.
 */
const freeInTurn = 256;
const mostBeyond = 8_192;
const tinyBytes = 16;
/** Of all connections: what one may send alone. Twenty that sent as much each kept everybody waiting for a third of a second. */
const mostBeyondInTurn = mostBeyond;
const turn = { beyond: 0, ends: false };

/**
 * Copies small chunks that wait for a reader into blocks. Must be called before a byte arrives. It relies on Node to hand
 * each chunk of a connection to `push`, which Node does not promise. If it stops, small chunks cost more and nothing else changes.
 * `flooded` is called for a peer that keeps the loop busy with tiny chunks, `found` for each small chunk behind the first.
 */
export function gatherChunks(stream: Readable, flooded: () => void = nothing, found: () => void = nothing): void {
  const { push } = stream;
  let hasOne = false;
  // Most bodies are one chunk, and one chunk needs no care.
  stream.push = function pushFirst(chunk: unknown, encoding?: BufferEncoding): boolean {
    if (!hasOne || chunk === null) {
      hasOne = true;
      return push.call(stream, chunk, encoding);
    }
    stream.push = push;
    gatherFurther(stream, flooded, found);
    return stream.push(chunk, encoding);
  };
}

const nothing = (): void => undefined;

function isFlood(beyond: number, tinyInTurn: number): boolean {
  if (!turn.ends) {
    turn.ends = true;
    setImmediate(() => {
      turn.ends = false;
      turn.beyond = 0;
    });
  }
  return beyond >= mostBeyond || (++turn.beyond > mostBeyondInTurn && tinyInTurn > 2 * freeInTurn);
}

function gatherFurther(stream: Readable, flooded: () => void, found: () => void): void {
  const held = new GatheredBytes();
  const push = stream.push.bind(stream);
  const read = stream.read.bind(stream);
  let isPacket = false;
  let tinyInTurn = 0;
  let beyond = 0;
  let hasFlooded = false;
  const deliver = () => {
    if (held.size > 0) push(held.take());
  };
  const packetEnds = () => {
    isPacket = false;
    tinyInTurn = 0;
    // While older bytes wait for a reader, newer ones are still joined into one chunk.
    if (stream.readableLength === 0) deliver();
  };
  const begins = () => {
    // A packet holds thousands of chunks, and Node runs microtasks between them.
    if (!isPacket) setImmediate(packetEnds);
    isPacket = true;
  };
  stream.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    const isSmall = Buffer.isBuffer(chunk) && chunk.length < largeBytes;
    const isFirst = !isPacket && stream.readableLength === 0;
    if (isSmall) {
      begins();
      found();
    }
    const isBeyond = isSmall && chunk.length < tinyBytes && ++tinyInTurn > freeInTurn;
    if (isBeyond && isFlood(++beyond, tinyInTurn) && !hasFlooded) {
      hasFlooded = true;
      flooded();
    }
    if (held.size === 0 && (!isSmall || isFirst)) return push(chunk, encoding);
    if (!Buffer.isBuffer(chunk)) {
      deliver();
      return push(chunk, encoding);
    }
    held.add(chunk);
    return stream.readableLength + held.size < stream.readableHighWaterMark;
  };
  stream.read = (size?: number) => {
    // Node itself asks for nothing, to begin the reading.
    if (size !== 0) deliver();
    return read(size);
  };
}

/** More writes at a time are many small ones. */
const mostUnsent = 64;

/** Asked for each piece that was passed on: false = no more may follow before `goOn` is called. */
export type Gate = (bytes: number, goOn: () => void) => boolean;

/**
 * Passes bytes on at the pace of the slower side, as `pipe` does, and looks at the number of the writes that wait too. `from` gathers
 * what arrives in the meantime. Returns the function that ends it; `from` is paused then.
 */
export function passOn(from: Readable, to: Writable, { end, gate }: { end: boolean; gate?: Gate }): () => void {
  let unsent = 0;
  let isWaiting = false;
  let isShut = false;
  let isOver = false;
  const goOn = () => {
    if (!isWaiting && !isShut && !isOver) from.resume();
  };
  const sent = () => {
    unsent--;
    if (unsent > 0 || !isWaiting) return;
    isWaiting = false;
    goOn();
  };
  const opened = () => {
    isShut = false;
    goOn();
  };
  const pass = (chunk: Buffer) => {
    unsent++;
    const hasRoom = to.write(chunk, sent);
    if (!hasRoom || unsent >= mostUnsent) isWaiting = unsent > 0;
    if (gate?.(chunk.length, opened) === false) isShut = true;
    if (isWaiting || isShut) from.pause();
  };
  const ended = () => to.end();
  const stop = () => {
    isOver = true;
    isWaiting = false;
    from.off('data', pass);
    from.off('end', ended);
    from.pause();
  };
  from.on('data', pass);
  if (end) from.once('end', ended);
  to.once('close', stop);
  // It was paused by the code that looked at its first bytes.
  from.resume();
  return stop;
}
