import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { CORE_SCHEMA, load, mergeTag } from 'js-yaml';
import { expect, it } from 'vitest';
import cases from '../../../fixtures/object/yaml-faults.json' with { type: 'json' };
import { yamlFault } from '../../../src/object/text/yaml-fault.ts';

it.each(cases)('%s is reported with its place and a remedy', (_, text, place, part) => {
  let found: unknown;
  try {
    load(text as string, { schema: CORE_SCHEMA.withTags(mergeTag) });
  } catch (error) {
    found = error;
  }
  expect(found).toBeDefined();
  const fault = yamlFault(found);
  expect(fault.place === undefined ? '' : `${fault.place.line}:${fault.place.column}`).toBe(place);
  expect(fault.sentence).toContain(part);
  expect(fault.sentence).not.toMatch(/secret/);
});

it('every message of the parser has a sentence of its own', () => {
  const source = readFileSync(createRequire(import.meta.url).resolve('js-yaml'), 'utf8');
  const called = source.matchAll(/(?:throwError(?:\$1)?\(state, |new YAMLException\()(["`])(.*?)\1/g);
  const reasons = [...new Set(Array.from(called, ([, , reason]) => reason as string))];
  expect(reasons.length).toBeGreaterThan(40);
  const fallback = yamlFault(undefined).sentence;
  const bare = reasons.filter((reason) => yamlFault({ reason }).sentence === fallback);
  // The parser's own invariants, and its printer.
  expect(bare.filter((reason) => !/to dump|incomplete mapping pair|can not read a document/.test(reason))).toEqual([]);
});
