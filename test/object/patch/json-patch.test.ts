import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyJsonPatch, maxJsonPatchOperations } from '../../../src/object/patch/json-patch.ts';
import { copyJson, type Json } from '../../../src/object/text/json.ts';
import { cases } from '../fixture.ts';

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
