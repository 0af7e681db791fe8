// The base of the image: files of a few Debian packages, locked by version and hash, without a shell and a package manager.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from './layout.ts';
import { file, readTar, type TarEntry } from './tar.ts';

export interface LockedPackage {
  readonly name: string;
  readonly architecture: string;
  readonly version: string;
  readonly sha256: string;
}

/** What `config/image/debian.lock.json` holds. */
export interface DebianLock {
  readonly suite: string;
  readonly packages: readonly LockedPackage[];
}

/** Where packages come from and where they are kept: the mirror of this machine, and a folder outside the repository. */
export interface DebianSource {
  readonly mirror: string;
  readonly cache: string;
}

// What Node needs (libatomic since Node 25), what every program on Linux expects (times, certificates), and the names of the release.
const packageNames = ['base-files', 'ca-certificates', 'libatomic1', 'libc6', 'libgcc-s1', 'libstdc++6', 'tzdata'];

/** The architectures of the image, by the names that Debian and OCI share. */
export const architectures = ['amd64', 'arm64'] as const;
export type Architecture = (typeof architectures)[number];

/** Asks the mirror for the newest versions, downloads them, and says what a lock has to hold. */
export function newestLock(suite: string, source: DebianSource): DebianLock {
  const apt = openApt(suite, source);
  const names = architectures.flatMap((architecture) => packageNames.map((name) => `${name}:${architecture}`));
  // Packages for every architecture answer to the first one only, so the others are asked for without an error.
  const shown = apt('apt-cache', ['show', '--no-all-versions', ...names]);
  const packages = new Map<string, LockedPackage>();
  for (const stanza of shown.split('\n\n').filter((one) => one.trim() !== '')) {
    const field = (key: string) => new RegExp(`^${key}: (.*)$`, 'm').exec(stanza)?.[1] ?? '';
    const [name, architecture] = [field('Package'), field('Architecture')];
    packages.set(`${name}:${architecture}`, { name, architecture, version: field('Version'), sha256: field('SHA256') });
  }
  return { suite, packages: [...packages.values()] };
}

/** The files of the locked packages for one architecture. Each package is compared with its hash. */
export function baseFiles(lock: DebianLock, architecture: Architecture, source: DebianSource): TarEntry[] {
  const packages = lock.packages.filter((one) => [architecture, 'all'].includes(one.architecture));
  download(lock.suite, packages, source);
  const entries = new Map<string, TarEntry>();
  for (const one of packages) {
    const archive = join(source.cache, archiveName(one));
    const files = readTar(run('dpkg-deb', ['--fsys-tarfile', archive]));
    for (const entry of files) if (isWanted(one.name, entry.path)) entries.set(entry.path, entry);
    // Scanners find the packages of an image without dpkg by these files.
    const control = run('dpkg-deb', ['--field', archive]);
    entries.set(`var/lib/dpkg/status.d/${one.name}`, file(`var/lib/dpkg/status.d/${one.name}`, control));
  }
  const certificates = certificateBundle([...entries.values()]);
  entries.set(certificates.path, certificates);
  return [...entries.values()];
}

// Of base-files only what names the release and joins /lib with /usr/lib; of all others no manuals, and no tables of character sets.
function isWanted(name: string, path: string): boolean {
  if (/^usr\/share\/doc\/[^/]+\/copyright$/.test(path)) return true;
  if (name === 'base-files') return /^(bin|sbin|lib|lib64|(usr\/lib|etc)\/(os-release|debian_version))$/.test(path);
  return !/(^|\/)(doc|man|lintian|gdb|bug|gconv|debconf|sbin|bin|init\.d|ca-certificates\/update\.d)(\/|$)/.test(path);
}

/** What update-ca-certificates would write: one file of all authorities. */
function certificateBundle(entries: readonly TarEntry[]): TarEntry {
  const certificates = entries
    .filter(({ path }) => /^usr\/share\/ca-certificates\/.*\.crt$/.test(path))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ content }) => (content.kind === 'file' ? Buffer.from(content.bytes) : Buffer.alloc(0)));
  return file('etc/ssl/certs/ca-certificates.crt', Buffer.concat(certificates));
}

