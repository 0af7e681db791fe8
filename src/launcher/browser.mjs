// Bundles what the pages send to a browser: one script for each page and one stylesheet, under names that hold a hash. The build
// writes them into dist/pages/; in a checkout the first page that is asked for has them made in memory.
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const folder = join(dirname(fileURLToPath(import.meta.url)), '..', 'pages', 'browser');

/** Each becomes a file that a page names. */
const entries = ['pages.css', 'status.ts'];

/** Returns hashed name → bytes; `onMetafile` gets what went in, for the licences. */
export async function bundleForBrowser(onMetafile = () => {}) {
  const { outputFiles, metafile } = await build({
    entryPoints: entries.map((entry) => join(folder, entry)),
    entryNames: '[name]-[hash]',
    outdir: 'pages',
    bundle: true,
    splitting: false,
    format: 'esm',
    platform: 'browser',
    target: ['chrome120', 'firefox121', 'safari17'],
    minify: true,
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'silent',
    // A tsconfig beside the browser's code is for the type checker alone.
    tsconfigRaw: '{}',
  });
  onMetafile(metafile);
  return new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
}
