import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { localSocketPath } from '../../../src/management/server/commands/local-socket.ts';
import { keysPath } from '../../management/server/bench.ts';
import { type KeysBench, newFolder, openKeysBench, runIn, runKeys } from './keys-bench.ts';

const value = /^mpk_[A-Za-z0-9]+_[A-Za-z0-9]+\n$/;

let bench: KeysBench;

beforeAll(async () => {
  bench = await openKeysBench();
});

afterAll(() => bench.stop());

describe('hostward keys create', () => {
  it('asks the running server, and prints the value alone on standard output', async () => {
    const { code, out, err } = await bench.local('keys', 'create', 'made-here', '--admin');
    expect(code).toBe(0);
    expect(out).toMatch(value);
    expect(err).toBe('the access key "made-here" of admin is made; its value is shown this once\n');
    const { code: read, body } = await bench.ask('GET', `${keysPath}/made-here`, { key: out.trim() });
    expect([read, body['spec']?.['user']]).toEqual([200, 'admin']);
  });

  it('opens the folder itself when no server runs, and the server takes the key later', async () => {
    const { folder, remove } = newFolder();
    const early = await runIn(folder, ['keys', 'list']);
    expect([early.code, early.out, early.err, existsSync(folder)]).toEqual([
      3,
      '',
      `hostward: there is no database of access keys in ${folder}\nstart the server, or make the first key with hostward keys create NAME --admin --config FILE\n`,
      false,
    ]);
    const elsewhere = await runIn('data', ['keys', 'list']);
    expect([elsewhere.code, elsewhere.err]).toEqual([
      3,
      'hostward: there is no database of access keys in /home/data\nhostward.management.dataDir is "data", which counts from the working folder: run the command where\nthe server runs, or write an absolute path\n',
    ]);
    const first = await runIn(folder, ['keys', 'create', 'first', '--admin']);
    expect([first.code, first.err]).toEqual([
      0,
      `a new database is made in ${folder}\nthe access key "first" of admin is made; its value is shown this once\n`,
    ]);
    expect(first.out).toMatch(value);
    // What a crash leaves behind is no server.
    writeFileSync(localSocketPath(folder), '');
    const again = await runIn(folder, ['keys', 'create', 'first', '--admin']);
    expect([again.code, again.out]).toEqual([1, '']);
    expect(again.err).toMatch(
      /^hostward: ownedaccesskeys.management.platform "first" already exists\nchoose another NAME/,
    );
    const { out } = await runIn(folder, ['keys', 'list']);
    expect(out).toMatch(/^NAME +OWNER +STATUS +EXPIRES +LAST USED\nfirst +admin +Active +<never> +<never>\n$/);
    remove();
  });

  it('waits for another command that has the folder', async () => {
    const { folder, remove } = newFolder();
    const names = ['one', 'two', 'three'];
    const all = await Promise.all(names.map((name) => runIn(folder, ['keys', 'create', name, '--admin'])));
    const said = (err: string) => err.replace(/^a new database .*\n/, '').split(' of admin')[0];
    expect(all.map(({ code, err }) => [code, said(err)])).toEqual(names.map((name) => [0, `the access key "${name}"`]));
    expect((await runIn(folder, ['keys', 'list'])).out.trim().split('\n')).toHaveLength(4);
    remove();
  }, 20_000);

  it('works against a distant server with a key from the environment', async () => {
    const made = await bench.distant(
      bench.admin,
      'keys',
      'create',
      'pipeline',
      '--user',
      'alice',
      '--ttl',
      '90d',
      '-o',
      'json',
    );
    expect([made.code, made.err]).toEqual([0, '']);
    const { accessKey, ...rest } = JSON.parse(made.out);
    expect(rest).toEqual({ name: 'pipeline', owner: 'alice', warnings: [] });
    const { body } = await bench.ask('GET', `${keysPath}/pipeline`, { key: accessKey });
    expect(body['spec']).toMatchObject({ user: 'alice', ttl: 90 * 24 * 3600 });
  });

  it('gives the key to the owner of the asking key, where nobody else is named', async () => {
    const alice = await bench.keyFor('alice-1', { user: 'alice' });
    const made = await bench.distant(alice, 'keys', 'create', 'alice-2', '-o', 'json');
    expect(JSON.parse(made.out)).toMatchObject({ owner: 'alice' });
  });

  it('narrows the key to the scope in a file, and prints what the server warns of', async () => {
    const files = { '/home/scope.yaml': 'rules: [{}]\n' };
    const argv = ['keys', 'create', 'narrow', '--user', 'alice', '--scope', 'scope.yaml'];
    const { code, out, err } = await runIn(bench.folder, argv, { files });
    expect([code, value.test(out)]).toEqual([0, true]);
    expect(err).toMatch(/^Warning: spec\.scope\.rules\[0\]: an empty rule/m);
    const { body } = await bench.ask('GET', `${keysPath}/narrow`);
    expect(body['spec']?.['scope']).toEqual({ rules: [{}] });
  });

  it('says what the server refuses, with exit code 1', async () => {
    const { code, err } = await bench.local('keys', 'create', 'nobody', '--user', 'nobody');
    expect(code).toBe(1);
    expect(err).toContain('spec.user');
  });
});

