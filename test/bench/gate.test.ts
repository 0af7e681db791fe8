import { describe, expect, it } from 'vitest';
import {
  expressionGateLimits,
  gateLimits,
  hostileApiGateLimits,
  judge,
  managementGateLimits,
  proxyGateLimits,
} from '../../bench/gate.ts';
import type { Figure } from '../../bench/report.ts';

const good = (limits: typeof gateLimits): Figure[] =>
  Object.entries(limits).map(([name, wanted]) => ({
    name,
    unit: '',
    value: 'atMost' in wanted ? wanted.atMost : wanted.atLeast,
  }));

describe.each([
  ['sync', gateLimits],
  ['expressions', expressionGateLimits],
  ['management', managementGateLimits],
  ['proxy', proxyGateLimits],
  ['hostile bodies and connections', hostileApiGateLimits],
])('the gate of %s', (_, limits) => {
  it('passes figures exactly at their limits', () => {
    expect(judge(good(limits), limits)).toEqual([]);
  });

  it.each(Object.entries(limits))('trips on %s', (name, wanted) => {
    const figures = good(limits).map((figure) => {
      const slow = 'atMost' in wanted ? wanted.atMost + 0.01 : wanted.atLeast - 0.01;
      return figure.name === name ? { ...figure, value: slow } : figure;
    });
    expect(judge(figures, limits).map((figure) => figure.name)).toEqual([name]);
  });

  it('trips on a missing figure', () => {
    const [, ...rest] = good(limits);
    expect(judge(rest, limits)).toHaveLength(1);
  });
});
