import { Writable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Frame, FrameReader, writeFrame } from '../../../src/expression/sandbox/frames.ts';

const kinds: Frame['kind'][] = ['setup', 'run', 'ready', 'answer', 'timeout', 'memory', 'broken'];
const frame = fc.record({
  number: fc.nat(0xffffffff),
  kind: fc.constantFrom(...kinds),
  text: fc.oneof(fc.string({ unit: 'binary' }), fc.constant(''), fc.constant('x'.repeat(70_000))),
});

/** The bytes of each write to the channel. */
function calls(frames: readonly Frame[]): Buffer[] {
  const sent: Buffer[] = [];
  const channel = new Writable({
    write: (chunk, _encoding, done) => {
      sent.push(chunk);
      done();
    },
    writev: (chunks, done) => {
      sent.push(Buffer.concat(chunks.map(({ chunk }) => chunk)));
      done();
    },
  });
  channel.cork();
  for (const each of frames) writeFrame(channel, each);
  channel.uncork();
  return sent;
}

const written = (frames: readonly Frame[]) => Buffer.concat(calls(frames));

describe('writeFrame()', () => {
  it('sends the short and long frames of a corked channel in one write', () => {
    const texts = ['a', 'x'.repeat(70_000), '\u00e9', '\u20ac'.repeat(70_000), ''];
    const frames = texts.map((text, at): Frame => ({ kind: 'run', number: at, text }));
    expect(calls(frames)).toHaveLength(1);
    expect(new FrameReader().read(written(frames))).toEqual(frames);
  });
});

describe('FrameReader', () => {
  it('reads the written frames, wherever the bytes were cut', () => {
    const cuts = fc.array(fc.nat(2_000), { maxLength: 20 });
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 6 }), cuts, (frames, lengths) => {
        const bytes = written(frames);
        const reader = new FrameReader();
        const read: Frame[] = [];
        let at = 0;
        for (const length of [...lengths, bytes.length]) {
          read.push(...reader.read(bytes.subarray(at, at + length)));
          at += length;
        }
        expect(read).toEqual(frames);
      }),
      { numRuns: 200 },
    );
  });

  const malformed = [
    ['a character that is not a digit', '0000000g00000001100'],
    ['upper-case digits', '0000000A000000011xxxxxxxxxx'],
    ['a minus sign', '-000000100000001100'],
    ['a number with characters that are not digits', '00000001 000000g100'],
    ['an unknown kind', '0000000100000001zx'],
    ['a missing kind', '0000000100000001 x'],
    ['a length beyond the limit', '010000010000000111'],
    ['bytes beyond ASCII', '0000000\u00e9000000011'],
  ] as const;
  it.each(malformed)('refuses a head with %s', (_, head) => {
    expect(() => new FrameReader().read(Buffer.from(head, 'latin1'))).toThrow(/read a frame: wanted a known kind/);
  });

  it('reads the longest frame that is allowed', () => {
    const text = 'x'.repeat(16_777_216);
    expect(new FrameReader().read(written([{ kind: 'run', number: 1, text }]))[0]?.text.length).toBe(text.length);
  });
});
