// dataDir with a damaged file: the start is refused with a sentence that names the file and the way out, and the file stays as it
// is. npm cit takes a sample of the cases, .ci/run all of them.
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, runIn } from './keys-bench.ts';

const { folder: seed, remove } = newFolder();

beforeAll(async () => {
  await runIn(seed, ['keys', 'create', 'one', '--admin']);
  await runIn(seed, ['backup', backup]);
});
const { folder: beside, remove: removeBeside } = newFolder();
const backup = join(beside, 'backup');
afterAll(() => {
  remove();
  removeBeside();
});

type Damage = (path: string) => void;
interface Case {
  file: string;
  what: string;
  damage: Damage;
  says: RegExp;
}

const pageBytes = 4096;
const letters = (count: number) => Buffer.alloc(count, 'A');
const overwrite =
  (at: number, bytes: Buffer): Damage =>
  (path) => {
    const whole = readFileSync(path);
    bytes.copy(whole, at);
    writeFileSync(path, whole);
  };
const aFolder: Damage = (path) => {
  rmSync(path);
  mkdirSync(path);
};
const otherDatabase =
  (version: number): Damage =>
  (path) => {
    rmSync(path);
    query(path, `CREATE TABLE other (name TEXT); PRAGMA user_version = ${version}`);
  };
const changed =
  (change: object): Damage =>
  (path) =>
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...change }));
const absent: Damage = (path) => rmSync(path);
const toldFolder = /wanted a file, found a folder; move it away/;
const toRestore = /hostward restore FOLDER/;
const toBackup = /bring (?:it|both|the file) back from a backup/;

function query(path: string, text: string): void {
  const database = new DatabaseSync(path);
  database.exec(text);
  database.close();
}

const ofDatabase: [string, Damage, RegExp][] = [
  ['cut off in its header', (path) => truncateSync(path, 90), toRestore],
  ['cut off between pages', (path) => truncateSync(path, 2 * pageBytes), toRestore],
  ['cut off in a page', (path) => truncateSync(path, 2 * pageBytes + 100), toRestore],
  ['with a header of letters', overwrite(0, letters(100)), toRestore],
  ['all letters', (path) => writeFileSync(path, letters(20_000)), toRestore],
  // The second page is SQLite's map of pages, which only a change of their number reads.
  ['with a page of letters in the middle', overwrite(2 * pageBytes, letters(pageBytes)), toRestore],
  ['with an empty page in the middle', overwrite(2 * pageBytes, Buffer.alloc(pageBytes)), toRestore],
  [
    'of a later version',
    (path) => query(path, 'PRAGMA user_version = 9'),
    /start the version of Hostward that wrote it/,
  ],
  ['of another program', otherDatabase(0), /database of another program, and stays as it is; move it away/],
  ['of another program with our version', otherDatabase(1), /database of another program/],
  ['a folder', aFolder, toldFolder],
];

const cases: Case[] = [
  ...ofDatabase.map(([what, damage, says]) => ({ file: 'keys.db', what, damage, says })),
  { file: 'keys.db-wal', what: 'all letters', damage: (path) => writeFileSync(path, letters(5_000)), says: toRestore },
  ...['secrets.json', 'token-keys.json', 'ca.crt', 'ca.key'].flatMap((file): Case[] => {
    const says = file === 'token-keys.json' ? /restore it, or remove it to end all tokens/ : toBackup;
    return [
      { file, what: 'empty', damage: (path) => writeFileSync(path, ''), says },
      { file, what: 'all letters', damage: (path) => writeFileSync(path, letters(300)), says },
      { file, what: 'cut off', damage: (path) => truncateSync(path, statSync(path).size >> 1), says },
      { file, what: 'a folder', damage: aFolder, says: toldFolder },
    ];
  }),
  ...['secrets.json', 'ca.crt', 'ca.key'].map((file) => ({ file, what: 'absent', damage: absent, says: toBackup })),
  ...[
    ['of another server', { peppers: [{ version: 1, bytes: letters(32).toString('base64') }] }],
    ['without peppers', { peppers: [] }],
    ['with a short pepper', { peppers: [{ version: 1, bytes: 'AAAA' }] }],
    ['with a short field key', { fieldKey: 'AAAA' }],
    ['with another field key', { fieldKey: letters(32).toString('base64') }],
    ['with a short audit key', { auditKey: 'AAAA' }],
  ].map(([what, change]) => ({
    file: 'secrets.json',
    what: String(what),
    damage: changed(change as object),
    says: toBackup,
  })),
  ...['audit.log', 'revocations.log'].flatMap((file): Case[] => [
    {
      file,
      what: 'all letters',
      damage: (path) => writeFileSync(path, letters(300)),
      says: /stays as it is; .* move it away/,
    },
    { file, what: 'a folder', damage: aFolder, says: toldFolder },
  ]),
];

/** Every ninth shows each sentence about once. */
const chosen = cases.filter((_one, at) => process.env['HOSTWARD_DAMAGES'] === 'all' || at % 9 === 5);

/** A file without permissions is readable for root. */
const isRoot = process.getuid?.() === 0;
const all = isRoot
  ? chosen
  : [
      ...chosen,
      { file: 'keys.db', what: 'not readable', damage: (path: string) => chmodSync(path, 0), says: /keys\.db/ },
    ];

describe('a damaged dataDir', () => {
  it.each(all.map((one) => [`${one.file} ${one.what}`, one] as const))('%s', async (_name, { file, damage, says }) => {
    const { folder, remove: removeCopy } = newFolder();
    cpSync(seed, folder, { recursive: true });
    const path = join(folder, file);
    damage(path);
    const before = contents(folder);
    const { code, out, err } = await runIn(folder, ['keys', 'list']);
    expect([code, out, err]).toEqual([3, '', expect.stringMatching(says)]);
    expect(err.trim().split('\n')).toHaveLength(1);
    expect(err).not.toMatch(/\bat .*\.ts:\d|AAAAAAAA/);
    const after = contents(folder);
    // The database gets records of the configuration, and the logs get lines, before a later file is read.
    const mayGrow = (name: string) => name !== file && /\.(?:db|log)$/.test(name);
    for (const [name, bytes] of Object.entries(before))
      if (mayGrow(name)) expect(after[name]?.length, name).toBeGreaterThanOrEqual(bytes.length);
      else expect([name, after[name] === bytes]).toEqual([name, true]);
    // The commands for a bad day tell of it in words too.
    for (const argv of [
      ['audit', 'verify'],
      ['restore', backup],
    ]) {
      const said = await runIn(folder, argv);
      expect([0, 1, 3], said.err).toContain(said.code);
    }
    removeCopy();
  });
});

/** The files that must stay as they are, in base64. */
function contents(folder: string): Record<string, string> {
  const names = readdirSync(folder).filter((name) =>
    /^(?:keys\.db|secrets|token-keys|ca\.|revocations|audit)/.test(name),
  );
  return Object.fromEntries(
    names.map((name) => {
      const path = join(folder, name);
      return [name, statSync(path).isFile() ? readFileSync(path).toString('base64') : 'a folder'];
    }),
  );
}