describe('hostward keys list', () => {
  it('prints a table that names owner, status, end and last use', async () => {
    await bench.keyFor('ends', { user: 'alice', ttl: 3600 });
    await bench.keyFor('off', { user: 'alice', disabled: true });
    const { code, out } = await bench.distant(bench.admin, 'keys', 'list');
    expect(code).toBe(0);
    expect(out).toMatch(/^ends +alice +Active +(59m|60m) +<never>$/m);
    expect(out).toMatch(/^off +alice +Disabled +<never> +<never>$/m);
    expect(out).toMatch(/^admin-\w+ +admin +Active +<never> +\d+s$/m);
  });

  it('shows the keys that the asking key may see, as JSON without a value of any', async () => {
    const alice = await bench.keyFor('alice-sees', { user: 'alice' });
    const { out } = await bench.distant(alice, 'keys', 'list', '-o', 'json');
    const { kind, items } = JSON.parse(out);
    expect(kind).toBe('OwnedAccessKeyList');
    expect(items.map(({ spec }: { spec: { user: string } }) => spec.user)).not.toContain('admin');
    expect(items.length).toBeGreaterThan(0);
    expect(out).not.toMatch(/mpk_/);
  });
});

describe('reaching the server', () => {
  it('the socket is for its owner alone', () => {
    expect(statSync(localSocketPath(bench.folder)).mode & 0o777).toBe(0o600);
    expect(statSync(bench.folder).mode & 0o777).toBe(0o700);
  });

  it('a request over the network is not taken for one from the machine', async () => {
    expect((await bench.ask('GET', keysPath, { key: undefined })).code).toBe(401);
  });

  it('ends with 3 when another process holds the folder and does not answer (at length)', async () => {
    const { folder, remove } = newFolder();
    await runIn(folder, ['keys', 'create', 'first', '--admin']);
    const { DatabaseSync } = await import('node:sqlite');
    const holder = new DatabaseSync(join(folder, 'keys.db'));
    holder.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    const { code, out, err } = await runIn(folder, ['keys', 'list']);
    holder.close();
    expect([code, out]).toEqual([3, '']);
    expect(err).toContain('another process has locked it');
    remove();
  }, 20_000);

  it('ends with 3 for a key that is not good, and never repeats it', async () => {
    const wrong = bench.admin.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));
    const { code, err } = await bench.distant(wrong, 'keys', 'list');
    expect(code).toBe(3);
    expect(err).toBe(
      'hostward: Unauthorized\nthe access key comes from HOSTWARD_ACCESS_KEY or --key-file; it may be mistyped or deleted\n',
    );
  });

  it.each([
    ['repeats no second try where it may do the change twice', {}, ''],
    [
      'says where a second try helps',
      { retryAfterSeconds: 1 },
      'try again in a moment; the log of the server tells why\n',
    ],
  ])('%s', async (_, details, hint) => {
    const { folder, remove } = newFolder();
    mkdirSync(folder);
    const server = createServer((_request, response) =>
      response.writeHead(503).end(JSON.stringify({ kind: 'Status', message: 'the cluster is away', details })),
    ).listen(localSocketPath(folder));
    await once(server, 'listening');
    const { code, err } = await runIn(folder, ['keys', 'list']);
    server.close();
    expect([code, err]).toEqual([3, `hostward: the cluster is away\n${hint}`]);
    remove();
  });

  it('asks for a scope where the calling key has one', async () => {
    const rules = [
      { verbs: ['create'], resources: [{ group: 'management.platform', resources: ['ownedaccesskeys'] }] },
    ];
    const key = await bench.keyFor('maker', { user: 'alice', scope: { rules } });
    const { code, err } = await bench.distant(key, 'keys', 'create', 'made-without-scope');
    expect([code, err]).toEqual([3, expect.stringMatching(/makes no key without one\ngive --scope FILE /)]);
  });

  it('takes the key from a file before the environment', async () => {
    const files = { '/home/my.key': `${bench.admin}\n`, '/ca.crt': bench.api.caPem };
    const server = ['--server', `https://localhost:${bench.api.port}`, '--certificate-authority', '/ca.crt'];
    const environment = { HOSTWARD_ACCESS_KEY: 'wrong' };
    const { code } = await runKeys(['keys', 'list', '--key-file', 'my.key', ...server], { files, environment });
    expect(code).toBe(0);
  });

  it('ends with 3 when the authority of the server is not the one that was named', async () => {
    const server = ['--server', `https://localhost:${bench.api.port}`];
    const { code, err } = await runKeys(['keys', 'list', ...server], {
      environment: { HOSTWARD_ACCESS_KEY: bench.admin },
    });
    expect(code).toBe(3);
    expect(err).toContain('name its authority with --certificate-authority FILE');
    expect(err).not.toContain(bench.admin);
  });

  it.each([
    ['http://localhost:1', 'no TLS'],
    ['https://user:secret@localhost', 'a password in it'],
    ['localhost:8443', 'no address'],
    ['https://localhost/elsewhere', 'a path of its own'],
  ])('refuses --server %s: %s', async (server) => {
    const { code, err } = await runKeys(['keys', 'list', '--server', server]);
    expect([code, err.split('\n')[0]]).toEqual([
      2,
      'hostward: --server wants an address like https://hostward.example.com:8443',
    ]);
  });

  it('says that the path of dataDir is too long for a socket', async () => {
    const { code, err } = await runIn(`/tmp/${'long/'.repeat(20)}`, ['keys', 'list']);
    expect(code).toBe(3);
    expect(err).toContain('hostward.sock" is too long for a socket');
  });

  it('wants to know which server is meant', async () => {
    const { code, err } = await runKeys(['keys', 'list']);
    expect(code).toBe(2);
    expect(err).toContain('--config FILE');
  });

  it('says that a configuration has no management API', async () => {
    const files = { '/home/h.yaml': 'hostward: {virtualClusterName: a, hostNamespace: b}\n' };
    const { code, err } = await runKeys(['keys', 'list', '-c', 'h.yaml'], { files });
    expect([code, err.split('\n')[0]]).toEqual([1, 'hostward: the configuration has no hostward.management']);
  });
});

