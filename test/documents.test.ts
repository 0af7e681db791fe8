import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { durationMs } from '../src/cli/line/duration.ts';
import { parseCommandLine } from '../src/cli/line/parse-arguments.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const pages = (folder: string, ending = '.md'): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => `${folder}/${file}`);
const documents = [
  ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', 'bench/README.md'],
  'bench/blackbox/README.md',
  ...['test/contract/README.md', 'test/rig/README.md', 'fixtures/patches/README.md'],
  ...pages('docs'),
];
const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** As those who show the pages make them of headings. */
function anchorsOf(text: string): string[] {
  return [...text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe('the documents', () => {
  it.each(documents)('%s has no dead link', (file) => {
    const links = [...read(file).matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link as string);
    const own = links.filter((link) => !/^[a-z]+:/.test(link));
    const isDead = (link: string) => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? file : join(file, '..', path);
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && !anchorsOf(read(target)).includes(anchor);
    };
    expect(own.filter(isDead)).toEqual([]);
  });

  it('the README is short enough to be read whole', () => {
    expect(read('README.md').split('\n').length - 1).toBeLessThanOrEqual(150);
  });

  it('docs/README.md leads to every page', () => {
    const led = [...read('docs/README.md').matchAll(/\]\(([a-z-]+\.md)/g)].map(([, page]) => page as string);
    const there = readdirSync(join(root, 'docs')).filter((file) => file.endsWith('.md') && file !== 'README.md');
    expect([...new Set(led)].sort()).toEqual(there.sort());
  });

  it.each(['README.md', 'CONTRIBUTING.md'])('%s calls only npm scripts that exist', (file) => {
    const called = [...read(file).matchAll(/npm run ([a-z:]+)/g)].map(([, script]) => script as string);
    expect(called.filter((script) => !(script in packageJson.scripts))).toEqual([]);
  });

  it.each(['ARCHITECTURE.md', 'CONTRIBUTING.md', 'test/contract/README.md'])('%s names files that exist', (file) => {
    const named = [...read(file).matchAll(/`((?:src|test|bench|config|fixtures)\/[A-Za-z0-9_./-]+)`/g)];
    expect(named.map(([, path]) => path as string).filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('ARCHITECTURE.md is short enough to be read before the first change', () => {
    expect(
      read('ARCHITECTURE.md')
        .split(/\s+/)
        .filter((word) => word !== '').length,
    ).toBeLessThanOrEqual(2_500);
  });

  it.each(['config/deployment.yaml', 'config/sidecar-values.yaml', 'config/vcluster.yaml'])(
    '%s starts the daemon with options that it has, and with patience for an API server that starts later',
    (file) => {
      const args = /args: \[(.*)\]/.exec(read(file))?.[1]?.split(', ') ?? [];
      const parsed = parseCommandLine(args);
      if (parsed.kind !== 'command') throw new Error(`${file} calls no command`);
      expect(parsed.command.name).toBe('run');
      expect(durationMs('wait', parsed.options.text('wait') ?? '0')).toBeGreaterThan(60_000);
    },
  );

  it('the package contains the files that it needs to start, and its licence', () => {
    for (const file of [
      'dist',
      'src/launcher/begin.mjs',
      'src/launcher/hostward.mjs',
      'src/launcher/launch.mjs',
      'LICENSE',
    ])
      expect(packageJson.files).toContain(file);
  });
});
