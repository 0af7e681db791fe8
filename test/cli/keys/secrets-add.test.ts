import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type KeysBench, newFolder, openKeysBench, runIn, runKeys } from './keys-bench.ts';

let bench: KeysBench;
beforeAll(async () => {
  bench = await openKeysBench();
});
afterAll(() => bench.stop());

const secrets = () => JSON.parse(readFileSync(join(bench.folder, 'secrets.json'), 'utf8'));
const add = (...argv: string[]) => bench.local('secrets', 'add', ...argv);
const versions = (list: { version: number }[]) => list.map(({ version }) => version);

it('hostward secrets add adds a version beside the older ones, prints no secret, and what is there goes on working', async () => {
  const running = await add('pepper');
  expect([running.code, running.err]).toEqual([3, expect.stringMatching(/nothing was added: .* is in use/)]);
  await bench.api.close();
  const before = secrets();
  const pepper = await add('pepper');
  expect([pepper.code, pepper.out]).toEqual([
    0,
    expect.stringMatching(/^added pepper 2 to .*secrets\.json, beside 1\n/),
  ]);
  const { peppers, ...rest } = secrets();
  expect([versions(peppers), peppers[0], rest]).toEqual([
    [1, 2],
    before.peppers[0],
    { fieldKey: before.fieldKey, auditKey: before.auditKey },
  ]);
  expect(pepper.out).not.toContain(peppers[1].bytes);
  expect(JSON.parse((await add('seal-key', '-o', 'json')).out)).toMatchObject({ version: '2', kept: ['1'] });
  const token = JSON.parse((await add('token-key', '-o', 'json')).out);
  const { keys } = JSON.parse(readFileSync(join(bench.folder, 'token-keys.json'), 'utf8'));
  expect([token.kept.length, keys.length, keys[1].signsFromMs > keys[0].signsFromMs]).toEqual([1, 2, true]);
  // The server takes all of them.
  const made = await bench.local('keys', 'create', 'later', '--admin', '-o', 'json');
  expect(made.code).toBe(0);
});

it('hostward secrets add says what to do where it cannot add one', async () => {
  for (let round = 0; round < 2; round++) await add('pepper');
  const full = await add('pepper');
  expect([full.code, full.err]).toEqual([
    1,
    expect.stringMatching(/has 4 peppers, and there may be 4[\s\S]*remove the oldest/),
  ]);
  const what = await add('salt');
  expect([what.code, what.err]).toEqual([2, expect.stringContaining('pepper, token-key, seal-key')]);
  const unused = newFolder();
  const empty = await runIn(unused.folder, ['secrets', 'add', 'pepper']);
  unused.remove();
  expect([empty.code, empty.err]).toEqual([1, expect.stringContaining('there are no secrets in')]);
});

it('hostward restore refuses a configuration whose store is in a cluster, and touches nothing', async () => {
  const unused = newFolder();
  const management = { dataDir: unused.folder, store: { kubernetes: { kubeconfig: '/home/k', namespace: 'records' } } };
  const files = { '/home/k.yaml': JSON.stringify({ hostward: { management } }), '/home/k': '' };
  const { code, err } = await runKeys(['restore', '/backup', '--config', 'k.yaml'], { files });
  expect([code, err]).toEqual([1, expect.stringMatching(/has its store in a cluster[\s\S]*store migrate/)]);
  expect(existsSync(unused.folder)).toBe(false);
});
