// Every command of ours that a page shows is one that the program takes, and every value of the chart is one that the chart has.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runCommandLine } from '../../src/cli/command-line.ts';
import { parseCommandLine } from '../../src/cli/line/parse-arguments.ts';
import { scene } from '../cli/scene.ts';
import { commandsIn } from './commands-in.ts';
import { Processes, root } from './processes.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const pages = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'fixtures/patches/README.md'],
  'bench/blackbox/README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
];
const commandsOf = (page: string) => commandsIn(read(page)).flat();

/** The words behind `hostward`, also where it is called through npx or inside a pod. */
function ownWords(words: readonly string[]): readonly string[] | undefined {
  const at = words.findIndex((word) => word === 'hostward' || word.endsWith('/hostward.mjs'));
  if (at < 0) return undefined;
  const before = words.slice(0, at).filter((word) => !/^[A-Z_]+=/.test(word));
  const isCalled = before.length === 0 || before[0] === 'npx' || words[at]?.endsWith('/hostward.mjs');
  // A variable of the page holds options.
  return isCalled ? words.slice(at + 1).filter((word) => !word.startsWith('$')) : undefined;
}

const shown = pages.flatMap((page) =>
  commandsOf(page).flatMap(({ words }) => {
    const own = ownWords(words);
    return own === undefined ? [] : [[page, own.join(' '), own] as const];
  }),
);

describe('a command on a page', () => {
  it('is found on many pages', () => {
    expect(shown.length).toBeGreaterThan(40);
    expect(new Set(shown.map(([page]) => page)).size).toBeGreaterThan(10);
  });

  it.each(shown)('%s: hostward %s is one that the program takes', (_, line, words) => {
    const parsed = parseCommandLine(words);
    expect([line, parsed.kind === 'command' || line.includes('--help')]).toEqual([line, true]);
  });

  // What is printed stays in the terminal and its history; a redirection makes a file that others may read.
  it('that prints a secret writes it with --out into a file of its owner', () => {
    const texts = pages.flatMap((page) =>
      [
        ...read(page)
          .replaceAll('\\\n', ' ')
          .matchAll(/hostward (?:keys (?:create|rotate)|kubeconfig) [^`\n]*/g),
      ].map(([text]) => `${page}: ${text}`),
    );
    // A text without a place to ask is a name of the command.
    const whole = texts.filter(
      (text) => /--config|--server|\$SERVER/.test(text) && !text.includes('--exec-credential'),
    );
    expect(whole.length).toBeGreaterThan(15);
    expect(whole.filter((text) => !text.includes(' --out '))).toEqual([]);
  });

  it('in a message names a page that there is, and no message names a file of docs/', () => {
    const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => [file, read(`src/${file}`).replaceAll(/^ *(?:\/\/|\/?\*).*$/gm, '')] as const);
    const files = sources.flatMap(([file, text]) =>
      [...text.matchAll(/docs\/[a-z-]+\.md/g)].map(([name]) => [file, name]),
    );
    expect(files).toEqual([]);
    const named = sources.flatMap(([, text]) => [...text.matchAll(/hostward docs ([a-z-]+)/g)].map(([, page]) => page));
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((page) => !pages.includes(`docs/${page}.md`))).toEqual([]);
  });

  const values = parse(read('config/chart/values.yaml')) as Record<string, unknown>;
  const given = pages.flatMap((page) =>
    commandsOf(page)
      .filter(({ words }) => words[0] === 'helm' && words.includes('config/chart'))
      .flatMap(({ words }) =>
        words.filter((_, at) => words[at - 1] === '--set').map((set) => [page, set.split('=')[0] as string] as const),
      ),
  );
  it.each(given)('%s sets the value %s, which the chart has', (_, path) => {
    let value: unknown = values;
    for (const step of path.split('.')) {
      expect(Object.keys(value as object)).toContain(step);
      value = (value as Record<string, unknown>)[step];
    }
  });
});

describe('a configuration on a page', () => {
  const blocks = pages
    // Those of docs/patches.md are cases that `hostward test` runs.
    .filter((page) => page === 'README.md' || (page.startsWith('docs/') && page !== 'docs/patches.md'))
    .flatMap((page) =>
      [...read(page).matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text = '']) => [page, text] as const),
    )
    .filter(([, text]) => /^(?:hostward|sync):/m.test(text));

  it('is on several pages', () => {
    expect(new Set(blocks.map(([page]) => page)).size).toBeGreaterThan(4);
  });

  it.each(blocks)('of %s is one that the program takes', async (_, text) => {
    const { context, out } = scene({ files: { '/home/shown.yaml': text } });
    const names = ['--vcluster-name', 'my-vcluster', '--host-namespace', 'vcluster-my-vcluster'];
    const code = await runCommandLine(context, ['check', 'shown.yaml', '--no-files', ...names]);
    expect([code, out()]).toEqual([0, expect.stringContaining('no faults')]);
  });
});

describe('the README', () => {
  it('shows a first patch that is valid, and what the expression makes', async () => {
    const processes = new Processes();
    try {
      const [, file = ''] = /^```yaml\n(# first-patch\.yaml\n[\s\S]*?)^```/m.exec(read('README.md')) ?? [];
      processes.write('first-patch.yaml', file);
      const [evaluate = [], check = []] = firstPatch();
      expect(processes.run(evaluate)).toMatchObject({ status: 0, stdout: '"10.130.0.7"\n' });
      const { status, stdout } = processes.run(check);
      expect([status, stdout]).toEqual([0, expect.stringContaining('no faults')]);
      // What it warns of is what the page says; a patch that cuts or overlaps would be one more.
      const warnings = [...stdout.matchAll(/warning: (\S+):/g)].map(([, path]) => path);
      expect(warnings).toEqual([
        'sync.toHost.endpointSlices.enabled',
        'sync.toHost.endpoints.enabled',
        'sync.toHost.endpoints.patches[0].path',
      ]);
    } finally {
      await processes.stop();
    }
  });
});

function firstPatch(): (readonly string[])[] {
  const block = commandsIn(read('README.md')).find((commands) =>
    commands.some(({ text }) => text.includes('hostward eval')),
  );
  return (block ?? []).flatMap(({ words }) => {
    const own = ownWords(words);
    return own === undefined ? [] : [own];
  });
}

describe('an address of the project', () => {
  it('is in package.json alone, so that none is invented', () => {
    const texts = [...pages, 'config/chart/Chart.yaml', 'config/chart/values.yaml', 'Dockerfile'].map((page) =>
      read(page),
    );
    const addresses = texts.flatMap((text) => text.match(/https?:\/\/[^\s)`'"<>]+/g) ?? []);
    const isOurs = /^https?:\/\/(?:www\.)?(?:github|gitlab|codeberg|hub\.docker|ghcr|quay|hostward\.(?!example\.com))/;
    const isKnown = (address: string) => address.startsWith('https://github.com/loft-sh/');
    expect(addresses.filter((address) => isOurs.test(address) && !isKnown(address))).toEqual([]);
  });
});
