// The page that names a test for every sentence of the requirements is true: the files and titles exist. No page or help text shows
// something that could be taken for a key.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const page = read('test/management/checks/keys-reference.md');
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && line.includes('.test.ts`'))
  .map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '').trim()) as [string, string, string]);

describe('test/management/checks/keys-reference.md', () => {
  it('has a row for each part', () => {
    expect(rows.length).toBeGreaterThan(50);
    for (const part of [
      '2.1',
      '2.2',
      '2.3',
      '3',
      '4.3',
      '5.1',
      '5.2',
      '5.3',
      '5.4',
      '5.6',
      '5.7',
      '6',
      '7',
      '8',
      '9.1',
      '9.2',
      '9.3',
    ])
      expect(
        rows.some(([sentence]) => new RegExp(`(^|[ (,])${part.replace('.', '\\.')}([ ,)]|$)`).test(sentence)),
        part,
      ).toBe(true);
  });

  it.each(rows)('%s: `%s` has the test', (_, file, title) => {
    const path = join('test/management', file.replaceAll('`', ''));
    expect(existsSync(join(root, path)), path).toBe(true);
    expect(read(path).replaceAll("\\'", "'")).toContain(title);
  });
});

describe('pages and help texts', () => {
  it('pages and help texts show placeholders for keys and tokens', () => {
    const sources = readdirSync(join(root, 'src/cli'), { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.ts'),
    );
    const texts = [
      ...[
        'README.md',
        'CONTRIBUTING.md',
        'docs/keys.md',
        'test/management/checks/keys-reference.md',
        'docs/settings.md',
        'config/management.yaml',
      ],
      ...sources.map((file) => `src/cli/${file}`),
    ];
    for (const file of texts) {
      const text = read(file);
      // What follows a name that holds a credential is a placeholder, a variable or a command.
      const shown = [...text.matchAll(/(?:Bearer |HOSTWARD_ACCESS_KEY=|--token[= ])['"]?([^\s'"`,;)]+)/g)].map(
        ([, value]) => value as string,
      );
      expect([file, shown.filter((value) => !/^(?:<ACCESS_KEY>|<TOKEN>|\$|token|key)/.test(value))]).toEqual([
        file,
        [],
      ]);
      expect([file, /mpk_[0-9A-Za-z]{17}_|eyJ[\w-]{10,}\./.test(text)]).toEqual([file, false]);
    }
  });
});
