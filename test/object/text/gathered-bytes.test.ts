import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readBody } from '../../../src/apiserver/wire/request-body.ts';
import { LineSplitter } from '../../../src/cluster/window/text/watch-lines.ts';
import { Exchange } from '../../../src/cluster/wire/exchange.ts';
import { Streaming } from '../../../src/cluster/wire/streaming.ts';
import { FrameReader } from '../../../src/expression/sandbox/frames.ts';
import { GatheredBytes } from '../../../src/object/text/gathered-bytes.ts';
import { VirtualClock } from '../../virtual-clock.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
// Takes the flag back, because isolates of other files in this process would offer gc too, and a realm with an unexpected global
// does not start.
setFlagsFromString('--no-expose-gc');

test('the bytes do not depend on the sizes of the chunks', () => {
  const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 15_000, max: 40_000 })));
  fc.assert(
    fc.property(sizes, sizes, (first, second) => {
      const gathered = new GatheredBytes();
      for (const round of [first, second]) {
        const chunks = round.map((size, at) => Buffer.alloc(size, at + 1));
        for (const chunk of chunks) gathered.add(chunk);
        const whole = Buffer.concat(chunks);
        expect(gathered.size).toBe(whole.length);
        expect(gathered.take().equals(whole)).toBe(true);
        expect(gathered.size).toBe(0);
      }
    }),
    { numRuns: 50 },
  );
});

/** As separate Buffers these bytes would cost about 60 MB. */
const singleBytes = 200_000;
const allowedBytes = 4_000_000;

function trickle(take: (chunk: Buffer) => void): number {
  const usedBytes = () => {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = usedBytes();
  for (let count = 0; count < singleBytes; count++) take(Buffer.from(new Uint8Array([0x78])));
  return usedBytes() - before;
}

const ignored = () => undefined;

describe('single bytes cost no more memory than a long chunk', () => {
  test('in a line of a watch', () => {
    const lines = new LineSplitter();
    const used = trickle((chunk) => {
      lines.feed(chunk);
      lines.next();
    });
    expect(used).toBeLessThan(allowedBytes);
    expect(lines.unfinished).toBe(true);
  });

  test('in an answer, also after the limit of its length', () => {
    for (const maxBytes of [2 * singleBytes, 10]) {
      const results: string[] = [];
      const limits = { timeoutMs: 1_000, maxBytes, permit: undefined, signal: undefined, handle: undefined };
      const exchange = new Exchange(new VirtualClock(), limits, ({ kind }) => results.push(kind));
      expect(trickle((chunk) => exchange.onResponseData(undefined as never, chunk))).toBeLessThan(allowedBytes);
      exchange.onResponseEnd();
      expect(results).toEqual([maxBytes > singleBytes ? 'response' : 'tooLong']);
    }
  });

  test('in the body of a refused watch', () => {
    const results: string[] = [];
    const request = { path: '/', headersTimeoutMs: 1_000, silenceMs: 1_000 };
    const sink = { opened: ignored, data: ignored };
    const streaming = new Streaming(new VirtualClock(), request, sink, ({ kind }) => results.push(kind));
    streaming.onResponseStart(undefined as never, 500, {});
    expect(trickle((chunk) => streaming.onResponseData(undefined as never, chunk))).toBeLessThan(allowedBytes);
    expect(results).toEqual(['response']);
  });

  test('in a frame of the sandbox', () => {
    const frames = new FrameReader();
    frames.read(Buffer.from('00ffffff000000013'));
    const used = trickle((chunk) => frames.read(chunk));
    expect(used).toBeLessThan(allowedBytes);
    expect(frames.read(Buffer.alloc(0xffffff - singleBytes, 0x78))[0]?.text).toHaveLength(0xffffff);
  });

  test('in the body of a request', async () => {
    const request = new IncomingMessage(new Socket());
    const body = readBody(request, singleBytes);
    const used = trickle((chunk) => request.emit('data', chunk));
    expect(used).toBeLessThan(allowedBytes);
    request.emit('end');
    expect((await body).length).toBe(singleBytes);
  });
});
