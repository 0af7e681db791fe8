// The protocol between the daemon and its sandbox process. A frame is a head of seventeen ASCII characters (length, id and kind)
// and a text. Frames stay texts until they are written, because a buffer for each frame would burden the garbage collector with
// memory outside the heap. Both sides read frames with this file, and both refuse a length beyond the limit.

import type { Writable } from 'node:stream';
import { GatheredBytes } from '../../object/text/gathered-bytes.ts';

/** unsure: one request of a batch failed, and the process cannot tell which. */
export type FailureKind = 'timeout' | 'memory' | 'broken' | 'unsure';
/**
 * apart: like run, but not in one batch with the request before it. again: the process works on the same requests again. costly: an answer that took more processor time than the share of a request
 * in a batch.
 */
export type FrameKind = 'setup' | 'run' | 'apart' | 'long' | 'ready' | 'again' | 'answer' | 'costly' | FailureKind;

export interface Frame {
  id: number;
  kind: FrameKind;
  text: string;
}

const requestKinds = ['setup', 'run', 'apart', 'long'] as const;
const answerKinds = ['ready', 'again', 'answer', 'costly', 'timeout', 'memory', 'broken', 'unsure'] as const;
const kinds: readonly FrameKind[] = [...requestKinds, ...answerKinds];

/** Eight hexadecimal digits for the length of the text in bytes, eight for the id, one character for the kind. */
const headBytes = 17;

/** The longest request or answer at three bytes a character, and some more for the brackets around it. */
const maxTextBytes = 16_777_216;

/** Collects frames until they are written. Short frames are joined to one text; copying long ones would cost as much as a write. */
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
    const head = `${hex(bytes)}${hex(id)}${String.fromCharCode(codeOfZero + kinds.indexOf(kind))}`;
    this.#chars += head.length + text.length;
    if (text.length < longTextChars) {
      this.#short.text += head + text;
      this.#short.isAscii &&= isAscii;
      return;
    }
    this.#short.text += head;
    this.#pieces.push(this.#short, { text, isAscii });
    this.#short = { text: '', isAscii: true };
  }

  /** Writes all frames in one system call. */
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

const longTextChars = 16_384;

/** Latin-1 where possible, because Node allocates three times the memory for a text in UTF-8. */
function writePiece(channel: Writable, { text, isAscii }: Piece): void {
  if (text !== '') channel.write(text, isAscii ? 'latin1' : 'utf8');
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0');
}

/** Cuts a stream of bytes into frames; throws when the bytes break the protocol. */
export class FrameReader {
  #unread = new GatheredBytes();
  #bytesNeeded = headBytes;

  read(chunk: Buffer): Frame[] {
    this.#unread.add(chunk);
    if (this.#unread.size < this.#bytesNeeded) return [];
    const bytes = this.#unread.take();
    const frames: Frame[] = [];
    let at = 0;
    this.#bytesNeeded = headBytes;
    while (bytes.length - at >= headBytes) {
      const start = at + headBytes;
      const { length, id, kind } = headOf(bytes, at);
      if (bytes.length - start < length) {
        this.#bytesNeeded = headBytes + length;
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
  // The negated comparison refuses NaN too.
  if (!(length <= maxTextBytes) || Number.isNaN(id) || kind === undefined) {
    const head = JSON.stringify(bytes.toString('latin1', at, at + headBytes));
    throw new Error(`read a frame: wanted a known kind and at most ${maxTextBytes} bytes, found head ${head}`);
  }
  return { length, id, kind };
}

/** Eight lower-case digits, as hex() writes them; NaN for any other characters. */
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
