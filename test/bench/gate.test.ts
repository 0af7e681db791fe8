import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as gates from '../../bench/gate.ts';
import type { Figure } from '../../bench/report.ts';

const good = (limits: typeof gates.gateLimits): Figure[] =>
  Object.entries(limits).map(([name, wanted]) => ({
    name,
    unit: '',
    value: 'atMost' in wanted ? wanted.atMost : wanted.atLeast,
  }));

const { judge } = gates;
/** All that the file of the gates has, so that a new one is tripped here too. */
const all = Object.entries(gates).flatMap(([name, limits]) =>
  /gateLimits$/i.test(name) ? [[name, limits as typeof gates.gateLimits] as const] : [],
);

it('each bench with a gate takes its limits from where they are tripped, and no limits are left over', () => {
  const folder = join(import.meta.dirname, '../../bench');
  const benches = readdirSync(folder).filter((file) => file.endsWith('.bench.ts'));
  const texts = benches.map((file) => [file, readFileSync(join(folder, file), 'utf8')] as const);
  const gated = texts.filter(([, text]) => /--gate|gate: \{/.test(text));
  expect(gated.length).toBeGreaterThanOrEqual(8);
  expect(gated.filter(([, text]) => !text.includes("from './gate.ts'")).map(([file]) => file)).toEqual([]);
  const asked = texts.map(([, text]) => text).join();
  // Those of bench/sync.bench.ts are what gateFigures() takes by itself.
  expect(all.filter(([name]) => name !== 'gateLimits' && !asked.includes(name)).map(([name]) => name)).toEqual([]);
});

describe.each(all)('the gate of %s', (_, limits) => {
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