describe('hostward keys', () => {
  it.each([[['keys']], [['keys', '--help']], [['help', 'keys']]])('%j lists its commands', async (argv) => {
    const { code, out } = await runKeys(argv);
    expect(code).toBe(0);
    expect(out).toContain('Usage: hostward keys COMMAND [OPTIONS]');
    expect(out).toContain('keys create');
  });

  it('names the commands when it is called with another word', async () => {
    const { code, err } = await runKeys(['keys', 'creat']);
    expect(code).toBe(2);
    expect(err).toContain('hostward keys wants one of create, list');
  });
});

describe('a refusal of the commands about keys', () => {
  const server = ['--server', 'https://localhost:1'];
  const HOSTWARD_ACCESS_KEY = 'mpk_a_b';
  const refused: [argv: string[], code: number, says: RegExp, wayOut: RegExp][] = [
    [['keys', 'create'], 2, /NAME of the access key/, /behind the command/],
    [['keys', 'create', 'A_b', '--admin'], 2, /small letters/, /like ci-deploy/],
    [
      ['keys', 'create', 'a', '--admin', '--team', 'red'],
      2,
      /one owner/,
      /one of --admin, --user NAME and --team NAME/,
    ],
    [['keys', 'create', 'a', '-c', 'h.yaml'], 2, /owner of the key is missing/, /--admin, --user NAME or --team/],
    [['keys', 'create', 'a', '--user', 'a', '--scope', 's.txt', ...server], 1, /want one map/, /"projects"/],
    [['keys', 'explain', 'a'], 2, /want the request/, /--as-request/],
    [['keys', 'explain', 'a', '--as-request', 'GET'], 2, /method and a path/, /in one argument/],
    [['keys', 'reattach', 'alice'], 2, /KIND\/NAME/, /user, team, project, cluster or virtualCluster/],
    [['keys', 'rotate'], 2, /NAME of the access key/, /hostward keys list/],
    [['keys', 'list', '--key-file', 'k'], 2, /goes with --server/, /leave --key-file out/],
    [['keys', 'list', '--server', 'http://x'], 2, /wants an address/, /baseURL/],
    [['keys', 'list', ...server], 3, /cannot ask/, /check that the server runs/],
    [['keys', 'list', ...server, '--key-file', 's.txt'], 1, /want one access key/, /hostward keys create has printed/],
    [['keys', 'list', ...server, '--certificate-authority', 's.txt'], 1, /want a certificate/, /ca\.crt of the server/],
    [['kubeconfig', 'v1'], 2, /PROJECT\/NAME/, /kubectl get virtualclusterinstances/],
    [['backup'], 2, /where the backup goes/, /FOLDER/],
    [['restore'], 2, /which backup/, /hostward backup/],
    [['upstream-rbac', '--instance', 'v1', '-c', 'h.yaml'], 2, /PROJECT\/NAME/, /hostward\.management\.projects/],
  ];
  it.each(refused)('%j says what to do', async (argv, wanted, says, wayOut) => {
    const files = { '/home/h.yaml': 'hostward: {management: {listen: 127.0.0.1:0}}\n', '/home/s.txt': 'two words\n' };
    const { code, out, err } = await runKeys(argv, { files, environment: { HOSTWARD_ACCESS_KEY } });
    const [first = '', ...rest] = err.split('\n');
    expect([code, out]).toEqual([wanted, '']);
    expect(first).toMatch(says);
    expect(rest.join(' ')).toMatch(wayOut);
  });

  it('says what to do instead, in every refusal of the sources', () => {
    const folder = fileURLToPath(new URL('../../../src/cli/keys/', import.meta.url));
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
    const without = files.flatMap((name) => {
      const source = readFileSync(join(folder, name), 'utf8');
      const calls = source.split('new CommandFault(').slice(1);
      // A fault that wraps another one says what that one says.
      const bare = calls
        .map((call) => call.slice(0, call.search(/\);\n/)))
        .filter((call) => !/hint|Hint|\{ cause|orSayIt/.test(call));
      return bare.map((call) => `${name}: ${call}`);
    });
    expect(without).toEqual([]);
  });
});
