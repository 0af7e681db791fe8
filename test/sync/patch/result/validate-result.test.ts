import { describe, expect, it } from 'vitest';
import { endpointsKind } from '../../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { problemOfKeyCount, problemOfResult } from '../../../../src/sync/patch/result/validate-result.ts';

const problem = (labels: [string, string][], annotations: [string, string][] = []) =>
  problemOfResult({ labels: new Map(labels), annotations: new Map(annotations), payload: {} }, { kind: endpointsKind })
    ?.message;

describe('a result that is no valid object', () => {
  const secret = 'hunter2 hunter2!';

  it('is reported with its path and without its value, however long the value is', () => {
    expect(problem([['a', secret]])).toMatch(/^metadata\.labels\["a"\]: a valid label/);
    for (const long of [secret, secret.repeat(10_000)]) {
      for (const told of [problem([['a', long]]), problem([[long, 'a']]), problem([], [[long, 'a']])]) {
        expect(told).toBeDefined();
        expect(told).not.toContain('hunter2');
        expect(told?.length).toBeLessThan(500);
      }
    }
  });

  it('has more bytes of annotations than Kubernetes accepts', () => {
    expect(problem([], [['a', 'x'.repeat(262_143)]])).toBeUndefined();
    expect(problem([], [['a', 'x'.repeat(262_144)]])).toContain('at most 262144 bytes, found 262145');
  });

  it('shows only the beginning of a long key', () => {
    const told = problem([[`example.com/${'k'.repeat(60)}`, 'a b']]);
    expect(told).toMatch(/^metadata\.labels\["example\.com\/kkkkkkkk… \(72 characters\)"\]: /);
  });

  it('is refused by its size before any key is checked', () => {
    const labels = Array.from({ length: 130_000 }, (_, at): [string, string] => [`k${at}`, '']);
    expect(problem(labels)).toBe('metadata.labels must have at most 10000 keys, found 130000');
    expect(problem([], labels)).toBe('metadata.annotations must have at most 10000 keys, found 130000');
    expect(problem([['a', 'x'.repeat(262_144)]])).toBe('metadata.labels must have at most 262144 bytes, found 262145');
    const many = Object.fromEntries(labels);
    for (const result of [many, { labels: many }, { metadata: { annotations: many } }])
      expect(problemOfKeyCount([{}, result])).toBe(
        'the result has an object of 130000 keys; at most 10000 are allowed',
      );
    expect(problemOfKeyCount([null, 'x', [many], { metadata: { labels: { a: 'b' } } }])).toBeUndefined();
  });

  it('is found by the kind in a changed payload; the payload of the draft is not checked again', () => {
    const wrong = { labels: new Map(), annotations: new Map(), payload: { subsets: 5 } };
    const message = 'subsets must be an array, found a number';
    expect(problemOfResult(wrong, { kind: endpointsKind })).toEqual({ place: ['subsets'], message });
    expect(problemOfResult(wrong, { kind: endpointsKind, draft: wrong as never })).toBeUndefined();
  });
});
