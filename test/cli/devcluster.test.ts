import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/command-line.ts';
import { systemClock } from '../../src/clock.ts';
import { ApiClient } from '../contract/client.ts';
import { createCa } from '../kube/start/certificates.ts';
import { type Scene, type SceneOptions, scene } from './scene.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Runs the command until `use` is done. */
async function serving(options: SceneOptions, argv: string[], use: (at: Server) => Promise<void>): Promise<Scene> {
  const stage = scene(options);
  const context = { ...stage.context, clock: systemClock };
  const ended = runCommandLine(context, ['devcluster', '--output', 'json', ...argv]);
  const isServing = async () => {
    while (stage.out() === '') await new Promise((resolve) => setImmediate(resolve));
  };
  await Promise.race([ended, isServing()]);
  try {
    await use(serverOf(stage));
  } finally {
    stage.send('stop');
  }
  expect(await ended).toBe(0);
  return stage;
}

interface Server {
  url: string;
  caPem: string;
  token: string;
}

function serverOf(stage: Scene): Server {
  const { text, mode } = stage.files.get('/home/.hostward/devcluster.kubeconfig')!;
  expect(mode).toBe(0o600);
  const config = JSON.parse(text) as {
    clusters: { cluster: { server: string; 'certificate-authority-data': string } }[];
    users: { user: { token: string } }[];
  };
  const { server, 'certificate-authority-data': authority } = config.clusters[0]!.cluster;
  return { url: server, caPem: Buffer.from(authority, 'base64').toString(), token: config.users[0]!.user.token };
}

describe('hostward devcluster', () => {
  it('lets people in by certificate with --client-ca-file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hostward-clients-'));
    folders.push(folder);
    const ca = await createCa(folder);
    const files = { '/home/ca.crt': readFileSync(ca.certificatePath, 'utf8') };
    await serving({ files }, ['--client-ca-file', 'ca.crt'], async ({ url, caPem }) => {
      const certificate = await ca.issue('root', ['system:masters']);
      const client = new ApiClient({ url, caPem, token: null, certificate });
      expect((await client.request('GET', '/api/v1/namespaces')).status).toBe(200);
      await client.close();
    });
  });

  it.each([
    [[], 404],
    [['--authorization', 'rbac'], 200],
  ])('has the roles of a real cluster only where they count: %j', async (argv, status) => {
    await serving({}, argv, async ({ url, caPem, token }) => {
      const client = new ApiClient({ url, caPem, token });
      const answer = await client.request('GET', '/apis/rbac.authorization.k8s.io/v1/clusterroles/edit');
      expect(answer.status).toBe(status);
      await client.close();
    });
  });

  it.each([
    ['none.crt', 'hostward: cannot open "/home/none.crt": there is no such file or folder\n'],
    ['ca.crt', 'hostward: --client-ca-file ca.crt: want at least one certificate in PEM form, found none\n'],
  ])('refuses the authorities of %s', async (file, said) => {
    const { context, err } = scene({ files: { '/home/ca.crt': 'hello' } });
    expect([await runCommandLine(context, ['devcluster', '--client-ca-file', file]), err()]).toEqual([1, said]);
  });

  it('refuses a file that cannot hold its objects, and tells the way out', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hostward-data-'));
    folders.push(folder);
    const { context, err } = scene({ files: { [`${folder}.x`]: '', [`${folder}/`]: '' } });
    expect(await runCommandLine(context, ['devcluster', '--data', folder])).toBe(3);
    expect(err()).toMatch(/wanted a file, found a folder.*\nname another file with --data\n$/);
  });

  it.each(['kubeconfig', 'data'])('makes nothing for a --%s in a folder that is missing', async (option) => {
    const { context, files, err } = scene();
    const made: string[] = [];
    const makeFolder = async (path: string) => void made.push(path);
    const watched = { ...context, files: { ...context.files, makeFolder } };
    expect(await runCommandLine(watched, ['devcluster', `--${option}`, '/nonexistent/x'])).toBe(1);
    expect(err()).toContain(`--${option} /nonexistent/x: wanted a file in the folder /nonexistent, there is no such`);
    expect([made, files.size]).toEqual([[], 0]);
  });

  it('keeps its authority over a restart with --data, and has a new one each time without', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hostward-data-'));
    folders.push(folder);
    const authorityOf = async (...argv: string[]) => {
      const stage = await serving({ files: { [join(folder, 'x')]: '' } }, argv, async () => undefined);
      return serverOf(stage).caPem;
    };
    const data = ['--data', join(folder, 'objects.db')];
    expect(await authorityOf(...data)).toBe(await authorityOf(...data));
    expect(await authorityOf()).not.toBe(await authorityOf());
  });
});
