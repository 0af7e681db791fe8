// The commands of docs/try.md and docs/quick-start.md, as they are written there, in a shell. What needs Docker or the network is not run: there
// the embedded clusters of docs/try.md stand for kind and vCluster. The chart is installed by test/kube/install/chart.test.ts.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../src/cli/demo/free-ports.ts';
import { kubeAssets } from '../kube/start/assets.ts';
import { commandsIn } from './commands-in.ts';
import { Processes, root } from './processes.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const quickStart = commandsIn(read('docs/quick-start.md'));
const ten = quickStart.slice(0, 4).flat();

const assets = kubeAssets().found;
const path = [...(assets === undefined ? [] : [assets.folder]), process.env['PATH'] ?? ''].join(delimiter);
const hasKubectl = spawnSync('kubectl', ['version', '--client'], { env: { PATH: path } }).status === 0;

describe('docs/quick-start.md', () => {
  it('has ten commands', () => {
    expect(ten.map(({ words }) => words.slice(0, 2).join(' '))).toEqual([
      'kind create',
      'helm install',
      'docker build',
      'kind load',
      'helm install',
      'kubectl -n',
      'kubectl -n',
      'kubectl -n',
      'kubectl --kubeconfig',
      'kubectl -n',
    ]);
  });

  it('says which of its commands no test has run', () => {
    // Those of Docker, kind, vCluster's chart, and what needs running pods.
    const needs = /^(docker|kind) |vcluster --repo|rollout status|port-forward/;
    const unrun = ten.flatMap(({ text }, at) => (needs.test(text) ? [at + 1] : []));
    expect(unrun).toEqual([1, 2, 3, 4, 6, 8]);
    expect(read('docs/quick-start.md').replaceAll('\n', ' ')).toContain('commands 1 to 4, 6 and 8, which need them,');
  });

  it('builds the image under the name that the chart asks for', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(read('config/chart/values.yaml')).toMatch(/^ {2}repository: hostward$/m);
    expect(read('config/chart/Chart.yaml')).toMatch(new RegExp(`^appVersion: "?${version}"?$`, 'm'));
    for (const { words } of [ten[2], ten[3]].map((one) => one ?? { words: [] }))
      expect(words).toContain(`hostward:${version}`);
  });
});

describe.skipIf(!hasKubectl)(`the commands of the pages${hasKubectl ? '' : ' (skipped: no kubectl)'}`, () => {
  const processes = new Processes();
  let listen: string;
  beforeAll(async () => {
    listen = `127.0.0.1:${await freePort()}`;
    processes.environment['PATH'] = path;
  });
  afterAll(() => processes.stop());

  const shell = (text: string) =>
    spawnSync('bash', ['-c', text], { cwd: processes.folder, env: processes.environment, encoding: 'utf8' });

  it('of docs/try.md start two embedded clusters and the daemon', async () => {
    const page = read('docs/try.md');
    const [, file = ''] = /^```yaml\n(# hostward\.yaml\n[\s\S]*?)^```/m.exec(page) ?? [];
    // The port of the page may be taken on this machine.
    processes.write('hostward.yaml', file.replace(/^hostward:\n/m, `hostward:\n  listen: ${listen}\n`));
    Object.assign(processes.environment, { VCLUSTER_NAME: 'my-vcluster', NAMESPACE: 'vcluster-my-vcluster' });
    const block = commandsIn(page).find((commands) => commands[0]?.text.includes('devcluster')) ?? [];
    expect(block).toHaveLength(5);
    for (const { text, words } of block) {
      if (words[0] === 'kubectl') expect(shell(text)).toMatchObject({ status: 0, stderr: '' });
      else await processes.serve(words.slice(2), words.includes('run') ? 'starting' : 'https://');
    }
  }, 60_000);

  it('of docs/quick-start.md bring an Endpoints to the host', async () => {
    const [, , , , , , secret, , apply, look] = ten.map(({ text }) => text);
    processes.environment['KUBECONFIG'] = 'host.kubeconfig';
    // vCluster writes this Secret; the port that the eighth command forwards is the virtual cluster's own here.
    const made =
      'kubectl -n vcluster-my-vcluster create secret generic vc-my-vcluster --from-file config=virtual.kubeconfig';
    expect(shell(`${made} && cp virtual.kubeconfig before && rm virtual.kubeconfig`)).toMatchObject({ status: 0 });
    expect(shell(secret as string)).toMatchObject({ status: 0, stderr: '' });
    expect(shell('cmp before virtual.kubeconfig')).toMatchObject({ status: 0 });
    expect(shell(apply as string)).toMatchObject({ status: 0 });
    let copy = shell(look as string);
    for (let tries = 0; copy.status !== 0 && tries < 100; tries++) copy = shell(look as string);
    expect(copy.stdout).toContain('ip: 192.0.2.10');
    expect(copy.stdout).toContain('vcluster.loft.sh/object-name: database');
  }, 60_000);

  it('of both pages say why the object is on the host', () => {
    const last = quickStart.flat().find(({ text }) => text.includes('hostward.mjs status'));
    const words = last?.words.slice(last.words.findIndex((word) => word.endsWith('hostward.mjs')) + 1) ?? [];
    const said = processes.run([...words, '--address', listen]);
    expect([said.status, said.stderr]).toEqual([0, '']);
    expect(said.stdout).toContain('default/database');
  });
});
