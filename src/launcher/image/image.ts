// The OCI image: a base of Debian packages, Node, the program. What comes in: the built bundle, the locks, a mirror. What goes out: a
// layout in a folder and its digest. It must never need a container engine or a registry, and never depend on the time of day.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { type Architecture, architectures, baseFiles, type DebianLock, type DebianSource } from './debian.ts';
import { writeLayout } from './layout.ts';
import { programFiles } from './program.ts';
import { file, readTar, type TarEntry, writeTar } from './tar.ts';

/** Who the program runs as: a number, so that Kubernetes can check runAsNonRoot without looking into the image. */
export const userId = 65532;

/** Where the program lies in the image. */
const programFolder = 'opt/hostward';

const nodeNames = { amd64: 'x64', arm64: 'arm64' } as const;

export interface ImageOrder {
  /** The root of the repository, with `dist/` built. */
  readonly root: string;
  /** Where the layout goes. */
  readonly folder: string;
  readonly lock: DebianLock;
  readonly source: DebianSource;
  readonly version: string;
  readonly revision: string;
  /** The time of all files, in seconds since 1970. */
  readonly created: number;
}

/** Downloads what the cache lacks for all architectures, and compares it with its locks. */
export function fetchParts({ root, lock, source }: Pick<ImageOrder, 'root' | 'lock' | 'source'>): void {
  mkdirSync(source.cache, { recursive: true });
  for (const architecture of architectures) {
    baseFiles(lock, architecture, source);
    nodeFiles(root, nodeNames[architecture], source.cache);
  }
}

/** Builds the image for all architectures and says its digest and the compressed size of each architecture. */
export function buildImage({ root, folder, lock, source, version, revision, created }: ImageOrder) {
  mkdirSync(source.cache, { recursive: true });
  const images = architectures.map((architecture) => {
    const base = [...baseFiles(lock, architecture, source), ...accounts()];
    const node = nodeFiles(root, nodeNames[architecture], source.cache);
    const program = programFiles(root, programFolder, nodeNames[architecture]);
    const layers = [
      { archive: layer(base, created), comment: `Debian ${lock.suite}: ${packageList(lock, architecture)}` },
      { archive: layer(node, created), comment: 'Node' },
      { archive: layer(program, created), comment: `hostward ${version}` },
    ];
    return { architecture, layers };
  });
  const labels = {
    'org.opencontainers.image.title': 'hostward',
    'org.opencontainers.image.description': 'Syncs Endpoints from a virtual Kubernetes cluster to its host cluster',
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.revision': revision,
    'org.opencontainers.image.licenses': 'Apache-2.0',
    'org.opencontainers.image.base.name': `debian:${lock.suite}`,
  };
  const config = {
    User: `${userId}:${userId}`,
    Env: ['PATH=/usr/bin', 'SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt'],
    Entrypoint: ['/usr/bin/node', `/${programFolder}/src/launcher/hostward.mjs`],
    Cmd: ['--help'],
    WorkingDir: '/tmp',
    StopSignal: 'SIGTERM',
  };
  return writeLayout(folder, images, { tag: version, created, config, labels });
}

function packageList(lock: DebianLock, architecture: Architecture): string {
  const packages = lock.packages.filter((one) => [architecture, 'all'].includes(one.architecture));
  return packages.map(({ name, version }) => `${name} ${version}`).join(', ');
}

/** The user of the program, the folders where a runtime mounts, and the one folder that the program may write. */
function accounts(): TarEntry[] {
  const mountPoints = ['dev', 'proc', 'sys'].map(
    (path): TarEntry => ({ path, mode: 0o755, content: { kind: 'folder' } }),
  );
  return [
    ...mountPoints,
    file(
      'etc/passwd',
      `root:x:0:0:root:/root:/sbin/nologin\nhostward:x:${userId}:${userId}:hostward:/tmp:/sbin/nologin\n`,
    ),
    file('etc/group', `root:x:0:\nhostward:x:${userId}:\n`),
    file('etc/nsswitch.conf', 'hosts: files dns\n'),
    { path: 'tmp', mode: 0o1777, content: { kind: 'folder' } },
  ];
}

/** The archive of a layer, with every folder that its files are in. */
function layer(entries: readonly TarEntry[], created: number): Uint8Array {
  const all = new Map<string, TarEntry>();
  for (const { path } of entries)
    for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
      const folder = path.slice(0, at);
      all.set(folder, { path: folder, mode: 0o755, content: { kind: 'folder' } });
    }
  for (const entry of entries) all.set(entry.path, entry);
  return writeTar([...all.values()], created);
}

// Node from its npm package, compared with the checksum that package-lock.json has recorded.

/** The program of Node and its licence, for one architecture. */
function nodeFiles(root: string, architecture: 'x64' | 'arm64', cache: string): TarEntry[] {
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
