import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keysPath } from '../../management/server/bench.ts';
import { configuration, type KeysBench, newFolder, openKeysBench, runIn, runKeys } from './keys-bench.ts';

let bench: KeysBench;

beforeAll(async () => {
  bench = await openKeysBench();
});

afterAll(() => bench.stop());

const statusOf = async (key: string) => (await bench.ask('GET', `${keysPath}?limit=1`, { key })).code;

describe('hostward keys rotate', () => {
  it('prints the new value alone, and the old one stops', async () => {
    const old = await bench.keyFor('turns', { user: 'alice' });
    const { code, out, err } = await bench.local('keys', 'rotate', 'turns');
    expect([code, err]).toEqual([
      0,
      'Warning: keys that were made with this key go on, those in kubeconfigs too: hostward keys list --made-by key:turns names them, and hostward keys revoke turns --tree ends them with the key\n' +
        'the access key "turns" has a new value, which is valid from now on and shown this once; the old value is refused from now on\n',
    ]);
    expect([await statusOf(out.trim()), await statusOf(old)]).toEqual([200, 401]);
  });

  it('lets the old value go on for the overlap', async () => {
    const old = await bench.keyFor('overlaps', { user: 'alice' });
    const { code, out } = await bench.distant(
      bench.admin,
      'keys',
      'rotate',
      'overlaps',
      '--overlap',
      '10m',
      '-o',
      'json',
    );
    const { accessKey, oldKeyValidUntil } = JSON.parse(out);
    expect([code, await statusOf(accessKey), await statusOf(old)]).toEqual([0, 200, 200]);
    const leftMs = Date.parse(oldKeyValidUntil) - Date.now();
    expect(leftMs).toBeGreaterThan(590_000);
    expect(leftMs).toBeLessThanOrEqual(601_000);
  });

  it('says of a second overlap what to do, and nothing of other names', async () => {
    await bench.keyFor('twice', { user: 'alice' });
    await bench.local('keys', 'rotate', 'twice', '--overlap', '10m');
    const { code, err } = await bench.local('keys', 'rotate', 'twice', '--overlap', '10m');
    expect([code, err]).toEqual([1, expect.stringContaining('rotate again then, or without an overlap')]);
    expect(err).not.toMatch(/another NAME|revoke/);
  });

  it('says that there is no such key', async () => {
    const { code, out, err } = await bench.local('keys', 'rotate', 'absent');
    expect([code, out, err]).toEqual([
      1,
      '',
      'hostward: ownedaccesskeys.management.platform "absent" not found\nhostward keys list shows the names of the keys that you may see\n',
    ]);
  });
});

describe('hostward keys extend', () => {
  it('moves the end, and the value stays', async () => {
    const key = await bench.keyFor('goes-on', { user: 'alice', ttl: 600 });
    const { code, out, err } = await bench.local('keys', 'extend', 'goes-on', '--ttl', '90d');
    expect([code, err]).toEqual([0, '']);
    const [, until = ''] = /^extended goes-on: valid until (\S+)\n$/.exec(out) ?? [];
    const leftMs = Date.parse(until) - Date.now();
    expect(leftMs / 86_400_000).toBeCloseTo(90, 2);
    expect(await statusOf(key)).toBe(200);
  });

  it('counts from the last use where the key does', async () => {
    await bench.keyFor('used', { user: 'alice', ttl: 600, ttlAfterLastActivity: true });
    await bench.local('keys', 'extend', 'used', '--ttl', '90d');
    const { body } = await bench.ask('GET', `${keysPath}/used`);
    expect(body['spec']).toMatchObject({ ttl: 90 * 86_400 });
  });

  it.each([
    ['without an end', {}, '1d', 'the access key "KEY" has no end'],
    ['that ends later', { ttl: 172_800 }, '1d', 'the access key "KEY" is valid until 2'],
    ['without a time', { ttl: 600 }, undefined, 'want the time for which the key stays valid'],
  ])('refuses a key %s', async (what, spec, ttl, words) => {
    const name = `key-${what.replaceAll(' ', '-')}`;
    await bench.keyFor(name, { user: 'alice', ...spec });
    const { code, err } = await bench.local('keys', 'extend', name, ...(ttl === undefined ? [] : ['--ttl', ttl]));
    expect([code === 0, err]).toEqual([false, expect.stringContaining(words.replace('KEY', name))]);
  });

  it('says who may move an end', async () => {
    await bench.keyFor('of-alice', { user: 'alice', ttl: 600 });
    const alice = await bench.keyFor('alice-herself', { user: 'alice' });
    const { code, err } = await bench.distant(alice, 'keys', 'extend', 'of-alice', '--ttl', '90d');
    expect([code, err]).toEqual([3, expect.stringContaining('only an administrator moves the end further away')]);
  });
});

