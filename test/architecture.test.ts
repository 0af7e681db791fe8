import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  blackBoxViolations,
  floors,
  modelViolations,
  rightsModelViolations,
  strangersAtTop,
  violations,
} from './architecture.ts';
import { circlesToday, doublesToday, wideToday } from './architecture-exceptions.ts';
import {
  beyond,
  doubleNames,
  type Finding,
  folderCircles,
  longFiles,
  mostLongFiles,
  wideFolders,
  widestFolder,
} from './architecture-shape.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Files in version control and new ones, under the folders of the house. */
function entriesOf(...folders: string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name))),
  );
}

function sources(folder: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const entry of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
    if (/\.(ts|mjs)$/.test(entry)) files.set(`${folder}/${entry}`, readFileSync(join(root, folder, entry), 'utf8'));
  }
  return files;
}

describe('the house', () => {
  it('keeps its laws', () => {
    expect(violations(sources('src'))).toEqual([]);
  });

  it('has no folder that is too wide, in src, test and fixtures', () => {
    expect(beyond(wideFolders(entriesOf('src', 'test', 'fixtures')), wideToday)).toEqual([]);
  });

  it('has no folders that import each other', () => {
    expect(beyond(folderCircles(sources('src')), circlesToday)).toEqual([]);
  });

  it('has no long file without a reason', () => {
    expect(beyond(longFiles(sources('src')), [])).toEqual([]);
  });

  it('has one type for one exported name', () => {
    expect(beyond(doubleNames(sources('src')), doublesToday)).toEqual([]);
  });

  it('keeps the model of the rig apart from what it judges', () => {
    expect(modelViolations(sources('test/rig'))).toEqual([]);
  });

  it.each([
    ["import { decide } from '../../../src/sync/plan/decide/decide.ts';", 'src/sync/plan/decide/decide.ts'],
    ["const a = await import('../seed.ts');", 'test/rig/seed.ts'],
    ["import { hostName } from 'hostward';", 'hostward'],
  ])('would find a model that has seen the code: %s', (text, target) => {
    const found = modelViolations(new Map([['test/rig/model/a.ts', text]]));
    expect(found).toEqual([
      `test/rig/model/a.ts imports ${target}: the model imports only from test/rig/model/, Node, fast-check`,
    ]);
  });

  it('keeps the model of the rights apart from what it judges', () => {
    const files = sources('test/management');
    expect([...files.keys()].filter((file) => file.startsWith('test/management/model/')).length).toBeGreaterThan(10);
    expect(rightsModelViolations(files)).toEqual([]);
    const found = (file: string, text: string) => rightsModelViolations(new Map([[file, text]]));
    const seen = "import { allows } from '../../../src/management/scope/allows.ts';";
    expect(found('test/management/model/a.ts', seen)).toEqual([
      'test/management/model/a.ts imports src/management/scope/allows.ts: the model of the rights imports only from test/management/model/, test/management/matrix-case.ts, Node',
    ]);
    expect(found('test/management/matrix-case.ts', seen.replace('../../../', '../../'))).toHaveLength(1);
  });

  it('keeps the black box of the benchmarks apart from the daemon', () => {
    expect(blackBoxViolations(sources('bench'))).toEqual([]);
    const cases: [string, string][] = [
      ["import { hostName } from '../../src/object/meta/names.ts';", 'src/object/meta/names.ts'],
      ["import { spread } from '../statistics.ts';", 'bench/statistics.ts'],
      ["import { run } from 'hostward';", 'hostward'],
    ];
    for (const [text, target] of cases)
      expect(blackBoxViolations(new Map([['bench/blackbox/a.ts', text]]))).toEqual([
        `bench/blackbox/a.ts imports ${target}: the black box imports only from bench/blackbox/, Node, undici, @kubernetes/client-node`,
      ]);
  });

  it('has every room in ARCHITECTURE.md', () => {
    const map = existsSync(join(root, 'ARCHITECTURE.md')) ? readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8') : '';
    const rooms = [...sources('src').keys()]
      .map((file) => file.split('/'))
      .filter((parts) => parts.length > 2)
      .map((parts) => parts[1] as string);
    expect([...new Set(rooms)].filter((room) => !map.includes(`${room}/`))).toEqual([]);
  });
});

/** The files in version control; undefined where nothing can tell them. */
function trackedFiles(): string[] | undefined {
  const given = { cwd: root, encoding: 'utf8' } as const;
  const { status, stdout } = spawnSync('git', ['-c', 'safe.directory=*', 'ls-files'], given);
  return status === 0 ? stdout.split('\n') : undefined;
}

