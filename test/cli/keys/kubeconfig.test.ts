import { relative } from 'node:path';
import { load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { keysPath, movedClock, until } from '../../management/server/bench.ts';
import { scene } from '../scene.ts';
import { type KeysBench, openKeysBench, runIn, runKeys } from './keys-bench.ts';

let bench: KeysBench;
let alice: string;
beforeAll(async () => {
  bench = await openKeysBench();
  alice = await bench.keyFor('alice', { user: 'alice' });
});
afterAll(() => bench.stop());

interface Config {
  clusters: { cluster: Record<string, string> }[];
  users: { user: { token?: string; exec?: { command: string; args: string[] } & Record<string, unknown> } }[];
}

/** One machine on which commands are run one after the other. */
function machine(environment: Record<string, string> = {}) {
  const clock = movedClock();
  const files = { '/ca.crt': bench.api.caPem, '/my.key': alice, '/home/notes': '' };
  const played = scene({ environment: { HOME: '/home/alice', ...environment }, files });
  const server = ['--server', `https://localhost:${bench.api.port}`, '--certificate-authority', '/ca.crt'];
  return {
    clock,
    files: played.files,
    context: played.context,
    printed: played.out,
    async run(...argv: string[]) {
      const before = played.out().length;
      const code = await runCommandLine({ ...played.context, clock }, [...argv, ...server, '--key-file', '/my.key']);
      return { code, out: played.out().slice(before), err: played.err() };
    },
  };
}

const kubeconfigKeys = async () =>
  ((await bench.ask('GET', keysPath)).body['items'] as unknown as { metadata: { name: string } }[])
    .map(({ metadata }) => metadata.name)
    .filter((name) => name.startsWith('kubeconfig-'));

describe('hostward kubeconfig', () => {
  it('prints the kubeconfig alone on standard output, from elsewhere and on the machine of the server', async () => {
    const distant = await bench.distant(alice, 'kubeconfig', 'shop/v1', '--ttl', '1h');
    expect(distant).toMatchObject({ code: 0, err: '' });
    const config = load(distant.out) as Config;
    expect(config.users[0]?.user.token).toMatch(/^mpk_/);
    expect(config.clusters[0]?.cluster['server']).toBe(
      'https://localhost:8443/kubernetes/project/shop/virtualcluster/v1',
    );
    const local = await bench.local('kubeconfig', 'shop/v1', '-o', 'json', '--api-server', 'https://gate.example.com');
    expect(JSON.parse(local.out)).toMatchObject({
      kubeConfig: expect.stringContaining('server: https://gate.example.com\n'),
      expires: expect.stringMatching(/^20\d\d-.*Z$/),
    });
  });

  it.each([{ how: [] }, { how: ['--exec'] }])(
    'is with --out in a file of its owner, and nowhere else: $how',
    async ({ how }) => {
      const at = machine();
      const { code, out, err } = await at.run('kubeconfig', 'shop/v1', ...how, '--out', 'v1.kubeconfig');
      const file = [...at.files].find(([path]) => path.endsWith('/v1.kubeconfig'))?.[1];
      expect([code, out, file?.mode]).toEqual([0, '', 0o600]);
      const user = (load(file?.text ?? '') as Config).users[0]?.user;
      expect(Object.keys(user ?? {})).toEqual([how.length === 0 ? 'token' : 'exec']);
      expect(err).toMatch(/^the kubeconfig of shop\/v1 is in v1\.kubeconfig/);
      if (user?.token !== undefined) expect(err).not.toContain(user.token);
    },
  );

  it.each([
    [['kubeconfig'], 2, 'want the virtual cluster as PROJECT/NAME, found nothing'],
    [['kubeconfig', 'shop'], 2, 'want the virtual cluster as PROJECT/NAME, found "shop"'],
    [['kubeconfig', 'shop/v1', '--exec', '--exec-credential'], 2, 'found both'],
    [['kubeconfig', 'shop/v1', '--exec', '--config', '-'], 2, 'found -'],
    [['kubeconfig', 'shop/v1', '--ttl', '5m'], 1, 'spec.certificateTTL: Invalid value: 300'],
    [['kubeconfig', 'shop/v2'], 1, 'no ingress endpoint is configured for the virtual cluster shop/v2'],
    [['kubeconfig', 'shop/v9'], 1, '"v9" not found'],
    [['kubeconfig', 'shop/v1', '--client-cert'], 3, 'no client certificate for this caller'],
  ])('says what is wrong: %j', async (argv, code, message) => {
    const said = await bench.distant(alice, ...argv);
    expect(said).toMatchObject({ code, out: '', err: expect.stringContaining(message) });
  });

  it('makes a kubeconfig whose plugin is the command itself, with paths that hold in every folder', async () => {
    const at = machine();
    const { code, out } = await at.run('kubeconfig', 'shop/v1', '--exec', '--ttl', '1h');
    expect(code).toBe(0);
    expect((load(out) as Config).users[0]?.user).toEqual({
      exec: {
        apiVersion: 'client.authentication.k8s.io/v1',
        command: 'hostward',
        args: [
          ...['kubeconfig', 'shop/v1', '--exec-credential', '--ttl', '1h'],
          ...['--server', `https://localhost:${bench.api.port}`],
          ...['--certificate-authority', '/ca.crt', '--key-file', '/my.key'],
        ],
        installHint: expect.stringContaining('PATH'),
        interactiveMode: 'Never',
        provideClusterInfo: false,
      },
    });
    expect(out).not.toContain('mpk_');
  });

  it('warns when the plugin would find its dataDir from one folder alone', async () => {
    const argv = ['kubeconfig', 'shop/v1', '--exec'];
    const here = await runIn(relative(process.cwd(), bench.folder), argv);
    expect(here).toMatchObject({ code: 0, err: expect.stringContaining('kubectl runs the plugin in any folder') });
    expect(await bench.local(...argv)).toMatchObject({ code: 0, err: '' });
  });

  it('answers an ExecCredential, and keeps the key until a quarter of its life is left', async () => {
    const at = machine();
    const before = (await kubeconfigKeys()).length;
    const credential = async () => JSON.parse((await at.run('kubeconfig', 'shop/v1', '--exec-credential')).out);
    const first = await credential();
    expect(first).toMatchObject({
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: expect.stringMatching(/^mpk_/) },
    });
    const inHours = (Date.parse(first.status.expirationTimestamp) - Date.now()) / 3_600_000;
    expect(inHours).toBeGreaterThan(17.9);
    expect(inHours).toBeLessThan(18.1);
    const kept = [...at.files].filter(([path]) => path.startsWith('/home/alice/.cache/hostward/kubeconfig/'));
    expect(kept.map(([, { mode }]) => mode)).toEqual([0o600]);
    at.clock.moveSeconds(17 * 3600);
    expect(await credential()).toEqual(first);
    expect((await kubeconfigKeys()).length).toBe(before + 1);
    at.clock.moveSeconds(3601);
    const second = await credential();
    expect(second.status.token).not.toBe(first.status.token);
  });

  it('hands out a credential that it cannot keep, and says why', async () => {
    const at = machine();
    const readOnly = Object.assign(new Error(), { code: 'EROFS', syscall: 'mkdir', path: '/home' });
    at.context.files.makeFolder = () => Promise.reject(readOnly);
    at.context.files.create = () => Promise.reject(readOnly);
    const said = await at.run('kubeconfig', 'shop/v1', '--exec-credential');
    expect(said.code).toBe(0);
    expect(JSON.parse(said.out).status.token).toMatch(/^mpk_/);
    expect(said.err).toMatch(
      /is not kept: cannot make the folder "\/home": the file system is read-only; .*XDG_CACHE_HOME/,
    );
    expect(await at.run('kubeconfig', 'shop/v1', '--exec')).toMatchObject({ code: 0 });
  });

  it('makes one key for eight processes that start at once, and for those that meet a lock of a killed one', async () => {
    const at = machine();
    const before = (await kubeconfigKeys()).length;
    const together = async (count: number) => {
      const from = at.printed().length;
      const all = Array.from({ length: count }, () => at.run('kubeconfig', 'shop/v1', '--exec-credential'));
      expect((await Promise.all(all)).map(({ code }) => code)).toEqual(all.map(() => 0));
      const tokens = at.printed().slice(from).trim().split('\n');
      expect(tokens).toHaveLength(count);
      return new Set(tokens.map((line) => JSON.parse(line).status.token as string));
    };
    const [first] = await together(8);
    expect(await together(8)).toEqual(new Set([first]));
    expect((await kubeconfigKeys()).length).toBe(before + 1);
    const [path = ''] = [...at.files.keys()].filter((name) => name.includes('hostward/kubeconfig'));
    at.files.delete(path);
    at.files.set(`${path}.lock`, { text: 'of a process that was killed', mode: 0o600 });
    const { read } = at.context.files;
    let looks = 0;
    at.context.files.read = (name) => {
      if (name.endsWith('.lock')) looks++;
      return read(name);
    };
    const later = together(3);
    // A lock counts as left when a look finds it unchanged much later.
    await until(() => looks >= 3, 'a first look of each process at the lock');
    at.clock.moveMonotonic(5_000);
    expect((await later).size).toBe(1);
    expect((await kubeconfigKeys()).length).toBe(before + 2);
    expect(at.files.has(`${path}.lock`)).toBe(false);
  });

  it('gives the turn to the next process when one fails', async () => {
    const at = machine();
    const run = () => at.run('kubeconfig', 'shop/v9', '--exec-credential');
    expect((await Promise.all([run(), run(), run()])).map(({ code }) => code)).toEqual([1, 1, 1]);
    expect([...at.files.keys()].filter((name) => name.endsWith('.lock'))).toEqual([]);
  });

  it('keeps nothing in a relative folder', async () => {
    const at = machine({ XDG_CACHE_HOME: 'caches' });
    await at.run('kubeconfig', 'shop/v1', '--exec-credential');
    const kept = [...at.files.keys()].filter((path) => path.includes('hostward/kubeconfig'));
    expect(kept).toEqual([expect.stringMatching(/^\/home\/alice\/\.cache\/hostward/)]);
  });

  it('replaces a key that the server refuses, and shares none between access keys', async () => {
    const at = machine();
    const credential = async (...more: string[]) =>
      JSON.parse((await at.run('kubeconfig', 'shop/v1', '--exec-credential', ...more)).out).status.token as string;
    const known = await kubeconfigKeys();
    const first = await credential();
    const [made = ''] = (await kubeconfigKeys()).filter((name) => !known.includes(name));
    await bench.ask('DELETE', `${keysPath}/${made}`);
    const second = await credential();
    expect(second).not.toBe(first);
    expect(await credential()).toBe(second);
    const other = await bench.keyFor('other', { user: 'alice' });
    const server = ['--server', `https://localhost:${bench.api.port}`, '--certificate-authority', '/ca.crt'];
    const argv = ['kubeconfig', 'shop/v1', '--exec-credential', ...server];
    const files = { '/ca.crt': bench.api.caPem };
    const said = await runKeys(argv, { environment: { HOME: '/home/alice', HOSTWARD_ACCESS_KEY: other }, files });
    expect(JSON.parse(said.out).status.token).not.toBe(second);
  });
});
