import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}
const rules: readonly Rule[] = parse(read('config/chart/files/rules.yaml')).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
);
// promtool runs these cases in .ci/run.
const cases: readonly { name: string }[] = parse(read('fixtures/alerts/rules.test.yaml')).tests;

const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => read(join('src', file)))
  .join('\n');

describe('an alert', () => {
  it.each(rules.map((rule) => [rule.alert, rule] as const))('%s asks for metrics that exist', (_, { expr }) => {
    const names = [...expr.matchAll(/hostward_[a-z_]+/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, ''));
    expect(names).not.toEqual([]);
    for (const name of names) expect(sources).toContain(`'${name}'`);
  });

  it('has a section in docs/alerts.md, and each section has an alert', () => {
    const sections = [...read('docs/alerts.md').matchAll(/^## (.*)$/gm)].map(([, name]) => name);
    expect(sections).toEqual(rules.map(({ alert }) => alert));
    for (const { annotations } of rules) expect(annotations.page).toBe('hostward docs alerts');
  });

  it('has a firing case and a silent case', () => {
    expect(cases.map(({ name }) => name).sort()).toEqual(
      rules.flatMap(({ alert }) => [`${alert} fires`, `${alert} stays silent`]).sort(),
    );
  });
});
