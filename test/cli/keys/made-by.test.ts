import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keysPath } from '../../management/server/bench.ts';
import { type KeysBench, openKeysBench, runIn } from './keys-bench.ts';

let bench: KeysBench;
beforeAll(async () => {
  bench = await openKeysBench();
  const alice = await bench.keyFor('alice-1', { user: 'alice' });
  for (const name of ['of-alice', 'of-team'])
    await bench.ask('POST', keysPath, {
      key: alice,
      body: { metadata: { name }, spec: name === 'of-team' ? { team: 'red' } : {} },
    });
});
afterAll(() => bench.stop());

const firstWords = (out: string) =>
  out
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.split(' ')[0]);

describe('keys list', () => {
  it('names what is wrong with a folder that nobody can use', async () => {
    const folderProblems = { '/proc/x': 'the system makes no folder there' };
    expect(await runIn('/proc/x', ['keys', 'list'], { folderProblems })).toEqual({
      code: 3,
      out: '',
      err: 'hostward: cannot use /proc/x, the folder of hostward.management.dataDir: the system makes no folder there\nname a folder there that this user may write, or run the command as the user of the server\n',
    });
  });
});

describe('--made-by', () => {
  it('lists the keys that a user made, in a table and in JSON', async () => {
    const table = await bench.local('keys', 'list', '--made-by', 'alice');
    expect([table.code, firstWords(table.out)]).toEqual([0, ['of-alice', 'of-team']]);
    const { out } = await bench.distant(bench.admin, 'keys', 'list', '--made-by', 'alice', '-o', 'json');
    const { items } = JSON.parse(out) as { items: { metadata: { name: string } }[] };
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['of-alice', 'of-team']);
    const other = await bench.local('keys', 'list', '--made-by', 'key:alice-1');
    expect(firstWords(other.out)).toEqual(['of-alice', 'of-team']);
  });

  it.each([
    ['list', 'allice', ', and the configuration has no user "allice"; did you mean "alice"?', 'user:allice'],
    ['revoke', 'allice', ', and the configuration has no user "allice"; did you mean "alice"?', 'user:allice'],
    [
      'list',
      'operator',
      ', and the configuration has no user "operator"; keys that were made on this machine are found with os:operator',
      'user:operator',
    ],
    ['list', 'team:nobody', ', and the configuration has no team "nobody"', 'team:nobody'],
    ['list', 'os:nobody', '', 'os:nobody'],
  ])('%s says of %s why there are none', async (command, maker, why, shown) => {
    for (const form of ['text', 'json']) {
      const said = await bench.local('keys', command, '--made-by', maker, '-o', form);
      expect([said.code, said.err]).toEqual([0, `there are no access keys that ${shown} has made${why}\n`]);
    }
    const distant = await bench.distant(bench.admin, 'keys', 'list', '--made-by', 'allice');
    expect(distant.err).toContain('check the name, because a server does not tell which users it knows');
  });

  it('knows the keys that this command has made on this machine', async () => {
    expect(await bench.local('keys', 'create', 'rescue', '--admin')).toMatchObject({ code: 0 });
    expect(firstWords((await bench.local('keys', 'list', '--made-by', 'os:operator')).out)).toEqual(['rescue']);
  });

  it('wants a name, and no NAME of a key beside it', async () => {
    expect(await bench.local('keys', 'list', '--made-by', 'a b')).toMatchObject({ code: 2 });
    expect(await bench.local('keys', 'revoke', 'of-alice', '--made-by', 'alice')).toMatchObject({ code: 2 });
    expect(await bench.local('keys', 'revoke')).toMatchObject({ code: 2 });
  });

  it('revokes the calling key last, with --tree too', async () => {
    const root = await bench.keyFor('root-of-three', { user: 'root' });
    for (const more of [[], ['--tree']]) {
      const values: unknown[] = [];
      for (const name of ['aa-child', 'mm-child', 'zz-child']) {
        const { body } = await bench.ask('POST', keysPath, { key: root, body: { metadata: { name }, spec: {} } });
        values.push(body['spec']?.['key']);
      }
      const said = await bench.distant(String(values[1]), 'keys', 'revoke', '--made-by', 'root', ...more);
      const revoked = said.out.trim().split('\n');
      expect([said.code, said.err, revoked.at(-1)]).toEqual([0, '', 'revoked mm-child']);
      expect(revoked).toContain('revoked zz-child');
    }
  });

  it('revokes them, those of teams too, and nothing else', async () => {
    expect(await bench.local('keys', 'revoke', '--made-by', 'alice', '--tree')).toEqual({
      code: 0,
      out: 'revoked of-alice\nrevoked of-team\n',
      err: '',
    });
    expect(firstWords((await bench.local('keys', 'list')).out)).toContain('alice-1');
    expect(await bench.local('keys', 'revoke', '--made-by', 'alice')).toEqual({
      code: 0,
      out: '',
      err: 'there are no access keys that user:alice has made\n',
    });
  });
});
