// The program's part of the image, which the Dockerfile and `npm run image` share: the bundle, its pages and the one native module.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { file, type TarEntry } from './tar.ts';

/** The number that prebuilt native modules for Node 26 carry in their names. */
export const nodeAbi = '147';

const builds = 'dist/isolated-vm/prebuilds';

/** Paths below the root of the repository; of a folder everything below it. `dist` is made by the bundler. */
export function programPaths(architecture: 'x64' | 'arm64'): string[] {
  return [
    'package.json',
    'LICENSE',
    'dist',
    'docs',
    // For `hostward install`.
    'config',
    'src/launcher/begin.mjs',
    'src/launcher/hostward.mjs',
    'src/launcher/launch.mjs',
    // Of the native module the one build for this libc and this processor.
    `${builds}/linux-${architecture}/isolated-vm.abi${nodeAbi}.glibc.node`,
  ];
}

/** The files at their places in the image. Working papers of the project are no pages for users. */
export function programFiles(root: string, folder: string, architecture: 'x64' | 'arm64'): TarEntry[] {
  const left = ['docs/journal', 'docs/decisions', 'dist/image', builds];
  return programPaths(architecture)
    .flatMap((path) =>
      filesBelow(root, path).filter((one) => one === path || !left.some((at) => one.startsWith(`${at}/`))),
    )
    .map((path) => file(`${folder}/${path}`, readFileSync(join(root, path))));
}

function filesBelow(root: string, path: string): string[] {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return readdirSync(join(root, path)).flatMap((name) => filesBelow(root, `${path}/${name}`));
}
