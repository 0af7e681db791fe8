// The chart's schema knows the settings, so that Helm refuses a misspelt one before a pod starts with it. UPDATE_GOLDEN=1 writes them anew.
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { configurationSchema } from '../../../src/config/settings/table/schema.ts';

interface Node {
  properties: Record<string, Node>;
  [keyword: string]: unknown;
}

const file = new URL('../../../config/chart/values.schema.json', import.meta.url);

/** Without what only people read, and without patterns that look ahead: Helm's reader of patterns cannot. */
function forHelm(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(forHelm);
  if (typeof node !== 'object' || node === null) return node;
  const kept = Object.entries(node).filter(
    ([key, value]) =>
      !(key === 'description' && typeof value === 'string') &&
      !(key === 'pattern' && typeof value === 'string' && value.includes('(?')),
  );
  return Object.fromEntries(kept.map(([key, value]) => [key, forHelm(value)]));
}

it('values.schema.json has the settings where the values have them', () => {
  const { hostward, sync } = (configurationSchema() as unknown as Node).properties as { hostward: Node; sync: Node };
  const { management, direct: _, ...ofSync } = hostward.properties;
  const found = JSON.parse(readFileSync(file, 'utf8')) as Node;
  const wanted = structuredClone(found);
  const at = wanted.properties as { sync: Node; management: Node };
  at.sync.properties['hostward'] = forHelm({ ...hostward, properties: ofSync }) as Node;
  at.sync.properties['toHost'] = forHelm(sync.properties['toHost']) as Node;
  at.management.properties['configuration'] = forHelm(management) as Node;
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(file, `${JSON.stringify(wanted, undefined, 2)}\n`);
  else expect(found).toEqual(wanted);
});
