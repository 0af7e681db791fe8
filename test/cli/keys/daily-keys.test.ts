import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { systemClock } from '../../../src/clock.ts';
import { people } from '../../management/server/bench.ts';
import { scene } from '../scene.ts';
import { configuration, type KeysBench, newFolder, openKeysBench, runIn, runKeys } from './keys-bench.ts';

let bench: KeysBench;
beforeAll(async () => {
  bench = await openKeysBench();
});
afterAll(() => bench.stop());

async function runWithFiles(folder: string, argv: string[], files: Record<string, string> = {}) {
  const { context, out, err, files: after } = scene({ files: { '/home/h.yaml': configuration(folder), ...files } });
  const code = await runCommandLine({ ...context, clock: systemClock }, [...argv, '--config', 'h.yaml']);
  return { code, out: out(), err: err(), files: after };
}

describe('hostward keys disable and enable', () => {
  it('refuses the key at once, and takes it again', async () => {
    const key = await bench.keyFor('sometimes', { user: 'alice' });
    const asks = async () => (await bench.ask('GET', '/kubernetes/management/api', { key })).code;
    expect(await asks()).toBe(200);
    expect(await bench.local('keys', 'disable', 'sometimes')).toEqual({
      code: 0,
      out: 'disabled sometimes\n',
      err: '',
    });
    expect(await asks()).toBe(401);
    const said = await bench.distant(bench.admin, 'keys', 'enable', 'sometimes', '-o', 'json');
    expect([said.code, JSON.parse(said.out)]).toEqual([0, { name: 'sometimes', disabled: false, warnings: [] }]);
    expect(await asks()).toBe(200);
  });

  it('names the key that is not there', async () => {
    const { code, err } = await bench.local('keys', 'disable', 'nowhere');
    expect(code).toBe(1);
    expect(err).toMatch(/"nowhere" not found\nhostward keys list shows/);
  });
});

describe('hostward keys get and list', () => {
  it('shows one key as a row, with all columns, and as an object without its value', async () => {
    await bench.keyFor('shown', { user: 'alice', ttl: 7200, scope: { projects: [{ project: 'shop' }] } });
    const text = await bench.local('keys', 'get', 'shown');
    expect(text.out).toMatch(/^NAME +OWNER +STATUS +EXPIRES +LAST USED\nshown +alice +Active +\S+ +<never>\n$/);
    const wide = await bench.local('keys', 'get', 'shown', '-o', 'wide');
    expect(wide.out.split('\n')[0]?.split(/ {2,}/).length).toBeGreaterThan(5);
    const yaml = await bench.local('keys', 'get', 'shown', '-o', 'yaml');
    expect(yaml.out).toContain('kind: OwnedAccessKey\n');
    expect(yaml.out).toContain('  scope:\n    projects:\n    - project: shop\n');
    expect(yaml.out).not.toMatch(/mpk_|managedFields/);
    expect(JSON.parse((await bench.local('keys', 'get', 'shown', '-o', 'json')).out).metadata.name).toBe('shown');
    expect((await bench.local('keys', 'list', '-o', 'yaml')).out).toContain('kind: OwnedAccessKeyList\n');
    const titles = (text: string) => text.split('\n')[0]?.split(/ {2,}/);
    expect(titles((await bench.local('keys', 'list', '-o', 'wide')).out)).toEqual(titles(wide.out));
  });
});

