// Bundles what the pages send to a browser: one script for each page and one stylesheet, under names that hold a hash. The build
// writes them into dist/pages/; in a checkout the first page that is asked for has them made in memory.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, stop } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const folder = join(root, 'src', 'pages', 'browser');

let running = 0;

/** Each becomes a file that a page names. */
const entries = ['pages.css', 'status.ts', 'playground.css', 'playground.ts', 'icon.svg'];

/** Returns hashed name → bytes; `onMetafile` gets what went in, by paths from the root, for the licences. */
export async function bundleForBrowser(onMetafile = () => {}) {
  running++;
  try {
    return await bundled(onMetafile);
  } finally {
    // The bundler stays as a process of its own otherwise, for as long as the daemon runs. Stopping it would break another bundling.
    if (--running === 0) await stop();
  }
}

async function bundled(onMetafile) {
  const { outputFiles, metafile } = await build({
    // Paths are in the bundle, so its hash would differ with the folder that the program is started in.
    absWorkingDir: root,
    entryPoints: entries.map((entry) => join(folder, entry)),
    entryNames: '[name]-[hash]',
    outdir: 'pages',
    bundle: true,
    splitting: false,
    format: 'esm',
    platform: 'browser',
    target: ['chrome120', 'firefox121', 'safari17'],
    minify: true,
    loader: { '.svg': 'copy' },
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'silent',
    // A tsconfig next to the browser's code is for the type checker alone.
    tsconfigRaw: '{}',
  });
  onMetafile(metafile);
  const files = outputFiles.map(({ path, contents }) => [basename(path), contents]);
  return new Map([...files, examplesFile()]);
}

/** The cases of fixtures/patches/ as one file, in the order of their README, which says what each shows. */
function examplesFile() {
  const cases = join(root, 'fixtures', 'patches');
  const readme = readFileSync(join(cases, 'README.md'), 'utf8');
  const examples = [...readme.matchAll(/^\| \[([a-z0-9-]+)\]\([^)]*\) \| (.*) \|$/gm)].map(([, name, about]) => ({
    name,
    about: about.replaceAll('`', ''),
    files: filesBelow(join(cases, name)),
  }));
  const bytes = Buffer.from(JSON.stringify(examples));
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 8).toUpperCase();
  return [`examples-${hash}.json`, bytes];
}

function filesBelow(parent) {
  const names = readdirSync(parent, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(yaml|txt)$/.test(name));
  const texts = names.sort().map((name) => [name.split(sep).join('/'), readFileSync(join(parent, name), 'utf8')]);
  return Object.fromEntries(texts);
}
