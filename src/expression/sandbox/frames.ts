// The language between the daemon and its sandbox process: frames of a head, which is seventeen ASCII characters for length,
// number and kind, and a text. Frames are texts until the moment they are written: a buffer for each would be memory that
// the garbage collector has to be told about. Both sides read with this; neither believes a length it did not agree to.

import type { Writable } from 'node:stream';
import { GatheredBytes } from '../../object/text/gathered-bytes.ts';

export type FrameKind = 'setup' | 'run' | 'long' | 'ready' | 'answer' | 'timeout' | 'memory' | 'broken';

export interface Frame {
  id: number;
  kind: FrameKind;
  text: string;
}

const kinds: readonly FrameKind[] = ['setup', 'run', 'long', 'ready', 'answer', 'timeout', 'memory', 'broken'];

/** Eight hexadecimal digits for the length of the text in bytes, eight for the number, one for the kind. */
const headBytes = 17;

/** Every character of the longest request or answer as three bytes, and room for the brackets around them. */
const maxTextBytes = 16_777_216;

/** Frames on their way out. Short ones are put together to one text; to copy long ones would take as long as to write them. */
export class FrameWriter {
  #pieces: Piece[] = [];
  #short: Piece = { text: '', isAscii: true };
  #chars = 0;

  get chars(): number {
    return this.#chars;
  }

  add({ id, kind, text }: Frame): void {
    const bytes = Buffer.byteLength(text);
    const isAscii = bytes === text.length;
    const head = `${hex(bytes)}${hex(id)}${kinds.indexOf(kind)}`;
    this.#chars += head.length + text.length;
    if (text.length < longText) {
      this.#short.text += head + text;
      this.#short.isAscii &&= isAscii;
      return;
    }
    this.#short.text += head;
    this.#pieces.push(this.#short, { text, isAscii });
    this.#short = { text: '', isAscii: true };
  }

  /** All of them, in one call of the system. */
  writeTo(channel: Writable): void {
    if (this.#chars === 0) return;
    const [long, short] = [this.#pieces, this.#short];
    this.clear();
    if (long.length === 0) {
      writePiece(channel, short);
      return;
    }
    channel.cork();
    for (const piece of long) writePiece(channel, piece);
    writePiece(channel, short);
    channel.uncork();
  }

  clear(): void {
    this.#pieces = [];
    this.#short = { text: '', isAscii: true };
    this.#chars = 0;
  }
}

interface Piece {
  text: string;
  isAscii: boolean;
}

const longText = 16_384;

/** For what may be any character, Node asks for three times the memory. */
function writePiece(channel: Writable, { text, isAscii }: Piece): void {
  if (text !== '') channel.write(text, isAscii ? 'latin1' : 'utf8');
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0');
}

/** Cuts a stream of bytes into frames; throws when the other side does not speak the language. */
export class FrameReader {
  #unread = new GatheredBytes();
  #wanted = headBytes;

  /** The frames that this chunk completes. */
  read(chunk: Buffer): Frame[] {
    this.#unread.add(chunk);
    if (this.#unread.size < this.#wanted) return [];
    const bytes = this.#unread.take();
    const frames: Frame[] = [];
    let at = 0;
    this.#wanted = headBytes;
    while (bytes.length - at >= headBytes) {
      const start = at + headBytes;
      const { length, id, kind } = headOf(bytes, at);
      if (bytes.length - start < length) {
        this.#wanted = headBytes + length;
        break;
      }
      frames.push({ id, kind, text: bytes.toString('utf8', start, start + length) });
      at = start + length;
    }
    this.#unread.add(bytes.subarray(at));
    return frames;
  }
}

function headOf(bytes: Buffer, at: number): { length: number; id: number; kind: FrameKind } {
  const length = hexAt(bytes, at);
  const id = hexAt(bytes, at + 8);
  const kind = kinds[(bytes[at + 16] as number) - codeOfZero];
  // What is no number is no length either.
  if (!(length <= maxTextBytes) || Number.isNaN(id) || kind === undefined) {
    const head = JSON.stringify(bytes.toString('latin1', at, at + headBytes));
    throw new Error(`read a frame: wanted a known kind and at most ${maxTextBytes} bytes, got head ${head}`);
  }
  return { length, id, kind };
}

/** Eight digits as they are written; NaN for anything else. */
function hexAt(bytes: Buffer, from: number): number {
  let value = 0;
  for (let at = from; at < from + 8; at++) value = value * 16 + (digitOf[bytes[at] as number] ?? Number.NaN);
  return value;
}

const codeOfZero = 48;
const digitOf: readonly (number | undefined)[] = Array.from({ length: 256 }, (_, code) => {
  const digit = '0123456789abcdef'.indexOf(String.fromCharCode(code));
  return digit < 0 ? undefined : digit;
});
