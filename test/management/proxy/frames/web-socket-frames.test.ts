import { expect, it } from 'vitest';
import { WebSocketFrames } from '../../../../src/management/proxy/frames/web-socket-frames.ts';

/** A frame as a server sends it, or with a mask as a client does. */
function frame(opcode: number, payload: Buffer, { isMasked = false, isLast = true } = {}): Buffer {
  const { length } = payload;
  const mask = isMasked ? 0x80 : 0;
  const head = length < 126 ? Buffer.of(mask | length) : Buffer.of(mask | 126, length >> 8, length & 0xff);
  return Buffer.concat([Buffer.of((isLast ? 0x80 : 0) | opcode), head, Buffer.alloc(isMasked ? 4 : 0), payload]);
}
const message = (channel: number, length = 5) => Buffer.concat([Buffer.of(channel), Buffer.alloc(length)]);
const all = Buffer.concat([
  ...[frame(0x2, message(1)), frame(0x2, message(3, 300), { isLast: false }), frame(0x9, Buffer.from('ping'))],
  ...[
    frame(0x0, message(4, 2)),
    frame(0x2, Buffer.of(2)),
    frame(0x2, Buffer.alloc(0)),
    frame(0x2, message(5), { isMasked: true }),
  ],
]);

it.each([1, 2, 3, 4, 5, 7, 1_000])('knows the used channels, in pieces of %d bytes', (size) => {
  const frames = new WebSocketFrames();
  for (let at = 0; at < all.length; at += size) frames.place.take(all.subarray(at, at + size));
  // A frame that goes on names no channel, and one without content uses none.
  expect([0, 1, 2, 3, 4, 5].filter((channel) => frames.hasUsed(channel))).toEqual([1, 3, 5]);
  expect([frames.isInMessage, frames.isClosing]).toEqual([false, false]);
});

it.each([1, 1_000])(
  'knows that a message goes on, and that a close frame has passed, in pieces of %d bytes',
  (size) => {
    const frames = new WebSocketFrames();
    const take = (bytes: Buffer) => {
      for (let at = 0; at < bytes.length; at += size) frames.place.take(bytes.subarray(at, at + size));
    };
    take(frame(0x2, message(1), { isLast: false }));
    take(frame(0xa, Buffer.from('pong')));
    expect([frames.isInMessage, frames.isClosing]).toEqual([true, false]);
    take(frame(0x0, message(1)));
    expect([frames.isInMessage, frames.isClosing]).toEqual([false, false]);
    take(frame(0x8, Buffer.of(3, 232)));
    expect([frames.isInMessage, frames.isClosing]).toEqual([false, true]);
  },
);
