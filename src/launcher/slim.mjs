// npm runs this file after it has installed the package. It removes what the package cannot use on this machine: the sandbox for other
// processors, and the headers that the npm package of Node brings next to its program. It says nothing and never fails: npm may be told to
// run no scripts, and then everything works as well, with 75 MB more on the disk.
import { existsSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { nodePackages } from './launch.mjs';

const here = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  try {
    slim(here, `${process.platform}-${process.arch}`);
  } catch {
    // A folder that belongs to somebody else stays as it is.
  }
}

/** `root` is the folder of the installed package, `platform` has the form linux-x64. */
export function slim(root, platform) {
  const builds = join(root, 'dist', 'isolated-vm', 'prebuilds');
  const node = nodePackages.get(platform);
  // A checkout has its own sources and needs all of it, because the image holds two processors.
  if (existsSync(join(root, 'src', 'main.ts')) || node === undefined || !existsSync(join(builds, platform))) return;
  for (const name of readdirSync(builds))
    if (name !== platform) rmSync(join(builds, name), { recursive: true, force: true });
  const folder = folderOfDependency(root, node.name);
  if (folder === undefined || !existsSync(join(folder, node.program))) return;
  for (const name of ['include', 'share', 'CHANGELOG.md']) rmSync(join(folder, name), { recursive: true, force: true });
}

/** Undefined if npm left the package out, or if the project that Hostward is installed in asks for the package itself. */
function folderOfDependency(root, name) {
  const places = createRequire(join(root, 'package.json'))
    .resolve.paths(name)
    .map((folder) => join(folder, name));
  const folder = places.find((place) => existsSync(join(place, 'package.json')));
  if (folder === undefined || basename(dirname(folder)) !== 'node_modules') return folder;
  const around = join(folder, '..', '..', 'package.json');
  if (!existsSync(around) || dirname(around) === root) return folder;
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(readFileSync(around, 'utf8'));
  return name in { ...dependencies, ...devDependencies, ...optionalDependencies } ? undefined : folder;
}
