import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { JSONPath } from 'jsonpath-plus';
import { describe, expect, it } from 'vitest';
import { type CompiledPath, type JsonMap, parsePath } from '../../../src/expression/path/path.ts';
import { pathText, segmentsText } from '../../../src/expression/path/path-grammar.ts';
import { overlaps, runsWithoutOverlap } from '../../../src/expression/path/path-overlap.ts';
import { writeResults } from '../../../src/expression/path/write-results.ts';
import { processorMs } from '../../own-time.ts';

interface Row {
  path: string;
  input?: JsonMap;
  createMissing?: boolean;
  result?: unknown;
  calls?: [path: string, value: unknown, exists: boolean][];
  output?: JsonMap;
  fault?: { column: number; message: string; fix?: string };
  writeFault?: string;
}

const rows: Row[] = JSON.parse(
  readFileSync(new URL('../../../fixtures/expression/paths.json', import.meta.url), 'utf8'),
);

function compiled(text: string): CompiledPath {
  const parsed = parsePath(text);
  if (parsed.kind === 'fault') throw new Error(`${text}: ${parsed.message}`);
  return parsed.path;
}

function check(row: Row): void {
  const parsed = parsePath(row.path);
  if (parsed.kind === 'fault') {
    expect({ column: parsed.column, message: parsed.message }).toEqual({
      column: row.fault?.column,
      message: expect.stringContaining(row.fault?.message ?? 'no fault'),
    });
    if (row.fault?.fix !== undefined) expect(parsed.fix).toBe(row.fault.fix);
    expect(parsed.fix).not.toBe('');
    return;
  }
  expect(row.fault).toBeUndefined();
  const root = structuredClone(row.input ?? {});
  const matches = parsed.path.match(root, { createMissing: row.createMissing === true, withPaths: true });
  const paths = matches.paths ?? [];
  const calls = matches.values.map((value, at) => [paths[at], value, !matches.missing?.has(at)]);
  if (row.calls !== undefined) expect(calls).toEqual(row.calls);
  const results = paths.map((path) => (row.result === '$path' ? path : structuredClone(row.result)));
  const written = writeResults(matches, results);
  if (row.writeFault !== undefined) {
    expect(written).toEqual({ kind: 'fault', message: expect.stringContaining(row.writeFault) });
    expect(root).toEqual(row.input);
    return;
  }
  expect(root).toEqual(row.output);
}

describe('paths', () => {
  for (const row of rows) {
    const flags = row.createMissing === true ? ' (create)' : '';
    it(`${row.path.slice(0, 60)}${flags} on ${JSON.stringify(row.input ?? null)} with ${JSON.stringify(row.result)}`, () =>
      check(row));
  }
});

const key = fc.oneof(
  fc.constantFrom(
    'a',
    'b',
    'metadata',
    'subsets',
    'example.com/key',
    '0',
    '1',
    '*',
    'it"s',
    "o'clock",
    `b"o't"h`,
    'x[y]z',
    ' s',
    'ü',
    '#/a',
  ),
  fc.constantFrom('constructor', 'prototype', 'toString'),
  fc.string({ minLength: 1, maxLength: 6 }).filter((text) => text !== '__proto__'),
);

describe('concrete paths', () => {
  it('parse back to the same segments, whatever the keys hold', () => {
    fc.assert(
      fc.property(fc.array(key, { minLength: 1, maxLength: 5 }), (keys) => {
        const parsed = parsePath(pathText(keys));
        expect(parsed.kind === 'ok' && parsed.path.segments).toEqual(keys.map((name) => ({ kind: 'key', key: name })));
      }),
      { numRuns: 2_000 },
    );
  });

  it('lead back to the very place that was matched', () => {
    fc.assert(
      fc.property(fc.dictionary(key, fc.dictionary(key, fc.integer(), { maxKeys: 4 }), { maxKeys: 4 }), (root) => {
        const matches = compiled('[*][*]').match(root, { withPaths: true });
        for (const [at, path] of (matches.paths ?? []).entries()) {
          const again = compiled(path).match(root);
          expect([again.parents[0], again.keys[0]]).toEqual([matches.parents[at], matches.keys[at]]);
        }
      }),
      { numRuns: 300 },
    );
  });
});

// The oracle: jsonpath-plus, on keys that have no meaning of their own in its grammar, over maps and arrays of maps.
const plainKeys = ['a', 'b', 'c', 'd e', 'f.g/h', 'ü'];
const tree: fc.Memo<unknown> = fc.memo(
  (depth): fc.Arbitrary<unknown> =>
    depth <= 1
      ? fc.oneof<fc.Arbitrary<unknown>[]>(fc.integer({ min: 0, max: 9 }), fc.constant('text'), fc.constant(null))
      : fc.oneof<fc.Arbitrary<unknown>[]>(
          fc.dictionary(fc.constantFrom(...plainKeys), tree(depth - 1), { maxKeys: 4 }),
          fc.array(tree(depth - 1), { maxLength: 4 }),
        ),
);
const step = fc.oneof(
  fc.constantFrom(...plainKeys).map((name) => ({ kind: 'key' as const, key: name })),
  fc.integer({ min: 0, max: 4 }).map((index) => ({ kind: 'key' as const, key: String(index) })),
  fc.constant({ kind: 'every' as const }),
);