describe('hostward keys revoke', () => {
  it('deletes the key, which is refused at once', async () => {
    const key = await bench.keyFor('leaves', { user: 'alice' });
    expect(await bench.local('keys', 'revoke', 'leaves')).toEqual({ code: 0, out: 'revoked leaves\n', err: '' });
    expect(await statusOf(key)).toBe(401);
    const again = await bench.local('keys', 'revoke', 'leaves');
    expect([again.code, again.out]).toEqual([1, '']);
  });

  it('with --tree deletes what the key has made, and what that has made, with a scope or without', async () => {
    const make = async (by: string, name: string) => {
      const { body } = await bench.ask('POST', keysPath, { key: by, body: { metadata: { name }, spec: {} } });
      return String(body['spec']?.['key']);
    };
    const root = await bench.keyFor('root', { user: 'alice' });
    const child = await make(root, 'child');
    const grandchild = await make(child, 'grandchild');
    const other = await bench.keyFor('no-relative', { user: 'alice' });
    const { code, out } = await bench.distant(bench.admin, 'keys', 'revoke', 'root', '--tree', '-o', 'json');
    expect([code, JSON.parse(out)]).toEqual([0, { revoked: ['root', 'child', 'grandchild'] }]);
    expect([await statusOf(child), await statusOf(grandchild), await statusOf(other)]).toEqual([401, 401, 200]);
  });

  it('with --tree and a key that may not ask for the tree deletes nothing', async () => {
    const alice = await bench.keyFor('asks', { user: 'alice' });
    await bench.keyFor('stays', { user: 'alice' });
    const { code, err } = await bench.distant(alice, 'keys', 'revoke', 'stays', '--tree');
    expect([code, err]).toEqual([3, expect.stringContaining("--tree needs an administrator's key without a scope")]);
    expect(err).toContain('nothing was revoked');
    expect((await bench.ask('GET', `${keysPath}/stays`)).code).toBe(200);
  });
});

