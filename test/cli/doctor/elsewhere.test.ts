// What doctor says of servers that a test cannot break: of another version, with a certificate that ends, or behind the management API,
// and of what lies on another machine.
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { openBench } from '../../management/server/bench.ts';
import { generous, Stage, soundConfiguration } from './stage.ts';

const stage = new Stage();
beforeAll(() => stage.start());
afterAll(() => stage.stop());

const withManagement = (management: object) => ({
  text: JSON.stringify({ hostward: { management: { users: [{ name: 'alice' }], ...management } } }),
});

describe('the version of a cluster', () => {
  const withoutSlices = {
    ...soundConfiguration,
    hostward: { ...soundConfiguration.hostward, endpointSlices: { enabled: false } },
  };

  it.each([
    ['virtual', 'HW-202', 'v1.20.15+k3s1', 'with slices', 'fault'],
    ['host', 'HW-302', 'v1.20.15', 'with slices', 'fault'],
    ['host', 'HW-302', 'v1.20.15', 'without slices', 'warning'],
    ['host', 'HW-302', 'v1.21.0-eks-1', 'with slices', 'ok'],
    ['virtual', 'HW-202', 'v2.0.0', 'with slices', 'ok'],
    ['virtual', 'HW-202', 'unknown', 'with slices', 'warning'],
  ] as const)('of the %s: %s judges %s, %s, as %s', async (side, code, gitVersion, slices, verdict) => {
    const server = createServer((request, response) => {
      response.writeHead(request.url === '/version' ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify(request.url === '/version' ? { gitVersion } : { kind: 'Status', code: 404 }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const cluster = { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
    const names = { cluster: 'c', user: 'u' };
    const kubeconfig = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'x', contexts: [{ name: 'x', context: names }] },
      ...{ clusters: [{ name: 'c', cluster }], users: [{ name: 'u', user: { token: 't' } }] },
    };
    await writeFile(stage.path('old'), JSON.stringify(kubeconfig), { mode: 0o600 });
    try {
      const configuration = slices === 'with slices' ? soundConfiguration : withoutSlices;
      const { of } = await stage.findings([], { configuration, kubeconfigs: { [side]: stage.path('old') } });
      expect([of(code)?.verdict, of(code)?.says]).toEqual([verdict, expect.stringContaining(gitVersion)]);
      if (verdict === 'fault')
        expect(of(code)?.mend).toBe(`upgrade the ${side} cluster, or set hostward.endpointSlices.enabled to false`);
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });
});

it('names a right too many that a ServiceAccount of Hostward’s own has in the virtual cluster', async () => {
  const { code, of } = await stage.findings([], { kubeconfigs: { virtual: stage.path('generous') } });
  expect(of('HW-507')).toMatchObject({ verdict: 'warning', says: expect.stringContaining(generous.name) });
  expect(of('HW-507')?.details).toContain('get on secrets');
  expect(code).toBe(0);
});

it('cannot check a data folder, a daemon and a management API that are on another machine, which is no fault', async () => {
  const elsewhere = withManagement({ dataDir: '/nowhere/data', baseURL: 'https://127.0.0.1:1' });
  const { code, of, hidden } = await stage.findings([], elsewhere);
  for (const one of ['HW-701', 'HW-703', 'HW-801']) expect([one, of(one)?.verdict]).toEqual([one, 'couldNotCheck']);
  expect(of('HW-703')?.says).toBe('the folder /nowhere/data is not on this machine');
  expect(hidden).toContainEqual({ code: 'HW-802', because: 'HW-801' });
  expect(code).toBe(0);
});

it('tells when the certificate of the management API ends: later, soon, or before now', async () => {
  const bench = await openBench();
  try {
    const at = async (time: number) => {
      const clock = { ...systemClock, wallTime: () => new Date(time) };
      return (await stage.findings([], { ...withManagement({ baseURL: bench.api.url }), clock })).of('HW-802');
    };
    const now = await at(Date.now());
    expect(now?.verdict).toBe('ok');
    const ends = Date.parse(/the certificate of the server, (\S+)/.exec(now?.says ?? '')?.[1] ?? '');
    const day = 24 * 3_600_000;
    expect((await at(ends - 2 * day))?.verdict).toBe('warning');
    expect(await at(ends + 2 * day)).toMatchObject({
      verdict: 'fault',
      details: [expect.stringContaining('the certificate of the server ended')],
    });
  } finally {
    await bench.stop();
  }
});

it('finds a cluster behind the management API that has all rights, and one that does not answer', async () => {
  const members = [{ user: 'alice' }];
  const sound = { name: 'c1', kubeconfig: stage.path('admin'), members };
  const { of } = await stage.findings([], withManagement({ clusters: [sound] }));
  expect(of('HW-803')).toMatchObject({ verdict: 'ok', says: '1 cluster behind, all with their rights' });
  const gone = stage.path('gone');
  await writeFile(gone, stage.host.kubeconfig.replace(stage.host.url, 'https://127.0.0.1:1'), { mode: 0o600 });
  const both = withManagement({ clusters: [sound, { name: 'c2', kubeconfig: gone, members }] });
  expect((await stage.findings([], both)).of('HW-803')).toMatchObject({
    verdict: 'fault',
    says: '1 of 2 clusters behind cannot be used fully',
    details: [expect.stringMatching(/^cluster c2: .*connection refused/)],
  });
});
