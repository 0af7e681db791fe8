// Follows the place in the frames of one direction of a session, so that a frame of our own can be added between two of them. In: the
// bytes as they pass. Out: the place. The head of a frame is kept until it is complete; nothing is changed.

export interface FrameForm {
  longestHead: number;
  /** Called after each byte of a head; returns the bytes that follow the head, or undefined while the head is incomplete. */
  bytesBehind(head: Buffer, length: number): number | undefined;
}

export class FramePlace {
  readonly #form: FrameForm;
  readonly #head: Buffer;
  #headLength = 0;
  /** Bytes of the payload that are still to come. */
  #left = 0;

  constructor(form: FrameForm) {
    this.#form = form;
    this.#head = Buffer.alloc(form.longestHead);
  }

  /** Every frame that has begun has ended. */
  get isBetweenFrames(): boolean {
    return this.#headLength === 0 && this.#left === 0;
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
    const behind = this.#form.bytesBehind(this.#head, this.#headLength);
    if (behind !== undefined) {
      this.#left = behind;
      this.#headLength = 0;
    }
    return at + 1;
  }
}