describe('the top level', () => {
  const files = trackedFiles();
  it.skipIf(files === undefined)(
    'has nothing in version control but the folders of the design and the files of every repository',
    () => {
      expect(strangersAtTop(files ?? [])).toEqual([]);
    },
  );

  it('would show a file that was left there', () => {
    const left = ['src/main.ts', '.ci/run', 'README.md', 'notes.out', 'lib/a.ts', 'lib/b.ts', ''];
    expect(strangersAtTop(left)).toEqual(['notes.out', 'lib']);
  });
});

describe('the laws can be broken', () => {
  const cases: { law: string; files: Record<string, string>; says: RegExp }[] = [
    {
      law: 'upward import',
      files: { 'src/object/a.ts': "// A.\nimport '../sync/b.ts';", 'src/sync/b.ts': '// B.' },
      says: /only from lower floors/,
    },
    {
      law: 'sideways import',
      files: { 'src/cluster/a.ts': "// A.\nimport type { B } from '../queue/b.ts';" },
      says: /only from lower floors/,
    },
    { law: 'unknown room', files: { 'src/misc/a.ts': '// A.' }, says: /there is no room "misc"/ },
    {
      law: 'front door imported',
      files: { 'src/cli/a.ts': "// A.\nimport '../main.ts';" },
      says: /nobody imports the front door/,
    },
    {
      law: 'leaf with imports',
      files: { 'src/log.ts': "// A.\nimport './object/object.ts';" },
      says: /a leaf imports nothing/,
    },
    {
      law: 'cycle',
      files: { 'src/sync/a.ts': "// A.\nimport './b.ts';", 'src/sync/b.ts': "// B.\nimport './a.ts';" },
      says: /import cycle/,
    },
    {
      law: 'process outside main',
      files: { 'src/sync/a.ts': '// A.\nprocess.exit(1);' },
      says: /process\.\* appears in main\.ts only/,
    },
    { law: 'own timer', files: { 'src/sync/a.ts': '// A.\nsetTimeout(run, 5);' }, says: /time comes from the Clock/ },
    {
      law: 'own randomness',
      files: { 'src/sync/a.ts': '// A.\nconst r = Math.random();' },
      says: /randomness is passed in/,
    },
    { law: 'default export', files: { 'src/sync/a.ts': '// A.\nexport default 1;' }, says: /no default exports/ },
    { law: 'no opening sentence', files: { 'src/sync/a.ts': 'const a = 1;' }, says: /opens with a sentence/ },
    {
      law: 'upward import inside a room',
      files: { 'src/sync/plan/a.ts': "// A.\nimport '../world/b.ts';", 'src/sync/world/b.ts': '// B.' },
      says: /inside sync a small room imports only from lower floors/,
    },
    {
      law: 'upward import inside a small room',
      files: { 'src/sync/patch/set/a.ts': "// A.\nimport '../run/b.ts';", 'src/sync/patch/run/b.ts': '// B.' },
      says: /inside sync\/patch a small room imports only from lower floors/,
    },
    {
      law: 'ground that imports a small room',
      files: { 'src/cluster/errors.ts': "// A.\nimport './wire/b.ts';", 'src/cluster/wire/b.ts': '// B.' },
      says: /inside cluster a small room imports only from lower floors/,
    },
    {
      law: 'unknown small room',
      files: { 'src/cluster/attic/a.ts': "// A.\nimport '../wire/b.ts';", 'src/cluster/wire/b.ts': '// B.' },
      says: /there is no small room "attic" in cluster/,
    },
    {
      law: 'a kind by its field',
      files: { 'src/sync/plan/a.ts': '// A.\nconst held = payload.subsets;' },
      says: /src\/sync\/plan\/a\.ts:2: sync asks the SyncedKind/,
    },
    {
      law: 'a kind by its name, beside a URL',
      files: { 'src/sync/loop/a.ts': "// A.\nconst known = ['https://a', 'Endpoints'];" },
      says: /sync asks the SyncedKind and names no kind/,
    },
    {
      law: 'a kind in a sentence',
      files: { 'src/sync/patch/a.ts': '// A.\nconst text = `no Endpoints has it`;' },
      says: /sync asks the SyncedKind and names no kind/,
    },
    {
      law: 'a kind by import',
      files: {
        'src/sync/loop/a.ts': "// A.\nimport '../kinds/endpoints/b.ts';",
        'src/sync/kinds/endpoints/b.ts': '// B.',
      },
      says: /sync asks the SyncedKind and names no kind/,
    },
    { law: 'drawer', files: { 'src/sync/utils.ts': '// A.' }, says: /no utils/ },
  ];
  it.each(cases)('$law', ({ files, says }) => {
    expect(violations(new Map(Object.entries(files))).join('\n')).toMatch(says);
  });

  it('a room of a kind and a comment may name the kind', () => {
    const comments = '// Subsets of Endpoints.\n/* subsets\n subsets */\nconst a = 1; // subsets';
    const files = { 'src/sync/kinds/endpoints/a.ts': '// A.\nconst b = a.subsets;', 'src/sync/plan/b.ts': comments };
    expect(violations(new Map(Object.entries(files)))).toEqual([]);
  });

  it('floors name fifteen rooms', () => {
    expect(Object.keys(floors)).toHaveLength(15);
  });
});