function download(suite: string, packages: readonly LockedPackage[], source: DebianSource): void {
  const missing = packages.filter((one) => !isCached(one, source.cache));
  if (missing.length === 0) return;
  const apt = openApt(suite, source);
  for (const one of missing) {
    const folder = join(source.cache, `download-${one.name}-${one.architecture}`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const wanted = `${one.name}${one.architecture === 'all' ? '' : `:${one.architecture}`}=${one.version}`;
    try {
      apt('apt-get', ['download', wanted], folder);
    } catch (cause) {
      throw new Error(
        `cannot download "${wanted}" of Debian ${suite}: ${lastLine(cause)}; ` +
          'when the mirror has a newer version, run npm run image -- --update-lock and commit the new lock',
      );
    }
    const [archive = ''] = readdirSync(folder);
    const found = sha256(readFileSync(join(folder, archive)));
    if (found !== one.sha256) throw new Error(`"${wanted}" has the hash ${found}, wanted ${one.sha256} as locked`);
    renameSync(join(folder, archive), join(source.cache, archiveName(one)));
    rmSync(folder, { recursive: true });
  }
}

function isCached(one: LockedPackage, cache: string): boolean {
  const path = join(cache, archiveName(one));
  return existsSync(path) && sha256(readFileSync(path)) === one.sha256;
}

function archiveName({ name, version, architecture }: LockedPackage): string {
  return `${name}_${version.replaceAll(':', '%3a')}_${architecture}.deb`;
}

/** apt with a state of its own, so that nothing on this machine changes and another release can be asked. */
function openApt(suite: string, { mirror, cache }: DebianSource) {
  const root = join(cache, `apt-${suite}`);
  for (const folder of ['lists/partial', 'cache/archives/partial', 'preferences.d'])
    mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, 'status'), '');
  const keyring = '[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]';
  const lines = [`${mirror} ${suite}`, `${mirror} ${suite}-updates`, `${mirror}-security ${suite}-security`];
  writeFileSync(join(root, 'sources.list'), lines.map((line) => `deb ${keyring} ${line} main\n`).join(''));
  const options = Object.entries({
    'Dir::State': root,
    'Dir::State::lists': join(root, 'lists'),
    'Dir::State::status': join(root, 'status'),
    'Dir::Cache': join(root, 'cache'),
    'Dir::Etc::sourcelist': join(root, 'sources.list'),
    'Dir::Etc::sourceparts': '-',
    'Dir::Etc::preferencesparts': join(root, 'preferences.d'),
    'APT::Architecture': architectures[0],
    'APT::Architectures': architectures.join(','),
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
    'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled': 'false',
    'Acquire::IndexTargets::deb::CNF::DefaultEnabled': 'false',
  }).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const apt = (program: string, words: readonly string[], folder = root): string =>
    run(program, [...options, '-qq', ...words], folder).toString();
  apt('apt-get', ['update']);
  return apt;
}

function run(program: string, words: readonly string[], folder?: string): Buffer {
  // libc6 unpacks to some 15 MB.
  return execFileSync(program, words, { cwd: folder, maxBuffer: 256 * 1024 * 1024, stdio: ['ignore', 'pipe', 'pipe'] });
}

function lastLine(cause: unknown): string {
  const text = cause instanceof Error && 'stderr' in cause ? String(cause.stderr) : String(cause);
  return text.trim().split('\n').at(-1) ?? '';
}

/** The mirror that this machine's own apt uses, so that no address is written down here. */
export function mirrorOfThisMachine(folder = '/etc/apt'): string | undefined {
  const parts = join(folder, 'sources.list.d');
  const files = [
    join(folder, 'sources.list'),
    ...(existsSync(parts) ? readdirSync(parts).map((one) => join(parts, one)) : []),
  ];
  for (const path of files) {
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    const found = /^(?:URIs: *|deb +(?:\[[^\]]*\] +)?)(https?:\/\/\S+\/debian)\/?(?:\s|$)/m.exec(text)?.[1];
    if (found !== undefined) return found;
  }
  return undefined;
}