describe('hostward keys explain', () => {
  it('says in words what every key may send', async () => {
    await bench.keyFor('plain', { user: 'alice' });
    for (const method of ['GET', 'get']) {
      const request = `${method} /kubernetes/management/version`;
      const said = await bench.local('keys', 'explain', 'plain', '--as-request', request);
      expect(said.out).toMatch(/^allowed: every key may send this, whoever it acts for/);
    }
  });

  const keys = `GET ${keysPath}`;

  it('names the right and the entry that allow a request', async () => {
    await bench.keyFor('wide', { user: 'admin' });
    await bench.keyFor('shop', { user: 'alice', scope: { projects: [{ project: 'shop' }] } });
    const wide = await bench.local('keys', 'explain', 'wide', '--as-request', keys);
    expect(wide).toEqual({ code: 0, out: 'allowed: administrator; the key acts for the user admin\n', err: '' });
    const instances = '/kubernetes/management/apis/management.platform/v1/namespaces/p-shop/virtualclusterinstances';
    const { code, out } = await bench.distant(
      bench.admin,
      ...['keys', 'explain', 'shop', '--as-request', `GET ${instances}`, '-o', 'json'],
    );
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ key: 'shop', allowed: true, entry: 'spec.scope.projects[0]' });
  });

  it('says which of rights and scopes refuses, with exit code 1', async () => {
    await bench.keyFor('shop-2', { user: 'alice', scope: { projects: [{ project: 'shop' }] } });
    const scoped = await bench.local('keys', 'explain', 'shop-2', '--as-request', `POST ${keysPath}`);
    expect([scoped.code, scoped.out]).toEqual([1, expect.stringMatching(/^refused: no entry of its scope allows /)]);
    await bench.keyFor('bob', { user: 'bob' });
    const path = '/kubernetes/cluster/c1/api';
    const stranger = await bench.local('keys', 'explain', 'bob', '--as-request', `GET ${path}`);
    expect([stranger.code, stranger.out]).toEqual([1, expect.stringMatching(/^refused: the user has no right to /)]);
  });

  it.each([
    ['cluster/c9', 'cluster c9'],
    ['project/shop/space/s9', 'space shop/s9'],
    ['project/shop/virtualcluster/v9', 'virtual cluster shop/v9'],
    ['project/p9/space/s1', 'project p9'],
  ])('says that there is no %s', async (path, what) => {
    const name = what.replace(/[ /]/g, '-');
    await bench.keyFor(name, { user: 'admin' });
    const said = await bench.local('keys', 'explain', name, '--as-request', `GET /kubernetes/${path}/api`);
    expect(said).toMatchObject({
      code: 1,
      out: `refused: the configuration has no ${what}, so that every request there is answered 404; the key acts for the user admin\n`,
    });
  });

  it('names the object that is not there, which a right to it does not show', async () => {
    await bench.keyFor('asks', { user: 'admin' });
    const ask = (request: string) => bench.local('keys', 'explain', 'asks', '--as-request', request);
    expect((await ask(`DELETE ${keysPath}/nowhere`)).out).toMatch(
      /^allowed: .*; there is no access key nowhere, so that an allowed request would be answered 404\n$/,
    );
    const instances = '/kubernetes/management/apis/management.platform/v1/namespaces/p-shop/virtualclusterinstances';
    expect((await ask(`GET ${instances}/none`)).out).toContain('there is no virtual cluster shop/none');
    for (const request of [`GET ${keysPath}/asks`, keys, `POST ${keysPath}`, `GET ${instances}/v1`])
      expect((await ask(request)).out).not.toContain('there is no');
  });

  // Alice may do everything with her own keys, but Bob's key does not exist for her.
  it('refuses a request about a key that this key does not see', async () => {
    await bench.keyFor('sees-little', { user: 'alice' });
    await bench.keyFor('bobs-own', { user: 'bob' });
    const ask = (request: string) => bench.local('keys', 'explain', 'sees-little', '--as-request', request);
    for (const method of ['GET', 'DELETE', 'PATCH'])
      expect(await ask(`${method} ${keysPath}/bobs-own`)).toMatchObject({
        code: 1,
        out: 'refused: the access key bobs-own is of the user bob and does not exist for this key, so that every request for it is answered 404; the key acts for the user alice\n',
      });
    expect((await ask(`GET ${keysPath}/sees-little`)).code).toBe(0);
    expect((await ask(`GET ${keysPath}?fieldSelector=metadata.name=bobs-own`)).code).toBe(0);
  });

  it('takes the address and an upgrade into account, and names the networks of a key', async () => {
    const metadata = { name: 'netted', annotations: { 'hostward.dev/allowed-cidrs': '10.0.0.0/8, 192.168.1.0/24' } };
    await bench.ask('POST', keysPath, { body: { metadata, spec: { user: 'admin' } } });
    const ask = (...more: string[]) => bench.local('keys', 'explain', 'netted', '--as-request', keys, ...more);
    const networks = 'the key is valid only from 10.0.0.0/8, 192.168.1.0/24, which --from ADDRESS takes into account';
    expect(await ask()).toMatchObject({
      code: 0,
      out: `allowed: administrator; the key acts for the user admin; ${networks}\n`,
    });
    expect(await ask('--from', '10.1.2.3')).toMatchObject({
      code: 0,
      out: 'allowed: administrator; the key acts for the user admin\n',
    });
    expect(await ask('--from', '172.16.0.1')).toMatchObject({
      code: 1,
      out: 'refused: the access key is not valid from your address; the key acts for the user admin\n',
    });
    expect(await ask('--from', 'here')).toMatchObject({ code: 1, err: expect.stringContaining('want an address') });
    // A list cannot be upgraded, and an upgraded get is a create.
    expect((await ask('--upgrade')).err).toContain('a list or watch is not upgraded to another protocol');
    const exec = 'GET /kubernetes/project/shop/virtualcluster/v1/api/v1/namespaces/a/pods/b/exec';
    const rules = [{ verbs: ['get'], resources: [{ group: '', resources: ['pods/exec'] }] }];
    await bench.keyFor('getter', { user: 'admin', scope: { rules } });
    const asked = ['keys', 'explain', 'getter', '--as-request', exec, '--upgrade'];
    expect(await bench.local(...asked)).toMatchObject({ code: 1, out: expect.stringContaining('create') });
  });

  it('says that the key itself does not count', async () => {
    await bench.keyFor('idle', { user: 'alice', disabled: true });
    const { code, out } = await bench.local('keys', 'explain', 'idle', '--as-request', keys);
    expect([code, out]).toEqual([1, 'refused: the access key is disabled; the key acts for the user alice\n']);
  });

  it.each([
    [['keys', 'explain', 'x'], 2, 'want the request to judge'],
    [['keys', 'explain', 'x', '--as-request', 'list keys'], 2, '--as-request wants a method and a path'],
    [['keys', 'explain', 'absent', '--as-request', 'GET /api'], 1, '"absent" not found'],
  ])('%j ends with %i', async (argv, code, says) => {
    const said = await bench.local(...argv);
    expect([said.code, said.out, said.err.includes(says)]).toEqual([code, '', true]);
  });

  it('refuses a path that nothing of this program serves', async () => {
    await bench.keyFor('plain', { user: 'alice' });
    const { code, err } = await bench.local('keys', 'explain', 'plain', '--as-request', 'GET /api/v1/pods');
    expect([code, err]).toEqual([1, expect.stringContaining('want a path that begins with /kubernetes/management')]);
  });

  it('is answered to administrators alone', async () => {
    const alice = await bench.keyFor('curious', { user: 'alice' });
    const { code, err } = await bench.distant(alice, 'keys', 'explain', 'curious', '--as-request', keys);
    expect([code, err.includes('forbidden')]).toEqual([3, true]);
    const narrow = await bench.keyFor('narrow-admin', {
      user: 'admin',
      scope: { rules: [{ nonResourceURLs: ['/*'], verbs: ['*'] }] },
    });
    expect((await bench.distant(narrow, 'keys', 'explain', 'wide', '--as-request', keys)).code).toBe(3);
  });
});

