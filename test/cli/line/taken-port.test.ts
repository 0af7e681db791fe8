import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { freePorts } from '../../../src/cli/demo/free-ports.ts';
import { systemClock } from '../../../src/clock.ts';
import { daemonModule } from '../../../src/daemon/daemon.ts';
import { kubeconfigOf } from '../../management/server/daemon.ts';
import { scene } from '../scene.ts';

let taken: Server;
let folder: string;
let address: string;
let free: string[];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hostward-port-'));
  taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  address = `127.0.0.1:${(taken.address() as { port: number }).port}`;
  free = (await freePorts(2)).map((port) => `127.0.0.1:${port}`);
});
afterAll(() => {
  taken.close();
  rmSync(folder, { recursive: true, force: true });
});

async function run(argv: string[], hostward: object) {
  const { context, err } = scene({ files: { '/home/h.yaml': JSON.stringify({ hostward }) }, daemonModule });
  const code = await runCommandLine({ ...context, clock: systemClock }, argv);
  return { code, err: err() };
}

const says = (setting: string) => ({
  code: 3,
  err: `hostward: cannot listen on "${address}", the address of ${setting}: the port is taken\nchoose another address there, or end the program that has this one\n`,
});

describe('a taken port ends with 3 and the name of its setting', () => {
  const management = (more: object) => ({
    listen: free[0],
    management: { listen: free[1], dataDir: join(folder, 'data'), ...more },
  });

  it('hostward.listen of run', async () => {
    const said = await run(['run', '-c', 'h.yaml'], { ...management({}), listen: address });
    expect(said).toEqual(says('hostward.listen'));
  });

  it('hostward.management.listen', async () => {
    const said = await run(['run', '-c', 'h.yaml'], management({ listen: address }));
    expect(said).toEqual(says('hostward.management.listen'));
  });

  it('hostward.management.ingressListen', async () => {
    const ingress = { server: 'https://v1.example.com', servedBy: 'hostward' };
    const kubeconfig = join(folder, 'kubeconfig');
    const projects = [{ name: 'shop', virtualClusters: [{ name: 'v1', kubeconfig, ingress }] }];
    const said = await run(['run', '-c', 'h.yaml'], management({ ingressListen: address, projects }));
    expect(said).toEqual(says('hostward.management.ingressListen'));
  });

  it('hostward.listen and hostward.direct.listen of direct', async () => {
    const kubeconfig = join(folder, 'direct.kubeconfig');
    writeFileSync(kubeconfig, kubeconfigOf(1, '', 't'));
    const direct = {
      ...{ listen: free[1], cluster: 'c1', kubeconfig, platform: 'https://127.0.0.1:1' },
      ...{ keyFile: join(folder, 'agent.key'), dataDir: join(folder, 'direct') },
    };

    expect(await run(['direct', '-c', 'h.yaml'], { listen: address, direct })).toEqual(says('hostward.listen'));
    const other = await run(['direct', '-c', 'h.yaml'], { listen: free[0], direct: { ...direct, listen: address } });
    expect(other).toEqual(says('hostward.direct.listen'));
  });

  it('--port of devcluster', async () => {
    const said = await run(['devcluster', '--port', address.split(':')[1] as string], {});
    expect(said).toEqual(says('--port'));
  });
});
