import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configurationReference } from '../../../src/config/settings/table/reference.ts';
import { settingsTable } from '../../../src/config/settings/table/table.ts';
import { root } from '../loading.ts';

describe('configurationReference()', () => {
  const page = join(root, 'docs/settings.md');

  it('is what docs/settings.md says', () => {
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(page, configurationReference());
    expect(readFileSync(page, 'utf8')).toBe(configurationReference());
  });

  it('names every setting once', () => {
    const lines = configurationReference().split('\n');
    for (const { path } of settingsTable) {
      expect(lines.filter((line) => line.startsWith(`| \`${path}\` |`))).toHaveLength(1);
    }
  });
});
