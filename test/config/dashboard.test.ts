// The dashboard asks for metrics and labels that a running daemon has: docs/metrics.md is made from the answer of one.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

interface Metric {
  readonly type: string;
  readonly labels: readonly string[];
}
const rows = [...read('docs/metrics.md').matchAll(/^\| `(\w+)` \| (\w+) \| (.*?) \|/gm)];
const metrics = new Map(
  rows.map(([, name = '', type = '', labels = '']): [string, Metric] => [
    name,
    { type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label) },
  ]),
);
/** Prometheus adds them to whatever it scrapes from a pod. */
const ofTheScrape = ['namespace', 'pod'];

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
}
const panels: readonly Panel[] = JSON.parse(read('config/chart/files/dashboard.json')).panels;

describe('the dashboard', () => {
  const queries = panels.flatMap(({ title, targets }) => targets.map((target) => [title, target] as const));

  it.each(queries)('asks in "%s" for metrics, types and labels that exist', (_, { expr, legendFormat }) => {
    const asked = [...expr.matchAll(/(?:hostward|process)_[a-z_]+/g)].map(([name]) => name.replace(/_bucket$/, ''));
    expect(asked).not.toEqual([]);
    const known = asked.flatMap((name) => metrics.get(name)?.labels ?? expect.unreachable(`no metric ${name}`));
    const grouped = [...expr.matchAll(/(?:by|on) \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', '));
    const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
    for (const label of [...grouped, ...shown]) expect([...known, ...ofTheScrape, 'le']).toContain(label);
  });

  it.each(queries)('takes in "%s" rates of counters and histograms alone', (_, { expr }) => {
    for (const [, name = ''] of expr.matchAll(/(?:rate|increase)\((\w+)/g)) {
      const { type } = metrics.get(name.replace(/_bucket$/, '')) ?? { type: '' };
      expect(type).toBe(name.endsWith('_bucket') ? 'histogram' : 'counter');
    }
  });
});