describe('hostward keys reattach', () => {
  const withoutAlice = (folder: string) => configuration(folder).replace(/alice/, 'zoe');

  /** Eight days pass in the store. */
  function ageRecords(folder: string): void {
    const database = new DatabaseSync(join(folder, 'keys.db'));
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all() as { name: string }[];
    for (const { name } of tables) {
      const columns = database.prepare(`PRAGMA table_info(${name})`).all() as { name: string }[];
      if (!columns.some((column) => column.name === 'value')) continue;
      database.exec(
        `UPDATE ${name} SET value = json_set(value, '$.removedMs', json_extract(value, '$.removedMs') - 691200000) WHERE json_valid(value) AND json_extract(value, '$.removedMs') > 0`,
      );
    }
    database.close();
  }

  it('brings back the keys of a name that was missing too long', async () => {
    const { folder, remove } = newFolder();
    const run = (...argv: string[]) => runIn(folder, argv);
    await run('keys', 'create', 'old-one', '--user', 'alice');
    await runKeys(['keys', 'list', '-c', 'h.yaml'], { files: { '/home/h.yaml': withoutAlice(folder) } });
    ageRecords(folder);
    const asRequest = ['--as-request', `GET ${keysPath}`];
    const lost = await run('keys', 'explain', 'old-one', ...asRequest);
    expect([lost.code, lost.out]).toEqual([
      1,
      'refused: the owner of the access key is not in the configuration; the key acts for the user alice\n',
    ]);
    const back = await run('keys', 'reattach', 'user/alice');
    expect([back.code, back.err]).toEqual([0, '']);
    expect(back.out).toMatch(/^user alice is [-0-9a-f]{36} again, with 1 access key\n$/);
    expect((await run('keys', 'explain', 'old-one', ...asRequest)).code).toBe(0);
    remove();
  });

  it.each([
    ['alice', 2, 'want KIND/NAME, like user/alice'],
    ['person/alice', 1, 'kind: want one of user, team'],
    ['user/nobody', 1, 'the configuration never had a user "nobody"'],
    ['user/alice', 1, 'user alice has no earlier identity'],
  ])('%s ends with %i', async (operand, code, says) => {
    const said = await bench.local('keys', 'reattach', operand);
    expect([said.code, said.out, said.err.includes(says)]).toEqual([code, '', true]);
  });

  it('says that a name never had a uid', async () => {
    const { code, err } = await bench.local('keys', 'reattach', 'user/alice', '--uid', 'abc');
    expect([code, err]).toEqual([1, 'hostward: user alice never had the uid abc\n']);
  });
});
