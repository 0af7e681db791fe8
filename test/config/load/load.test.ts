import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fixtures, loadFolder, report } from '../loading.ts';

const cases = readdirSync(fixtures, { withFileTypes: true }).filter((entry) => entry.isDirectory());

describe('loadConfiguration() says exactly', () => {
  it.each(cases.map((entry) => entry.name))('%s', (name) => {
    const folder = join(fixtures, name);
    const expected = join(folder, 'expected.txt');
    const said = report(loadFolder(folder));
    if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(expected, said);
    expect(said).toBe(existsSync(expected) ? readFileSync(expected, 'utf8') : `no ${expected}`);
  });
});
