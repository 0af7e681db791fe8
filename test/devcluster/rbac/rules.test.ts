import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Target, Verb } from '../../../src/apiserver/request/target.ts';
import { rulesIn } from '../../../src/devcluster/rbac/read-policy.ts';
import { allows, missingRules, ruleLines } from '../../../src/devcluster/rbac/rules.ts';

const read = <T>(name: string): T =>
  parse(readFileSync(new URL(`../../../fixtures/devcluster/${name}`, import.meta.url), 'utf8')) as T;
const rules = (written: unknown[]) => rulesIn({ metadata: {}, rules: written });

function targetOf(text: string): Target {
  const [verb = '', what = '', name = ''] = text.split(' ');
  const common = { verb: verb as Verb, version: 'v1', namespace: '', name, query: new URLSearchParams() };
  if (what.startsWith('path:')) {
    const path = what.slice('path:'.length);
    return { ...common, isResource: false, path, group: '', resource: '', subresource: '' };
  }
  const [group = '', resource = '', ...rest] = what.split('/');
  return { ...common, isResource: true, path: '', group, resource, subresource: rest.join('/') };
}

describe('a rule', () => {
  const cases = read<{ rule: object; allows: string[]; refuses: string[] }[]>('rules.yaml');
  it.each(cases.map((one) => ({ ...one, shown: JSON.stringify(one.rule) })))('$shown allows what it says', (one) => {
    const [rule] = rules([one.rule]);
    const asked = [...one.allows, ...one.refuses];
    expect(asked.filter((text) => allows(rule!, targetOf(text)))).toEqual(one.allows);
  });
});

describe('rules that are granted', () => {
  interface Case {
    name: string;
    held: unknown[];
    wanted: unknown[];
    missing?: string[];
  }
  it.each(read<Case[]>('escalation.yaml'))('$name', ({ held, wanted, missing = [] }) => {
    expect(ruleLines(missingRules(rules(held), rules(wanted)))).toEqual(missing);
  });
});
