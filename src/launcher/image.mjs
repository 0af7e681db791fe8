// `npm run image`: builds the bundle and writes the OCI image for linux/amd64 and linux/arm64 into dist/image/. Wants Debian's
// apt-get and dpkg-deb, npm, and a network for what is not in the cache yet; no container engine, no registry.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { mirrorOfThisMachine, newestLock } from './image/debian.ts';
import { buildImage, fetchParts } from './image/image.ts';
import { makeFolder, makeFolderAnew } from './image/make-folder.ts';
import { programFiles } from './image/program.ts';
import { runScript } from './launch.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

const help = `usage: npm run image -- [--out FOLDER] [--lock FILE] [--update-lock] [--mirror URL]
       npm run image -- --fetch
       npm run image -- --program FOLDER

Writes an OCI image layout for linux/amd64 and linux/arm64, and prints its folder, digest and sizes.

  --out FOLDER     where the layout goes, by default dist/image; an earlier image there is replaced
  --lock FILE      versions and hashes of the Debian packages, by default config/image/debian.lock.json
  --update-lock    asks the mirror for the newest versions, writes them into the lock, and builds with them
  --mirror URL     a mirror of Debian, by default the one that apt uses on this machine
  --fetch          only downloads what the cache lacks
  --program FOLDER writes only the program's files for this processor into the folder; the Dockerfile uses it
`;

runScript(run);

function run() {
  const { values } = parseArgs({
    options: {
      out: { type: 'string', default: join(root, 'dist', 'image') },
      lock: { type: 'string', default: join(root, 'config', 'image', 'debian.lock.json') },
      mirror: { type: 'string' },
      'update-lock': { type: 'boolean', default: false },
      fetch: { type: 'boolean', default: false },
      program: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return process.stdout.write(help);
  if (values.program !== undefined) return writeProgram(values.program);
  const mirror = values.mirror ?? mirrorOfThisMachine();
  if (mirror === undefined) throw new Error('found no mirror of Debian in /etc/apt: name one with --mirror URL');
  const cacheHome = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const source = { mirror, cache: join(cacheHome, 'hostward', 'image') };
  makeFolder('the cache', source.cache);
  let lock = JSON.parse(readFileSync(values.lock, 'utf8'));
  if (values['update-lock']) {
    lock = newestLock(lock.suite, source);
    writeFileSync(values.lock, `${JSON.stringify(lock, null, 2)}\n`);
  }
  if (values.fetch) return fetchParts({ root, lock, source });
  // Before minutes of work.
  makeFolderAnew('--out', values.out, { what: 'earlier image', of: /^(oci-layout|blobs)$/ });
  bundle();
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const revision = git('rev-parse', 'HEAD');
  // The time of the commit, unless somebody who builds reproducibly has set another one.
  const created = Number(process.env.SOURCE_DATE_EPOCH || git('log', '-1', '--format=%ct') || 0);
  const { digest, sizes } = buildImage({ root, folder: values.out, lock, source, version, revision, created });
  const megabytes = Object.entries(sizes).map(([name, bytes]) => `${name} ${(bytes / 1e6).toFixed(1)} MB`);
  process.stdout.write(`${relative(process.cwd(), values.out) || '.'} ${digest}\n${megabytes.join(', ')}\n`);
}

function writeProgram(folder) {
  makeFolder('--program', folder);
  bundle();
  for (const { path, content } of programFiles(root, folder, process.arch)) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content.bytes);
  }
}

function bundle() {
  execFileSync(process.execPath, [join(root, 'src', 'launcher', 'build.mjs')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

function git(...words) {
  try {
    return execFileSync('git', words, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return '';
  }
}
