// Bundles the program into dist/, or into the folder that is named: one small main file, a chunk for each command, and an entry for every
// file that is started as a process or a worker. npm runs this file before it packs.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { bundleForBrowser } from './browser.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const usage = `usage: npm run build -- [FOLDER]

Bundles the program into FOLDER, by default dist/; what was there is replaced.
`;
const asked = askedFor(process.argv.slice(2));
if (asked.says !== undefined) {
  process[asked.code === 0 ? 'stdout' : 'stderr'].write(asked.says);
  process.exit(asked.code);
}
const out = resolve(asked.folder ?? join(root, 'dist'));

// Native code cannot be bundled; it lies next to the bundle.
const external = ['isolated-vm'];

// As a dependency of the package isolated-vm would bring its sources and the builds for other versions of Node, and its install script
// would start a compiler under an old Node.
const nodeAbi = process.versions.modules;
const isolatedVm = join(root, 'node_modules', 'isolated-vm');
const loader = `const { existsSync } = require('node:fs');
const { arch, platform, versions } = process;
const libc = platform !== 'linux' ? '' : existsSync('/etc/alpine-release') ? '.musl' : '.glibc';
module.exports = require(\`./prebuilds/\${platform}-\${arch}/isolated-vm.abi\${versions.modules}\${libc}.node\`).ivm;
`;

// Bundled CommonJS code calls require for Node's own modules.
const banner =
  "import { createRequire as __createRequire } from 'node:module';const require = __createRequire(import.meta.url);";

// The sources start a file in this form; each such file becomes an entry.
const startedFile = /new URL\('(\.[^']*\/)([a-z0-9-]+)\.ts', import\.meta\.url\)/g;

// Node gives a CommonJS package named exports; esbuild gives its chunk only a default export, so the names are added here.
const foreignImport = /\bawait import\('([^.'][^']*)'\)/g;
const withNames = "await import('$1').then((m) => ({ ...m.default, ...m }))";

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const entries = [join(root, 'src', 'main.ts'), ...startedFiles()];
const names = entries.map((entry) => basename(entry, '.ts'));
if (new Set(names).size !== names.length) throw new Error(`two entries share a name: ${names.join(', ')}`);

const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: entries.map((entry) => ({ in: entry, out: basename(entry, '.ts') })),
  outdir: out,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node26',
  external,
  banner: { js: banner },
  // Names stay, because stacks must be readable.
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  chunkNames: 'part-[hash]',
  metafile: true,
  logLevel: 'warning',
  plugins: [{ name: 'own-sources', setup: rewriteOwnSources }],
});
const inPages = await writePages();
writeNativeCode();
writeLicences();

/** Returns the inputs of the pages' bundles. */
async function writePages() {
  let inputs = [];
  const files = await bundleForBrowser((metafile) => {
    inputs = Object.keys(metafile.inputs);
  });
  mkdirSync(join(out, 'pages'));
  for (const [name, bytes] of files) writeFileSync(join(out, 'pages', name), bytes);
  return inputs;
}

function writeNativeCode() {
  const isNeeded = (path) => !path.endsWith('.node') || path.includes(`abi${nodeAbi}`);
  cpSync(join(isolatedVm, 'prebuilds'), join(out, 'isolated-vm', 'prebuilds'), { recursive: true, filter: isNeeded });
  writeFileSync(join(out, 'isolated-vm', 'isolated-vm.cjs'), loader);
}

function startedFiles() {
  const found = new Set();
  for (const file of readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts')) continue;
    const path = join(root, 'src', file);
    for (const [, folder, name] of readFileSync(path, 'utf8').matchAll(startedFile)) {
      const target = join(dirname(path), folder, `${name}.ts`);
      if (!existsSync(target)) throw new Error(`src/${file} starts "${folder}${name}.ts", which does not exist`);
      found.add(target);
    }
  }
  return [...found];
}

// An option that does not exist must not become the name of a folder.
function askedFor(words) {
  try {
    const options = { help: { type: 'boolean', short: 'h' } };
    const { values, positionals } = parseArgs({ args: words, options, allowPositionals: true });
    if (values.help) return { code: 0, says: usage };
    if (positionals.length > 1)
      return { code: 2, says: `build: wanted one folder, found ${positionals.length}\n${usage}` };
    return { folder: positionals[0] };
  } catch (error) {
    return { code: 2, says: `build: ${error.message}\n${usage}` };
  }
}

// Points the started files at the one folder of the bundle.
function rewriteOwnSources(bundle) {
  bundle.onLoad({ filter: /\.ts$/ }, ({ path }) => {
    if (!path.startsWith(join(root, 'src') + sep)) return undefined;
    const contents = readFileSync(path, 'utf8')
      .replace(startedFile, "new URL('./$2.js', import.meta.url)")
      .replace(foreignImport, withNames);
    return { contents, loader: 'ts' };
  });
}

// The bundle contains other people's code, so it must contain their licences.
function writeLicences() {
  const packages = new Set(['node_modules/isolated-vm']);
  for (const input of [...Object.keys(metafile.inputs), ...inPages]) {
    const match = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input.split(sep).join('/'));
    if (match !== null) packages.add(match[1]);
  }
  const texts = [...packages].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
    const file = readdirSync(join(root, folder)).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? '' : `\n\n${readFileSync(join(root, folder, file), 'utf8').trim()}`;
    return `${name} ${version} (${license})${text}`;
  });
  writeFileSync(join(out, 'licences.txt'), `${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`);
  const bytes = Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0);
  const files = Object.keys(metafile.outputs).length;
  process.stdout.write(`${relative(process.cwd(), out) || '.'}: ${files} files, ${Math.ceil(bytes / 1024)} KiB\n`);
}