function pointers(root: unknown, segments: readonly { kind: string; key?: string }[]): string[] {
  const path = ['$', ...segments.map((segment) => segment.key ?? '*')];
  return JSONPath({ json: root as object, path, eval: false, resultType: 'pointer', wrap: true }) as string[];
}

function pointer(text: string): string {
  const keys = compiled(text).segments.map((segment) => (segment.kind === 'key' ? segment.key : '*'));
  return keys.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

describe('match()', () => {
  it('finds what jsonpath-plus finds, on 10,000 generated paths and objects', () => {
    let found = 0;
    fc.assert(
      fc.property(tree(4), fc.array(step, { minLength: 1, maxLength: 4 }), (generated, segments) => {
        const root = { a: generated, b: [generated] };
        const path = compiled(segmentsText(segments));
        const ours = (path.match(root, { withPaths: true }).paths ?? []).map(pointer).sort();
        // In strings it finds characters; to us a scalar on the way is no match.
        const theirs = pointers(root, segments).filter((place) => !isInsideText(root, place));
        found += theirs.length;
        expect(ours).toEqual([...theirs].sort());
      }),
      { numRuns: 10_000 },
    );
    expect(found).toBeGreaterThan(3_000);
  });

  it('keeps arrays in order and sorts maps, however the map was built', () => {
    const path = compiled('[*][*]');
    const one = path.match({ z: [3, 1, 2], m: { b: 1, a: 2 } }, { withPaths: true });
    const other = path.match({ m: { a: 2, b: 1 }, z: [3, 1, 2] }, { withPaths: true });
    expect(one.paths).toEqual(['m.a', 'm.b', 'z.0', 'z.1', 'z.2']);
    expect(other.paths).toEqual(one.paths);
  });

  it('creates a key in each of 20,000 elements about as fast as it finds one there', () => {
    const addresses = Array.from({ length: 20_000 }, (_, at) => ({ ip: `10.0.0.${at}` }));
    const path = compiled('addresses[*].hostname');
    const beganAt = processorMs();
    const { missing, values } = path.match({ addresses }, { createMissing: true });
    // Ten milliseconds on a quiet machine.
    expect(processorMs() - beganAt).toBeLessThan(1_000);
    expect([missing?.size, values.length]).toEqual([20_000, 20_000]);
  });

  it('leaves a key "__proto__" of the data alone', () => {
    const root = JSON.parse('{"a":{"__proto__":{"x":1},"b":2}}');
    expect(compiled('a[*]').match(root).keys).toEqual(['b']);
  });

  it('never takes a result for the prototype of the object', () => {
    const root = JSON.parse('{"a":1}');
    writeResults(compiled('').match(root), [JSON.parse('{"__proto__":{"x":1},"b":2}')]);
    expect([Object.getPrototypeOf(root) === Object.prototype, root.b]).toEqual([true, 2]);
  });

  it('gives equivalent spellings one canonical text', () => {
    const spellings = ['metadata.annotations["a.b"]', `metadata['annotations']["a.b"]`, '.metadata.annotations."a.b"'];
    expect(new Set(spellings.map((text) => compiled(text).canonical)).size).toBe(1);
  });
});

function isInsideText(root: unknown, place: string): boolean {
  let node = root;
  for (const name of place.slice(1).split('/')) {
    if (typeof node !== 'object' || node === null) return true;
    node = (node as JsonMap)[name.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return false;
}

describe('overlaps()', () => {
  const cases: [string, string, boolean][] = [
    ['', 'a', true],
    ['a.b', 'a.c', false],
    ['a', 'a.b.c', true],
    ['a["b"]', 'a.b', true],
    ['a[*]', 'a.b', true],
    ['a[*].x', 'a.b.y', false],
    ['subsets[*].addresses[*].ip', 'subsets[*].ports[*].port', false],
    ['subsets[*].addresses[*].ip', 'subsets[*].addresses[*].nodeName', false],
    ['subsets[*].addresses[*]', 'subsets[*].addresses[*].ip', true],
    ['subsets[0]', 'subsets[1].ports', true],
    ['subsets[10]', 'subsets[11].ports', true],
    ['subsets[0].addresses', 'subsets[1].ports', false],
  ];
  it.each(cases)('%j and %j: %j', (one, other, expected) => {
    expect(overlaps(compiled(one), compiled(other))).toBe(expected);
    expect(overlaps(compiled(other), compiled(one))).toBe(expected);
  });

  it('cuts a list into runs and keeps its order', () => {
    const paths = ['a.x', 'a.y', 'a', 'b', 'a.x'].map(compiled);
    const runs = runsWithoutOverlap(paths, (path) => path).map((run) => run.map((path) => path.text));
    expect(runs).toEqual([['a.x', 'a.y'], ['a', 'b'], ['a.x']]);
  });
});
