import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyJsonPatch, maxJsonPatchOperations } from '../../../src/object/patch/json-patch.ts';
import { copyJson, type Json } from '../../../src/object/text/json.ts';
import { processorMs } from '../../own-time.ts';
import { cases } from '../fixture.ts';

/** The same on an array; undefined when an index is outside. */
function plainly(
  list: Json[],
  patch: readonly { op: string; path: string; from?: string; value?: Json }[],
): Json[] | undefined {
  for (const { op, path, from = '', value = null } of patch) {
    const [at, source] = [Number(path.slice(3)), Number(from.slice(3))];
    if (from !== '' && source >= list.length) return undefined;
    const item = from === '' ? value : (list[source] as Json);
    if (op === 'move') list.splice(source, 1);
    if (at > list.length || (at === list.length && (op === 'remove' || op === 'replace'))) return undefined;
    if (op === 'remove') list.splice(at, 1);
    else list.splice(at, op === 'replace' ? 1 : 0, item);
  }
  return list;
}

describe('applyJsonPatch()', () => {
  it.each(cases<{ value: Json; patch: Json; result?: Json; refused?: string }>('json-patches'))(
    'does as kube-apiserver does: $patch',
    ({ value, patch, result, refused }) => {
      const before = copyJson(value);
      const outcome = applyJsonPatch(value, patch);
      if (refused === undefined) expect(outcome).toEqual({ ok: true, value: result });
      else expect(outcome).toMatchObject({ ok: false, reason: refused });
      expect(value).toEqual(before);
    },
  );

  const malformed: unknown[] = [{}, null, 'x', [1], [null], [[]]];
  it.each(malformed)('refuses %j as malformed', (patch) => {
    expect(applyJsonPatch({}, patch)).toMatchObject({ ok: false, reason: 'malformed' });
  });

  it('names the operation that failed', () => {
    const patch = [
      { op: 'add', path: '/a', value: 1 },
      { op: 'remove', path: '/b' },
    ];
    expect(applyJsonPatch({}, patch)).toEqual({
      ok: false,
      reason: 'doesNotApply',
      operation: 1,
      message: 'Cannot apply operation 1 ("remove" at "/b"): there is no "b"',
    });
  });

  it('treats __proto__ as an ordinary member and changes no prototype', () => {
    const patch = JSON.parse(
      '[{"op":"add","path":"/__proto__","value":{"polluted":true}},{"op":"add","path":"/__proto__/more","value":1}]',
    );
    const outcome = applyJsonPatch({}, patch);
    if (!outcome.ok) throw new Error(outcome.message);
    expect(JSON.stringify(outcome.value)).toBe('{"__proto__":{"polluted":true,"more":1}}');
    expect(Object.getPrototypeOf(outcome.value)).toBe(Object.prototype);
    expect('polluted' in {}).toBe(false);
  });

  it('cannot reach into inherited members', () => {
    for (const path of ['/constructor/prototype/x', '/toString/x', '/__proto__/x']) {
      expect(applyJsonPatch({}, [{ op: 'add', path, value: 1 }])).toMatchObject({ reason: 'doesNotApply' });
    }
  });

  it('limits the number of operations and the size of copies', () => {
    const one = { op: 'test', path: '', value: {} };
    expect(applyJsonPatch({}, Array(maxJsonPatchOperations).fill(one))).toMatchObject({ ok: true });
    expect(applyJsonPatch({}, Array(maxJsonPatchOperations + 1).fill(one))).toMatchObject({
      reason: 'tooManyOperations',
    });
    const doubling = Array.from({ length: 40 }, () => ({ op: 'copy', from: '/a', path: '/a/-' }));
    expect(applyJsonPatch({ a: ['x'] }, doubling)).toMatchObject({ reason: 'doesNotApply' });
  });

  it('limits what moves walk by the length of a body', () => {
    const down = { op: 'move', from: '/a', path: '/b/c' };
    const up = { op: 'move', from: '/b/c', path: '/a' };
    const value = { a: Array.from({ length: 14_000 }, () => []), b: {} };
    const moved = (times: number) =>
      applyJsonPatch(value, Array(times).fill([down, up]).flat(), { maxCopiedChars: 64 * 1024 });
    expect(moved(18)).toMatchObject({ ok: true });
    expect(moved(19)).toMatchObject({
      reason: 'doesNotApply',
      message: expect.stringContaining('values with more than 262144 fields are moved'),
    });
  });

  it('refuses a value that nests deeper than its readers follow', () => {
    const deepest = (times: number) => `/a${'/a'.repeat(2 ** times - 1)}`;
    const copies = Array.from({ length: 14 }, (_, times) => ({ op: 'copy', from: '/a', path: `${deepest(times)}/a` }));
    const moves = Array.from({ length: 600 }, () => [
      { op: 'add', path: '/b', value: {} },
      { op: 'move', from: '/a', path: '/b/a' },
      { op: 'move', from: '/b', path: '/a' },
    ]);
    for (const patch of [copies, moves.flat()])
      expect(applyJsonPatch({ a: {} }, patch)).toMatchObject({
        reason: 'doesNotApply',
        message: expect.stringContaining('the result would have more than 500 levels'),
      });
  });

  const long = Array.from({ length: 1_250_000 }, () => 0);
  const front: [string, (at: number) => object][] = [
    ['inserts', (at) => ({ op: 'add', path: '/a/0', value: at })],
    ['removals', () => ({ op: 'remove', path: '/a/0' })],
    ['moves to the front', () => ({ op: 'move', from: '/a/-1', path: '/a/0' })],
    ['moves from the front', () => ({ op: 'move', from: '/a/0', path: '/a/-' })],
    ['moves between lists', () => ({ op: 'move', from: '/a/0', path: '/b/0' })],
    ['copies', () => ({ op: 'copy', from: '/a/1', path: '/a/0' })],
  ];
  // Each took seconds: an array moves a million items for each operation.
  it.each(front)('takes no longer for %s at the front of a long list than for its items', (_what, operation) => {
    const patch = Array.from({ length: maxJsonPatchOperations }, (_, at) => operation(at));
    const before = processorMs();
    expect(applyJsonPatch({ a: long, b: long }, patch).ok).toBe(true);
    expect(processorMs() - before).toBeLessThan(1_500);
  });

  it('takes no longer for thousands of failing and passing tests than for their values', () => {
    const labels = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`a${at}`, '']));
    const add = { op: 'add', path: '/a/0', value: 1 };
    const same = { op: 'test', path: '/labels/a7', value: '' };
    const patch = Array.from({ length: maxJsonPatchOperations }, (_, at) => (at % 2 === 0 ? add : same));
    const before = processorMs();
    expect(applyJsonPatch({ a: long, labels }, patch).ok).toBe(true);
    const other = { op: 'test', path: '/labels', value: { other: '' } };
    expect(applyJsonPatch({ labels }, [other])).toMatchObject({ ok: false, reason: 'testFailed' });
    const whole = { op: 'test', path: '/labels', value: {} };
    expect(applyJsonPatch({ labels }, [whole])).toMatchObject({ ok: false, reason: 'testFailed' });
    expect(processorMs() - before).toBeLessThan(1_500);
  });

  it('does to a long list what it does to a short one', () => {
    const at = fc.integer({ min: 0, max: 3_000 });
    const operations = fc.array(
      fc.oneof(
        at.map((index) => ({ op: 'add', path: `/a/${index}`, value: { index } })),
        at.map((index) => ({ op: 'remove', path: `/a/${index}` })),
        at.map((index) => ({ op: 'replace', path: `/a/${index}`, value: index })),
        fc.tuple(at, at).map(([from, to]) => ({ op: 'move', from: `/a/${from}`, path: `/a/${to}` })),
        fc.tuple(at, at).map(([from, to]) => ({ op: 'copy', from: `/a/${from}`, path: `/a/${to}` })),
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(fc.integer({ min: 2_990, max: 3_010 }), operations, (length, patch) => {
        const a: Json[] = Array.from({ length }, (_, index) => index);
        const outcome = applyJsonPatch({ a }, patch);
        const expected = plainly([...a], patch);
        if (outcome.ok) expect(outcome.value).toEqual({ a: expected });
        else expect([outcome.reason, expected]).toEqual(['doesNotApply', undefined]);
      }),
    );
  });

  it('returns a value that shares no part with the patch', () => {
    const patch = [{ op: 'add', path: '/a', value: { b: 1 } }];
    const outcome = applyJsonPatch({}, patch);
    expect(outcome.ok && (outcome.value as { a: unknown }).a).not.toBe(patch[0]?.value);
  });

  it('applies all operations in order or none of them, and never changes its inputs', () => {
    fc.assert(
      fc.property(document, fc.array(operation, { minLength: 1, maxLength: 4 }), (value, patch) => {
        const before = [copyJson(value), copyJson(patch as Json)];
        const whole = applyJsonPatch(value, patch);
        expect([value, patch]).toEqual(before);
        let current = value;
        for (const [index, single] of patch.entries()) {
          const step = applyJsonPatch(current, [single]);
          if (!step.ok) {
            expect(whole).toMatchObject({ ok: false, reason: step.reason, operation: index });
            return;
          }
          current = step.value;
        }
        expect(whole).toEqual({ ok: true, value: current });
      }),
      { numRuns: 500 },
    );
  });
});

const member = fc.constantFrom('a', 'b', 'x/y', 'm~n');
const leaf = fc.constantFrom<Json[]>(1, 's', true);
const inner = fc.oneof(leaf, fc.array(leaf, { maxLength: 3 }), fc.dictionary(member, leaf, { maxKeys: 3 }));
const document = fc.dictionary(member, inner, { minKeys: 1, maxKeys: 3 }) as fc.Arbitrary<Json>;
const path = fc
  .array(fc.constantFrom('a', 'b', 'x~1y', 'm~0n', '0', '1'), { minLength: 1, maxLength: 2 })
  .map((tokens) => tokens.map((token) => `/${token}`).join(''));
const operation = fc.oneof(
  fc.record({ op: fc.constantFrom('add', 'replace', 'test'), path, value: inner }),
  fc.record({ op: fc.constant('remove'), path }),
  fc.record({ op: fc.constantFrom('move', 'copy'), from: path, path }),
);
