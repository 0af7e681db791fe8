// Commands on this machine where the records are in a cluster, and no server runs.
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Devcluster, startDevcluster } from '../../../src/devcluster/devcluster.ts';
import { newNamespace } from '../../contract/store/on-host.ts';
import { newFolder, runKeys, type Said } from './keys-bench.ts';

let host: Devcluster;
let namespace: string;
beforeAll(async () => {
  host = await startDevcluster({ name: 'host' });
  writeFileSync(kubeconfig, host.kubeconfig);
  namespace = await newNamespace(host);
});
afterAll(() => host.stop());

const { folder, remove } = newFolder();
const kubeconfig = join(dirname(folder), 'kubeconfig');
afterAll(remove);

function run(...argv: string[]): Promise<Said> {
  const kubernetes = { kubeconfig, namespace };
  const people = { users: [{ name: 'alice' }] };
  const management = { listen: '127.0.0.1:0', dataDir: folder, store: { kubernetes }, ...people };
  const files = { '/home/h.yaml': JSON.stringify({ hostward: { management } }), [kubeconfig]: host.kubeconfig };
  return runKeys([...argv, '--config', 'h.yaml'], { files });
}

it('hostward keys create names the namespace in which the first key is made, and no database', async () => {
  const early = await run('keys', 'list');
  expect([early.code, early.err]).toEqual([
    3,
    `hostward: no replica has used ${folder} yet, and the keys are in the namespace ${namespace}\nstart the server, or make the first key with hostward keys create NAME --admin --config FILE\n`,
  ]);
  const { code, err } = await run('keys', 'create', 'first', '--admin');
  expect([code, err]).toEqual([
    0,
    `the key goes to the namespace ${namespace}; ${folder} is new, and becomes the folder of a replica\nthe access key "first" of admin is made; its value is shown this once\n`,
  ]);
  const again = await run('keys', 'create', 'second', '--admin');
  expect([again.code, again.err]).toEqual([
    0,
    'the access key "second" of admin is made; its value is shown this once\n',
  ]);
});
