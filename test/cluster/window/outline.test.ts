import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cutText, joinText, joinValues, Outlines } from '../../../src/cluster/window/text/outline.ts';

const signs = fc.constantFrom('"', '\\', ':', ',', '\n', '1', 'a', 'é', '😀');

test('a text that was cut is joined again, whatever it says and whatever had its outline before', () => {
  const outlines = new Outlines();
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: signs }), fc.nat(9), (value, whole) => {
      const text = JSON.stringify(value);
      const cut = cutText(text);
      const outline = outlines.shared(cut);
      expect(joinText(outline, joinValues(cut.values, outline, whole))).toBe(text);
    }),
    {
      examples: [
        [{ a: '\\', 'b"': '":', c: '\\"' }, 0],
        [{ '\n': '\n', '\\': -1.5e300, e: 1e-7 }, 0],
        [[['"', { 1: 2 }], [], '', {}, 7, true, null], 0],
      ],
    },
  );
});

const objects = ['v'.repeat(200), 'w'.repeat(200), 'x'].map((long, at) => ({ kind: 'note', at, long, end: 'z' }));

test('the outline has names, brackets and words; the values have texts and numbers', () => {
  const text = JSON.stringify({ app: 'a:"b', ports: [{ name: 'x\ny', port: 80 }], isReady: true, none: null });
  expect(cutText(text)).toEqual({
    outline: '{"app":\n,"ports":[{"name":\n,"port":\n}],"isReady":true,"none":null}',
    values: ['"a:\\"b"', '"x\\ny"', '80'],
  });
});

test('a value that the first object has at the same place is left out, unless it is long or always stored', () => {
  const outlines = new Outlines();
  const stored = objects.map((object) => {
    const cut = cutText(JSON.stringify(object));
    return joinValues(cut.values, outlines.shared(cut), 1).split('\n');
  });
  expect(outlines.size).toBe(1);
  expect(stored).toEqual([
    ['"note"', '', `"${'v'.repeat(200)}"`, ''],
    ['"note"', '1', `"${'w'.repeat(200)}"`, ''],
    ['"note"', '2', '"x"', ''],
  ]);
});

test('objects that differ in their values alone have one outline, and others have another', () => {
  const outlineOf = (value: unknown) => cutText(JSON.stringify(value)).outline;
  const outline = outlineOf({ a: 'x', b: [1, { c: 2 }] });
  expect(outlineOf({ a: 'long', b: [1, { c: -3e9 }] })).toBe(outline);
  for (const other of [{ a: 'x' }, { a: 'x', b: ['1', { c: 2 }] }, { a: null, b: [1, { c: 2 }] }])
    expect(outlineOf(other)).not.toBe(outline);
});

test('outlines that a tenant invents without end, or that are long, are not remembered', () => {
  const outlines = new Outlines();
  const invented = (name: string) => `{"${name}":\n}`;
  const shared = (outline: string) => outlines.shared({ outline, values: ['"x"'] }).text;
  const sizes = Array.from({ length: 2_500 }, (_, at) => {
    shared(invented(`a${at}`));
    return outlines.size;
  });
  expect(Math.max(...sizes)).toBe(1_000);
  const { size } = outlines;
  const long = invented('long'.repeat(1_100));
  expect([shared(long), outlines.size]).toEqual([long, size]);
});
