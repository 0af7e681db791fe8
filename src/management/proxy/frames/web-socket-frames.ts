// Follows the frames of one direction of a WebSocket. In: the bytes as they pass. Out: the place in the frame, and the channels that
// have been used. It reads the heads of frames and one byte behind each.
import { FramePlace } from './frame-place.ts';

/** Head of two bytes, eight of a long length, four of a mask, and the first byte of the message. */
const longestHead = 15;
const continuation = 0x0;
const close = 0x8;

export class WebSocketFrames {
  readonly place = new FramePlace({ longestHead, bytesBehind: (head, length) => this.#read(head, length) });
  #isInMessage = false;
  #isClosing = false;
  readonly #channelsUsed = new Set<number>();

  /** A message of several frames has begun; only control frames may come between them. */
  get isInMessage(): boolean {
    return this.#isInMessage;
  }

  /** A close frame has passed, so that no frame may follow. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Whether a message with content began with this byte, which is the number of its channel. */
  hasUsed(channel: number): boolean {
    return this.#channelsUsed.has(channel);
  }

  #read(head: Buffer, headLength: number): number | undefined {
    if (headLength < 2) return undefined;
    const first = head[0] as number;
    const second = head[1] as number;
    const short = second & 0x7f;
    const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
    const size = 2 + extra + ((second & 0x80) === 0 ? 0 : 4);
    if (headLength < size) return undefined;
    const length = extra === 0 ? short : extra === 2 ? head.readUInt16BE(2) : Number(head.readBigUInt64BE(2));
    const opcode = first & 0x0f;
    const isFirst = opcode !== continuation && opcode < close;
    // The first byte of a message is read with the head, because it names the channel.
    if (isFirst && length > 0 && headLength === size) return undefined;
    if (isFirst && length > 1) this.#channelsUsed.add(head[size] as number);
    if (opcode === close) this.#isClosing = true;
    if (opcode < close) this.#isInMessage = (first & 0x80) === 0;
    return length - (headLength - size);
  }
}
