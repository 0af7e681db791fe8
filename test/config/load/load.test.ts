import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { caseNames, fixtures, loadFolder, report } from '../loading.ts';

describe('loadConfiguration() says exactly', () => {
  it.each(caseNames())('%s', (name) => {
    const folder = join(fixtures, name);
    const expected = join(folder, 'expected.txt');
    const said = report(loadFolder(folder));
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(expected, said);
    expect(said).toBe(existsSync(expected) ? readFileSync(expected, 'utf8') : `no ${expected}`);
  });
});