describe('--out FILE', () => {
  it('writes the value of a new key and of a rotated one into a file of its owner, and nothing else anywhere', async () => {
    const made = await runWithFiles(bench.folder, ['keys', 'create', 'filed', '--admin', '--out', 'filed.key']);
    const file = made.files.get('/home/filed.key');
    expect([made.code, made.out, file?.mode]).toEqual([0, '', 0o600]);
    expect(file?.text).toMatch(/^mpk_\w+\n$/);
    expect(made.err).toContain('shown this once, in filed.key\n');
    expect(made.err).not.toContain(file?.text.trim() as string);
    const argv = ['keys', 'rotate', 'filed', '--out', 'filed.key', '-o', 'json'];
    const rotated = await runWithFiles(bench.folder, argv, { '/home/filed.key': 'old' });
    expect(JSON.parse(rotated.out)).toEqual({
      name: 'filed',
      file: 'filed.key',
      warnings: [expect.stringContaining('hostward keys list --made-by key:filed')],
    });
    const again = rotated.files.get('/home/filed.key');
    expect([again?.mode, again?.text === file?.text]).toEqual([0o600, false]);
    expect((await bench.ask('GET', '/kubernetes/management/api', { key: again?.text.trim() as string })).code).toBe(
      200,
    );
  });

  it('takes no file for a new key that may hold another one', async () => {
    const argv = ['keys', 'create', 'second', '--admin', '--out', 'first.key'];
    const said = await runWithFiles(bench.folder, argv, { '/home/first.key': 'the value of another key' });
    expect([said.code, said.err, said.files.get('/home/first.key')?.text]).toEqual([
      1,
      'hostward: --out first.key: the file is there already, and may hold another key\nname another file, or remove this one first; nothing was made\n',
      'the value of another key',
    ]);
    expect((await bench.local('keys', 'get', 'second')).code).toBe(1);
    const empty = await runWithFiles(bench.folder, argv, { '/home/first.key': '' });
    expect([empty.code, empty.files.get('/home/first.key')?.text]).toEqual([0, expect.stringMatching(/^mpk_/)]);
  });

  it('says how to get another value when the disk is full at the last moment', async () => {
    const { context, err } = scene({ files: { '/home/h.yaml': configuration(bench.folder) } });
    const full = async (path: string) => {
      if (path.endsWith('.key')) throw Object.assign(new Error('no space'), { code: 'ENOSPC', syscall: 'write', path });
    };
    const files = { ...context.files, write: full };
    const argv = ['keys', 'create', 'lost', '--admin', '--out', 'lost.key', '--config', 'h.yaml'];
    expect(await runCommandLine({ ...context, files, clock: systemClock }, argv)).toBe(3);
    expect(err()).toBe(
      'hostward: the value of the key is lost: cannot write "/home/lost.key": the disk is full\nthe key is there all the same: hostward keys rotate lost gives it a new value, and hostward keys\nrevoke lost deletes it\n',
    );
    expect((await bench.local('keys', 'get', 'lost')).code).toBe(0);
  });

  it('makes no key when the file cannot be written', async () => {
    const argv = ['keys', 'create', 'unfiled', '--admin', '--out', 'folder'];
    const said = await runWithFiles(bench.folder, argv, { '/home/folder/': '' });
    expect([said.code, said.err.split('\n')[0]]).toEqual([1, 'hostward: --out folder: wanted a file, found a folder']);
    const lost = await bench.local('keys', 'create', 'unfiled', '--admin', '--out', 'gone/a.key');
    expect([lost.code, lost.err]).toEqual([
      1,
      'hostward: --out gone/a.key: wanted a file in the folder /home/gone, there is no such folder\ncorrect the path, or make the folder first\n',
    ]);
    expect((await bench.local('keys', 'get', 'unfiled')).code).toBe(1);
  });
});

