// `node src/launcher/with-node.mjs test/reaching.ts FILE` prints the test files that import FILE, themselves or through other files. .ci/run
// asks it which suites look for a program of other people, because a search for a word loses a suite that looks for it in a helper.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { importsOf } from './architecture.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

export function testsReaching(target: string, files: ReadonlyMap<string, string>): string[] {
  const importers = new Map<string, string[]>();
  for (const [file, text] of files)
    for (const imported of importsOf(file, text)) importers.set(imported, [...(importers.get(imported) ?? []), file]);
  const reached = new Set([target]);
  for (const file of reached) for (const importer of importers.get(file) ?? []) reached.add(importer);
  return [...reached].filter((file) => file.endsWith('.test.ts')).sort();
}

/** All sources below `test/`, by their path from the root of the repository. */
export function testSources(): Map<string, string> {
  const entries = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' });
  const sources = entries.filter((entry) => entry.endsWith('.ts'));
  return new Map(sources.map((entry) => [join('test', entry), readFileSync(join(root, 'test', entry), 'utf8')]));
}

if (import.meta.main) {
  const files = testSources();
  const target = relative(root, process.argv[2] ?? '');
  if (!files.has(target))
    throw new Error(`test/reaching.ts wants a source below test/, found "${process.argv[2] ?? ''}"`);
  process.stdout.write(
    testsReaching(target, files)
      .map((file) => `${file}\n`)
      .join(''),
  );
}
