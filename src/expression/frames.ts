// The language between the daemon and its sandbox process: frames of a length, a number, a kind and a text. Both sides read
// with this; neither believes a length that it did not agree to.

export type FrameKind = 'setup' | 'run' | 'ready' | 'answer' | 'timeout' | 'memory' | 'broken';

export interface Frame {
  id: number;
  kind: FrameKind;
  text: string;
}

const kinds: readonly FrameKind[] = ['setup', 'run', 'ready', 'answer', 'timeout', 'memory', 'broken'];

/** Length of the text in bytes, number of the frame, kind. */
const headBytes = 9;

/** Every character of the longest request or answer as three bytes, and room for the brackets around them. */
const maxTextBytes = 16_777_216;

export function encodeFrame(frame: Frame): Buffer {
  const length = Buffer.byteLength(frame.text);
  const bytes = Buffer.allocUnsafe(headBytes + length);
  bytes.writeUInt32LE(length, 0);
  bytes.writeUInt32LE(frame.id, 4);
  bytes.writeUInt8(kinds.indexOf(frame.kind), 8);
  bytes.write(frame.text, headBytes);
  return bytes;
}

/** Cuts a stream of bytes into frames; throws when the other side does not speak the language. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #size = 0;
  #wanted = headBytes;

  /** The frames that this chunk completes. */
  read(chunk: Buffer): Frame[] {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    if (this.#size < this.#wanted) return [];
    const bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks);
    const frames: Frame[] = [];
    let at = 0;
    this.#wanted = headBytes;
    while (bytes.length - at >= headBytes) {
      const length = bytes.readUInt32LE(at);
      const kind = kinds[bytes.readUInt8(at + 8)];
      if (kind === undefined || length > maxTextBytes) {
        throw new Error(`read a frame: wanted a known kind and at most ${maxTextBytes} bytes, got ${length} bytes`);
      }
      if (bytes.length - at < headBytes + length) {
        this.#wanted = headBytes + length;
        break;
      }
      const start = at + headBytes;
      frames.push({ id: bytes.readUInt32LE(at + 4), kind, text: bytes.toString('utf8', start, start + length) });
      at = start + length;
    }
    this.#chunks = at < bytes.length ? [bytes.subarray(at)] : [];
    this.#size = bytes.length - at;
    return frames;
  }
}
