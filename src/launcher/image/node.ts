// Node from its npm package, compared with the checksum that package-lock.json has recorded.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { file, readTar, type TarEntry } from './tar.ts';

/** The program of Node and its licence, for one architecture. */
export function nodeFiles(root: string, architecture: 'x64' | 'arm64', cache: string): TarEntry[] {
  const name = `node-linux-${architecture}`;
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const { version, integrity } = lock.packages[`node_modules/${name}`];
  const archive = join(cache, `${name}-${version}.tgz`);
  if (!isIntact(archive, integrity)) {
    const folder = join(cache, `download-${name}`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    execFileSync('npm', ['pack', '--silent', '--pack-destination', folder, `${name}@${version}`], { stdio: 'pipe' });
    renameSync(join(folder, readdirSync(folder)[0] ?? ''), archive);
    rmSync(folder, { recursive: true });
    if (!isIntact(archive, integrity))
      throw new Error(`"${name}@${version}" differs from the checksum in package-lock.json`);
  }
  const entries = readTar(gunzipSync(readFileSync(archive)));
  return [
    file('usr/bin/node', bytesOf(entries, 'package/bin/node'), 0o755),
    file('usr/share/doc/node/copyright', bytesOf(entries, 'package/LICENSE')),
  ];
}

function isIntact(path: string, integrity: string): boolean {
  if (!existsSync(path)) return false;
  return `sha512-${createHash('sha512').update(readFileSync(path)).digest('base64')}` === integrity;
}

function bytesOf(entries: readonly TarEntry[], path: string): Uint8Array {
  const found = entries.find((entry) => entry.path === path);
  if (found?.content.kind !== 'file') throw new Error(`the npm package of Node has no file "${path}"`);
  return found.content.bytes;
}
