// The page has texts, no files and no options: what it says must be possible there.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { rewordings } from '../../../../src/cli/offline/playground/page-words.ts';
import { list, render, setUp } from './render-case-stage.ts';

setUp();

const folder = fileURLToPath(new URL('../../../../fixtures/config', import.meta.url));
const configurations = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.yaml'))
  .map((path) => [path, readFileSync(`${folder}/${path}`, 'utf8')] as const);

/** What needs a shell or a disk. `FILE` is the argument of a command of vCluster. */
const ofCommandLine =
  /(?<!\w)--[a-z]|\bhostward (?:eval|render|check|test)\b|\b(?:save|split|give) (?:it|a file|the file)\b|\b(?:this|the) file (?:is|has)\b|into a (?:separate )?file\b|\bstandard input\b|\bconfig\.yaml:\d/;

const patches = [
  list('"a"').replace('expression:', 'onMissing: create\n  expression:'),
  list("'console.log(value)'"),
  list("'(() => { debugger; return value })()'"),
  list("'value.nothing.here'"),
];

describe('what the playground says of a configuration', () => {
  it('never tells a reader of the page to use a command line, whatever is wrong', async () => {
    const said: string[] = [];
    for (const [path, config] of configurations) {
      const { marks } = await render({ config, virtual: '' });
      said.push(...marks.map(({ message }) => `${path}: ${message}`));
    }
    for (const config of patches)
      said.push(...(await render({ config, virtual: '{}' })).marks.map(({ message }) => message));
    expect(said.length).toBeGreaterThan(200);
    // A command of vCluster, and the files that vCluster reads.
    const ofVcluster = /vcluster convert config.*|move it under global, or into a separate file/;
    const isForeign = (one: string) => ofCommandLine.test(one.replace(ofVcluster, ''));
    expect(said.filter(isForeign)).toEqual([]);
  });

  const root = fileURLToPath(new URL('../../../../src', import.meta.url));
  const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('page-words.ts'))
    .map((path) => readFileSync(`${root}/${path}`, 'utf8'))
    .join('\n');

  it.each(rewordings)('says %s in other words only while check says it', (there) => {
    // The words before the first one that varies.
    const words = there.source.replaceAll('\\b', '').replace(/\(.*/, '').trim();
    expect(sources).toContain(words);
  });
});
