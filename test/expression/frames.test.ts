import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeFrame, type Frame, FrameReader } from '../../src/expression/frames.ts';

const kinds: Frame['kind'][] = ['setup', 'run', 'ready', 'answer', 'timeout', 'memory', 'broken'];
const frame = fc.record({
  id: fc.nat(0xffffffff),
  kind: fc.constantFrom(...kinds),
  text: fc.oneof(fc.string({ unit: 'binary' }), fc.constant(''), fc.constant('x'.repeat(70_000))),
});

describe('FrameReader', () => {
  it('reads what was written, however it was cut on the way', () => {
    const cuts = fc.array(fc.nat(2_000), { maxLength: 20 });
    fc.assert(
      fc.property(fc.array(frame, { maxLength: 6 }), cuts, (frames, lengths) => {
        const bytes = Buffer.from(frames.map(encodeFrame).join(''));
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

  const wrong = [
    ['a sign that is no digit', '0000000g00000001100'],
    ['capitals, which nobody writes', '0000000A000000011xxxxxxxxxx'],
    ['a minus', '-000000100000001100'],
    ['a number that is none', '00000001 000000g100'],
    ['a kind that there is not', '00000001000000017x'],
    ['no kind', '0000000100000001 x'],
    ['more than a frame may hold', '010000010000000111'],
    ['bytes beyond ASCII', '0000000\u00e9000000011'],
  ] as const;
  it.each(wrong)('does not believe a head with %s', (_, head) => {
    expect(() => new FrameReader().read(Buffer.from(head, 'latin1'))).toThrow(/read a frame: wanted a known kind/);
  });

  it('takes the longest frame that there is', () => {
    const text = 'x'.repeat(16_777_216);
    expect(new FrameReader().read(Buffer.from(encodeFrame({ id: 1, kind: 'run', text })))[0]?.text.length).toBe(
      text.length,
    );
  });
});
