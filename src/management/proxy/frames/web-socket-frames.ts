// Follows the frames of one direction of a WebSocket, so that a frame of our own can be added between two of them. In: the bytes
// as they pass. Out: the place in the frame. It reads the heads of frames and one byte behind each; it keeps and changes nothing.

/** Head of two bytes, eight of a long length, four of a mask, and the first byte of the message. */
const longestHead = 15;
const continuation = 0x0;
const close = 0x8;

export class WebSocketFrames {
  readonly #head = Buffer.alloc(longestHead);
  #headLength = 0;
  /** Bytes of the payload that are still to come. */
  #left = 0;
  #isInMessage = false;
  #isClosing = false;
  readonly #channelsUsed = new Set<number>();

  /** No frame has begun that has not ended. */
  get isBetweenFrames(): boolean {
    return this.#headLength === 0 && this.#left === 0;
  }

  /** A message of several frames has begun; only control frames may stand between them. */
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
    this.#readHead();
    return at + 1;
  }

  #readHead(): void {
    if (this.#headLength < 2) return;
    const first = this.#head[0] as number;
    const second = this.#head[1] as number;
    const short = second & 0x7f;
    const extra = short === 126 ? 2 : short === 127 ? 8 : 0;
    const size = 2 + extra + ((second & 0x80) === 0 ? 0 : 4);
    if (this.#headLength < size) return;
    const length =
      extra === 0 ? short : extra === 2 ? this.#head.readUInt16BE(2) : Number(this.#head.readBigUInt64BE(2));
    const opcode = first & 0x0f;
    const isFirst = opcode !== continuation && opcode < close;
    // The first byte of a message is read with the head, because it names the channel.
    if (isFirst && length > 0 && this.#headLength === size) return;
    const read = this.#headLength - size;
    if (isFirst && length > 1) this.#channelsUsed.add(this.#head[size] as number);
    if (opcode === close) this.#isClosing = true;
    if (opcode < close) this.#isInMessage = (first & 0x80) === 0;
    this.#left = length - read;
    this.#headLength = 0;
  }
}
