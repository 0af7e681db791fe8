// A program in Go with client-go against the management API as `hostward run` serves it: what kubectl does not use (informers,
// typed clients, pages, conflicts by their kind) has to hold as well.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareProcess, type ServingProcess } from '../../management/server/daemon.ts';
import { kubeAssets } from '../start/assets.ts';

const assets = kubeAssets();
const program = join(assets.found?.folder ?? '', 'management-client');
const reason = assets.found === undefined ? assets.reason : missing();

function missing(): string | undefined {
  try {
    accessSync(program, constants.X_OK);
    return undefined;
  } catch {
    return `management-client not found in "${assets.found?.folder}": run "bash test/kube/build.sh"`;
  }
}

let server: ServingProcess;

describe.skipIf(reason !== undefined)(`client-go${reason === undefined ? '' : ` (skipped: ${reason})`}`, () => {
  beforeAll(async () => {
    server = await prepareProcess();
    await server.start();
  }, 60_000);
  afterAll(() => server.remove());

  it('discovers, informs, creates, patches, applies, pages, watches and deletes', async () => {
    const child = spawn(program, ['-kubeconfig', server.kubeconfigPath]);
    let [out, err] = ['', ''];
    child.stdout.on('data', (part) => {
      out += part;
    });
    child.stderr.on('data', (part) => {
      err += part;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    // client-go prints the warnings of answers there.
    const said = err.split('\n').filter((line) => line !== '' && !line.includes('warnings.go'));
    expect({ code, said }).toEqual({ code: 0, said: [] });
    expect(out.trim().split('\n')).toEqual([
      'discovery finds the kind',
      'an informer is in step',
      'a typed create returns the value once',
      'a dynamic create is checked',
      'three patches change it',
      'apply owns fields, and conflicts',
      'an update with an old version conflicts, and is tried again',
      'reviews answer in JSON and protobuf',
      'pages hold every key once',
      'a watch goes on from a resourceVersion',
      'nobody acts for another user',
      'a delete reaches the informer',
    ]);
  }, 120_000);
});
