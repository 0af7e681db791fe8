// The protocol between the daemon and its sandbox process. A frame is a head of seventeen ASCII characters (length, number and kind)
// and a text. Both sides read frames with this file, and both refuse a length beyond the limit.

import type { Writable } from 'node:stream';
import { GatheredBytes } from '../../object/text/gathered-bytes.ts';

/** again: the process works on the same requests again. */
const kinds = ['setup', 'run', 'ready', 'again', 'answer', 'timeout', 'memory', 'broken'] as const;

export interface Frame {
  kind: (typeof kinds)[number];
  /** Of a run its time limit in milliseconds; of a set-up its number, which `ready` repeats. */
  number: number;
  /** Of a run its requests, one a line. */
  text: string;
}

/** Eight hexadecimal digits for the length of the text in bytes, eight for the number, one character for the kind. */
const headBytes = 17;

/** The longest request or answer at three bytes a character, and some more for the brackets around it. */
const maxTextBytes = 16_777_216;

/** Latin-1 where possible, because Node allocates three times the memory for a text in UTF-8. */
export function writeFrame(channel: Writable, { kind, number, text }: Frame): void {
  const bytes = Buffer.byteLength(text);
  const head = `${hex(bytes)}${hex(number)}${String.fromCharCode(codeOfZero + kinds.indexOf(kind))}`;
  channel.write(head + text, bytes === text.length ? 'latin1' : 'utf8');
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
      const { length, number, kind } = headOf(bytes, at);
      if (bytes.length - start < length) {
        this.#bytesNeeded = headBytes + length;
        break;
      }
      frames.push({ kind, number, text: bytes.toString('utf8', start, start + length) });
      at = start + length;
    }
    this.#unread.add(bytes.subarray(at));
    return frames;
  }
}

function headOf(bytes: Buffer, at: number): { length: number; number: number; kind: Frame['kind'] } {
  const length = hexAt(bytes, at);
  const number = hexAt(bytes, at + 8);
  const kind = kinds[(bytes[at + 16] as number) - codeOfZero];
  // The negated comparison refuses NaN too.
  if (!(length <= maxTextBytes) || Number.isNaN(number) || kind === undefined) {
    const head = JSON.stringify(bytes.toString('latin1', at, at + headBytes));
    throw new Error(`read a frame: wanted a known kind and at most ${maxTextBytes} bytes, found head ${head}`);
  }
  return { length, number, kind };
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
