import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bodyText, type HostileCase, sizesIn, type Template, withSizes } from '../../bench/hostile-body.ts';
import { search } from '../../bench/hostile-search.ts';

const folder = join(import.meta.dirname, '..', '..', 'fixtures', 'hostile-api');
const cases = readdirSync(folder).flatMap(
  (name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as HostileCase[],
);

describe('the recipes of hostile bodies', () => {
  it.each<[string, Template, string]>([
    ['a list', { $times: 3, of: { name: 'o$n' } }, '[{"name":"o0"},{"name":"o1"},{"name":"o2"}]'],
    ['a map', { a: { $keys: 'l$n', $times: 2, of: 'v$n' } }, '{"a":{"l0":"v0","l1":"v1"}}'],
    ['a text', { a: { $text: 3, of: 'x$n' } }, '{"a":"x0x1x2"}'],
    ['lists in a row', { $join: [[{ a: 1 }], { $times: 2, of: 0 }] }, '[{"a":1},0,0]'],
    ['a text that is sent as it is', { $concat: ['a: ', { $text: 2, of: '[' }] }, 'a: [['],
    ['the number of the request', { a: '$i' }, '{"a":"$i"}'],
  ])('make %s', (_, template, text) => {
    expect(bodyText(template)).toBe(text);
  });

  it('let a search change each number', () => {
    const template = { a: { $times: 3, of: { $text: 5, of: 'x' } }, b: 7 };
    expect(sizesIn(template)).toEqual([3, 5]);
    expect(bodyText(withSizes(template, [1, 2]))).toBe('{"a":["xx"],"b":7}');
  });

  it('of the corpus can all be made', () => {
    expect(cases.length).toBeGreaterThan(25);
    for (const { body = null, values = null, name } of cases) {
      expect(bodyText(body), name).not.toContain('$times');
      expect(bodyText(values), name).not.toContain('$text');
    }
  });
});

describe('the search for costly bodies', () => {
  it('finds what costs most for each byte, here a list in a list', async () => {
    const of = (outer: number, inner: number): HostileCase => ({
      ...{ name: 'lists', why: '', send: { method: 'POST', path: '/', type: 'application/json' } },
      body: { $times: outer, of: { $times: inner, of: 0 } },
    });
    // Costs the square of the outer list: the best body within 64 KiB has one number in each of many.
    const weigh = async ({ body }: { body: Template }) => (sizesIn(body)[0] ?? 0) ** 2 / 1e6;
    let now = 0;
    const { best, tried } = await search([of(50, 50)], weigh, { untilMs: 300, now: () => now++, seed: 1 });
    expect(tried).toBeGreaterThan(100);
    expect(best[0]?.msPerKib).toBeGreaterThan(20 * ((await weigh({ body: of(50, 50).body as Template })) / 5));
    expect(best[0]?.bytes).toBeLessThanOrEqual(64 * 1024);
  });
});
