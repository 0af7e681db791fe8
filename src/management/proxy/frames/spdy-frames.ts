// Follows the frames of one direction of SPDY/3.1, so that the result of a session can be added between two of them. In: the bytes as
// they pass. Out: the place in the frame, and the one frame that tells kubectl why a session ends.
import type { Status } from '../../../object/meta/status.ts';
import { FramePlace } from './frame-place.ts';

const headBytes = 8;
const finFlag = 0x01;
/** The clients of Kubernetes open the error stream before all others, in every version of the protocol. */
const errorStream = 1;

export class SpdyFrames {
  readonly place = new FramePlace({
    longestHead: headBytes,
    bytesBehind: (head, length) => (length < headBytes ? undefined : this.#read(head)),
  });
  #hasBegun = false;
  #hasResult = false;

  /** The streams are open, and the upstream has sent no result yet: two results on one stream cannot be read. */
  get mayAddResult(): boolean {
    return this.#hasBegun && !this.#hasResult;
  }

  /** The first bit is 0 for data; then the number of the stream follows. */
  #read(head: Buffer): number {
    this.#hasBegun = true;
    if (head.readUInt32BE(0) === errorStream) this.#hasResult = true;
    return head.readUIntBE(5, 3);
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
