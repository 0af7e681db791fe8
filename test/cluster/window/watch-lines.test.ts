import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeEvent, LineSplitter } from '../../../src/cluster/window/text/watch-lines.ts';

function linesOf(splitter: LineSplitter): string[] {
  const lines: string[] = [];
  for (let next = splitter.next(); next !== undefined; next = splitter.next()) {
    if (next.kind === 'tooLong') return [...lines, 'TOO LONG'];
    lines.push(next.bytes.toString('utf8'));
  }
  return lines;
}

test('lines are the same whatever the sizes of the chunks', () => {
  const line = fc.array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: 12 }).map((points) =>
    String.fromCodePoint(...points)
      .toWellFormed()
      .replaceAll('\n', ' '),
  );
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
      (texts, sizes) => {
        const bytes = Buffer.from(texts.map((text) => `${text}\n`).join(''));
        const splitter = new LineSplitter();
        const found: string[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = sizes[turn % sizes.length] ?? 1;
          splitter.feed(bytes.subarray(at, at + size));
          found.push(...linesOf(splitter));
          at += size;
        }
        expect(found).toEqual(texts);
        expect(splitter.unfinished).toBe(false);
      },
    ),
    { numRuns: 40 },
  );
});

test('a line without its end is unfinished, and a line over the limit is reported before it is stored', () => {
  const splitter = new LineSplitter(10);
  splitter.feed(Buffer.from('one\nhalf'));
  expect(linesOf(splitter)).toEqual(['one']);
  expect(splitter.unfinished).toBe(true);
  splitter.feed(Buffer.from(' of a long line'));
  expect(linesOf(splitter)).toEqual(['TOO LONG']);
});

test('the decoder never throws, whatever the bytes', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array(),
        fc.json().map((text) => Buffer.from(text)),
      ),
      (bytes) => {
        const decoded = decodeEvent(Buffer.from(bytes));
        expect(['event', 'error', 'fault', 'blank']).toContain(decoded.kind);
      },
    ),
  );
});

test('an empty line, with or without a carriage return, is neither an event nor a fault', () => {
  expect(decodeEvent(Buffer.from('')).kind).toBe('blank');
  expect(decodeEvent(Buffer.from('\r')).kind).toBe('blank');
});

test('a very deep object is a fault, not the end of the process', () => {
  const deep = `{"type":"ADDED","object":${'['.repeat(500_000)}`;
  expect(decodeEvent(Buffer.from(deep)).kind).toBe('fault');
});
