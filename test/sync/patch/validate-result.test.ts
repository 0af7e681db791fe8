import { describe, expect, it } from 'vitest';
import { problemOfResult } from '../../../src/sync/patch/validate-result.ts';

const problem = (labels: [string, string][], annotations: [string, string][] = []) =>
  problemOfResult({ labels: new Map(labels), annotations: new Map(annotations), payload: {} });

describe('a result that is no valid object', () => {
  const secret = 'hunter2 hunter2!';

  it('is told with its place and without what stands there, however long that is', () => {
    expect(problem([['a', secret]])).toMatch(/^metadata\.labels\["a"\]: a valid label/);
    for (const long of [secret, secret.repeat(10_000)]) {
      for (const told of [problem([['a', long]]), problem([[long, 'a']]), problem([], [[long, 'a']])]) {
        expect(told).toBeDefined();
        expect(told).not.toContain('hunter2');
        expect(told?.length).toBeLessThan(500);
      }
    }
  });

  it('includes more annotations than Kubernetes takes', () => {
    expect(problem([], [['a', 'x'.repeat(262_143)]])).toBeUndefined();
    expect(problem([], [['a', 'x'.repeat(262_144)]])).toContain('at most 262144 bytes, got 262145');
  });
});
