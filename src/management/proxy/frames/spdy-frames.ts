// Follows the frames of one direction of SPDY/3.1, so that the result of a session can be added between two of them. In: the bytes as
// they pass. Out: the place in the frame, and the one frame that tells kubectl why a session ends. Heads of frames are read, and
// nothing is kept or changed.
import type { Status } from '../../../object/meta/status.ts';

const headBytes = 8;
const finFlag = 0x01;
/** The clients of Kubernetes open the error stream before all others, in every version of the protocol. */
const errorStream = 1;

export class SpdyFrames {
  readonly #head = Buffer.alloc(headBytes);
  #headLength = 0;
  /** Bytes of the payload that are still to come. */
  #left = 0;
  #hasBegun = false;
  #hasResult = false;

  get isBetweenFrames(): boolean {
    return this.#headLength === 0 && this.#left === 0;
  }

  /** The streams are open, and the upstream has sent no result yet: two results on one stream cannot be read. */
  get mayAddResult(): boolean {
    return this.#hasBegun && !this.#hasResult;
  }

  take(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) at = this.#step(bytes, at);
  }

  /** Takes the bytes up to the end of the frame that has begun, and returns how many they are. */
  takeOneFrame(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length && !this.isBetweenFrames) at = this.#step(bytes, at);
    return at;
  }

  #step(bytes: Buffer, at: number): number {
    if (this.#left > 0) {
      const taken = Math.min(this.#left, bytes.length - at);
      this.#left -= taken;
      return at + taken;
    }
    this.#head[this.#headLength++] = bytes[at] as number;
    if (this.#headLength === headBytes) this.#readHead();
    return at + 1;
  }

  /** The first bit is 0 for data; then the number of the stream follows. */
  #readHead(): void {
    const first = this.#head.readUInt32BE(0);
    this.#left = this.#head.readUIntBE(5, 3);
    this.#headLength = 0;
    this.#hasBegun = true;
    if (first === errorStream) this.#hasResult = true;
  }
}

/** The failure as the last bytes of the error stream. */
export function resultFrame(status: Status): Buffer {
  const payload = Buffer.from(JSON.stringify(status), 'utf8');
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(errorStream, 0);
  head.writeUInt8(finFlag, 4);
  head.writeUIntBE(payload.length, 5, 3);
  return Buffer.concat([head, payload]);
}