describe('keys create --scope', () => {
  it('refuses a field that no scope has, as kubectl does', async () => {
    const files = { '/home/scope.yaml': 'project: [{project: shop}]\n' };
    const argv = ['keys', 'create', 'typo', '--user', 'alice', '--scope', 'scope.yaml'];
    const said = await runIn(bench.folder, argv, { files });
    expect([said.code, said.out]).toEqual([1, '']);
    const two = 'roles:\n  - role: agent\n    project: x\nspace: []\n';
    const both = await runIn(bench.folder, argv, { files: { '/home/scope.yaml': two } });
    expect([both.code, both.err.split('\n').slice(0, 3)]).toEqual([
      1,
      [
        'scope.yaml:3:5: scope.roles[0] has no field "project"; did you mean projects?',
        'scope.yaml:4:1: scope has no field "space"; did you mean spaces?',
        'hostward: the scope has 2 unknown fields',
      ],
    ]);
    expect(said.err).toContain('scope.yaml:1:1: scope has no field "project"; did you mean projects?');
  });

  it.each([
    ['projects: [{project: shop}\n', /^hostward: scope\.yaml:2:1: this is not YAML: .*close the "\["/],
    ['\tprojects: x', /^hostward: scope\.yaml:1:1: this is not YAML: .*indent with spaces/],
    [
      'projects: []\nprojects: []\n',
      /^hostward: scope\.yaml:2:1: this map has the key "projects" twice \(first in line 1\)/,
    ],
    [
      '{"projects": [{"project": "shop"}], "projects": []}',
      /^hostward: scope\.yaml:1:37: this map has the key "projects" twice \(first in line 1\)/,
    ],
    ['projects: &a [*a]\n', /^hostward: scope\.yaml:1:15: the alias \*a is inside its own value/],
  ])('says of %j what is wrong in the words of check', async (text, says) => {
    const argv = ['keys', 'create', 'typo', '--user', 'alice', '--scope', 'scope.yaml'];
    const said = await runIn(bench.folder, argv, { files: { '/home/scope.yaml': text } });
    expect([said.code, said.err]).toEqual([1, expect.stringMatching(says)]);
  });

  it('warns of names that the configuration does not have, and means the nearest', async () => {
    const { folder, remove } = newFolder();
    const { users, teams, projects } = people;
    const management = { listen: '127.0.0.1:0', dataDir: folder, users, teams, projects };
    const [project] = projects;
    const scope = {
      projects: [{ project: project?.name }, { project: `${project?.name}x` }, { project: '*' }],
      clusters: [{ cluster: 'no-such' }],
      roles: [{ role: 'vcluster', virtualClusters: ['shop/none'] }],
    };
    const files = {
      '/home/h.yaml': JSON.stringify({ hostward: { management } }),
      '/home/scope.yaml': JSON.stringify(scope),
    };
    const argv = ['keys', 'create', 'far', '--admin', '--scope', 'scope.yaml', '-c', 'h.yaml', '-o', 'json'];
    const said = await runKeys(argv, { files });
    expect(said.code, said.err).toBe(0);
    expect(JSON.parse(said.out).warnings.slice(0, 3)).toEqual([
      `scope.projects[1].project: the configuration has no project "${project?.name}x", did you mean "${project?.name}"?`,
      'scope.clusters[0].cluster: the configuration has no cluster "no-such"',
      expect.stringContaining(
        'scope.roles[0].virtualClusters[0]: the configuration has no virtual cluster "shop/none"',
      ),
    ]);
    remove();
  });
});

describe('-o json', () => {
  it.each([
    ['a refusal of the server', ['keys', 'get', 'nowhere', '--config', 'h.yaml'], 1, 'not found'],
    ['a wrong command line', ['keys', 'list', '--frobnicate'], 2, 'has no option'],
    ['a fault of the configuration', ['keys', 'list', '--config', 'bad.yaml'], 1, 'the configuration has a fault'],
    ['a missing file', ['keys', 'list', '--config', 'none.yaml'], 1, ''],
  ])('prints %s as one line of JSON on standard error', async (_, argv, exitCode, message) => {
    const files = { '/home/h.yaml': configuration(bench.folder), '/home/bad.yaml': 'hostward: {management: 7}\n' };
    for (const form of [['-o', 'json'], ['--output=json']]) {
      const said = await runKeys([...argv, ...form], { files });
      expect([said.code, said.out]).toEqual([exitCode, '']);
      expect(said.err.trimEnd().split('\n')).toHaveLength(1);
      const { error } = JSON.parse(said.err);
      expect(error).toMatchObject({ exitCode, message: expect.stringContaining(message) });
    }
  });
});

describe('a server that cannot be asked', () => {
  it('is reported in our words, without those of a library', async () => {
    const plain = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')).listen(0, '127.0.0.1');
    await once(plain, 'listening');
    const { port } = plain.address() as { port: number };
    const environment = { HOSTWARD_ACCESS_KEY: 'mpk_a' };
    const cases: [string, string][] = [
      ['https://127.0.0.1:1', 'connecting to "https://127.0.0.1:1": connection refused, nothing listens there'],
      [`https://127.0.0.1:${port}`, `speaking TLS with "https://127.0.0.1:${port}": the other side does not speak TLS`],
      [
        `https://localhost:${bench.api.port}`,
        `verifying the certificate of "https://localhost:${bench.api.port}": it is not signed by the CA of this machine`,
      ],
    ];
    for (const [server, reason] of cases) {
      const { code, err } = await runKeys(['keys', 'list', '--server', server], { environment });
      expect([code, err.split('\n')[0]]).toEqual([
        3,
        expect.stringContaining(`hostward: cannot ask the management API: ${reason}`),
      ]);
      expect(err).not.toMatch(/openssl|ECONN|EPROTO|routines/i);
    }
    plain.close();
  });
});