describe('the laws of shape can be broken', () => {
  const map = (files: Record<string, string>) => new Map(Object.entries(files));
  const long = (lines: number, head = '// A.') => `${head}${'\nconst one = 1;'.repeat(lines - 1)}`;
  const reason = '// A.\n// Long because one story needs it.';
  const cases: { law: string; found: Finding[]; says: RegExp | undefined }[] = [
    {
      law: 'a wide folder',
      found: wideFolders(Array.from({ length: widestFolder + 1 }, (_, at) => `fixtures/config/a${at}.yaml`)),
      says: /^fixtures\/config: 16 files and folders side by side/,
    },
    {
      law: 'a folder as wide as is allowed, and the rooms of the house',
      found: wideFolders(
        Array.from({ length: widestFolder }, (_, at) => [
          `src/sync/a${at}.ts`,
          `src/room${at}/b.ts`,
          `src/c${at}.ts`,
        ]).flat(),
      ),
      says: undefined,
    },
    {
      law: 'a folder and its child',
      found: folderCircles(
        map({
          'src/sync/a.ts': "import './in/b.ts';",
          'src/sync/in/b.ts': "import '../c.ts';",
          'src/sync/c.ts': '',
        }),
      ),
      says: /^src\/sync and src\/sync\/in import each other/,
    },
    {
      law: 'three folders in a circle',
      found: folderCircles(
        map({
          'src/sync/a/a.ts': "import '../b/b.ts';",
          'src/sync/b/b.ts': "import type { C } from '../c/c.ts';",
          'src/sync/c/c.ts': "import '../a/other.ts';",
        }),
      ),
      says: /^src\/sync\/a and src\/sync\/b and src\/sync\/c import each other/,
    },
    {
      law: 'a child that its folder imports',
      found: folderCircles(map({ 'src/sync/a.ts': "import './in/b.ts';", 'src/sync/in/b.ts': "import './c.ts';" })),
      says: undefined,
    },
    {
      law: 'a long file',
      found: longFiles(map({ 'src/sync/a.ts': long(301) })),
      says: /301 lines; beyond 300 its head/,
    },
    {
      law: 'a long file with a reason',
      found: longFiles(map({ 'src/sync/a.ts': long(399, reason) })),
      says: undefined,
    },
    {
      law: 'a reason behind the head',
      found: longFiles(map({ 'src/a.ts': `${long(301)}\n// Long because.` })),
      says: /beyond 300/,
    },
    {
      law: 'a file far too long',
      found: longFiles(map({ 'src/sync/a.ts': long(402, reason) })),
      says: /no file has more/,
    },
    {
      law: 'many long files',
      found: longFiles(
        map(Object.fromEntries(Array.from({ length: mostLongFiles + 1 }, (_, at) => [`a${at}.ts`, long(310, reason)]))),
      ),
      says: /at most 25 files may be longer/,
    },
    {
      law: 'one word for two types',
      found: doubleNames(
        map({ 'src/a.ts': 'export interface Asked {}', 'src/b.ts': 'export type Asked = 1;\ntype Own = 1;' }),
      ),
      says: /^Asked is 2 types, in src\/a.ts and src\/b.ts/,
    },
    {
      law: 'two types that nobody else sees',
      found: doubleNames(map({ 'src/a.ts': 'interface Asked {}', 'src/b.ts': 'type Asked = 1;' })),
      says: undefined,
    },
  ];
  it.each(cases)('$law', ({ found, says }) => {
    const told = found.map(({ sentence }) => sentence);
    if (says === undefined) expect(told).toEqual([]);
    else expect(told.join('\n')).toMatch(says);
  });

  it('an exception hides what breaks a law, and only that, and is reported when nothing needs it', () => {
    const found = doubleNames(
      map({ 'a.ts': 'export type A = 1;\nexport type B = 1;', 'b.ts': 'export class A {}\nexport class B {}' }),
    );
    expect(beyond(found, ['A', 'C'])).toEqual([
      'B is 2 types, in a.ts and b.ts: one word is one type',
      'C keeps the law now: take it off the list',
    ]);
  });
});
