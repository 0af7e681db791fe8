import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/log.ts';
import { MissingRights } from '../../../src/management/proxy/missing-rights.ts';
import { UnusableUpstream, type Upstreams } from '../../../src/management/proxy/upstreams.ts';
import type { Directory } from '../../../src/management/scope/directory.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';
import { movedClock, openBench, people, until } from '../server/bench.ts';
import { kubeconfigText, placesAt } from './upstream.ts';

interface Status {
  upstreams?: { name: string; missing: string[]; trouble?: string; mend?: string }[];
}

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** A cluster that allows what the test says. */
async function cluster(allows: (attributes: { resource: string; name: string }) => boolean): Promise<string> {
  const server: Server = createServer((request, response) => {
    let text = '';
    request.on('data', (part) => {
      text += part;
    });
    request.on('end', () => {
      if (request.method === 'GET') return void response.end('{}');
      const { spec } = JSON.parse(text) as { spec: { resourceAttributes: { resource: string; name: string } } };
      response.writeHead(201, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ status: { allowed: allows(spec.resourceAttributes) } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const folder = mkdtempSync(join(tmpdir(), 'hostward-rights-'));
  const path = join(folder, 'kubeconfig');
  writeFileSync(path, kubeconfigText(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'secret'));
  endings.push(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return path;
}

describe('the rights of the server in the clusters behind it', () => {
  it('are looked at when it starts and are in its status until they are given', async () => {
    let isGiven = false;
    const path = await cluster(({ resource }) => isGiven || resource !== 'users');
    const clock = movedClock();
    const bench = await openBench({ settings: placesAt(path), clock });
    endings.push(() => bench.stop());
    const status = () => bench.api.status() as Status;
    await until(() => status().upstreams?.length === 3, 'the missing rights');
    expect(status().upstreams?.map(({ name }) => name)).toEqual([
      'cluster c1',
      'cluster hidden',
      'virtual cluster shop/v1',
    ]);
    expect(status().upstreams?.[0]).toMatchObject({
      missing: expect.arrayContaining(['impersonate users hostward:user:alice']),
      mend: 'hostward upstream-rbac --cluster c1 --config FILE >rights.yaml && kubectl --kubeconfig ADMIN-THERE apply -f rights.yaml',
    });
    expect(bench.api.status().troubles?.[0]).toMatch(
      /^Hostward lacks rights in cluster c1 \(impersonate .* and \d+ more\); give them with: hostward upstream-rbac --cluster c1/,
    );
    isGiven = true;
    clock.fire(60_000);
    await until(() => status().upstreams === undefined, 'the rights');
    isGiven = false;
    await bench.api.apply({ ...people, ...placesAt(path) });
    await until(() => status().upstreams?.length === 3, 'the look after a reload');
  });

  it('cannot be looked at in a cluster that is down, and its status says that', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hostward-rights-'));
    endings.push(() => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, 'kubeconfig');
    writeFileSync(path, kubeconfigText('http://127.0.0.1:1', 'secret'));
    const bench = await openBench({ settings: placesAt(path) });
    endings.push(() => bench.stop());
    const status = () => bench.api.status() as Status;
    await until(() => status().upstreams?.length === 3, 'the trouble');
    expect(status().upstreams?.[0]).toMatchObject({ missing: [], trouble: expect.stringMatching(/refused/) });
    expect(bench.api.status().troubles?.[0]).toMatch(
      /^cluster c1 cannot be asked for the rights of Hostward: .*refused/,
    );
    expect(JSON.stringify(status())).not.toContain('secret');
  });

  it('names the fault of a kubeconfig that cannot be used, which no caller learns', async () => {
    const path = join(tmpdir(), 'hostward-no-such-kubeconfig');
    const bench = await openBench({ settings: placesAt(path) });
    endings.push(() => bench.stop());
    const status = () => bench.api.status() as Status;
    await until(() => status().upstreams?.length === 3, 'the trouble');
    expect(status().upstreams?.[0]?.trouble).toContain(`${path}": there is no such file`);
    const { code, text } = await bench.ask('GET', '/kubernetes/cluster/c1/api');
    expect(code).toBe(503);
    expect(text).toContain('the log of the server says why');
    expect(text).not.toContain(path);
  });

  it('are those that it knows since, whatever a slow cluster answers to an earlier question', async () => {
    const clock = new VirtualClock();
    const waiting: ((reason: string) => void)[] = [];
    const upstreams = {
      upstreamOf: (target: { cluster: string }) =>
        new Promise((_, reject) => {
          waiting.push((reason) => reject(new UnusableUpstream(target.cluster, [reason])));
        }),
    } as unknown as Upstreams;
    const settings = { clusters: [{ name: 'c1', kubeconfig: 'file' }], projects: [] };
    const directory = () => ({ settings }) as unknown as Directory;
    const rights = new MissingRights({ directory, upstreams, clock, log: silentLog });
    const looks = [rights.look(), rights.look()];
    waiting[1]?.('the present reason');
    await settle();
    waiting[0]?.('an older reason');
    await Promise.all(looks);
    expect(rights.health).toEqual([{ name: 'cluster c1', missing: [], trouble: 'the present reason' }]);
    // Asked again a minute later, once.
    await clock.advance(60_000);
    expect(waiting).toHaveLength(3);
    rights.stop();
    expect(clock.pendingTimers).toBe(0);
  });
});
