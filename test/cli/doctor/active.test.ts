import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { lookAgainMs } from '../../../src/cli/doctor/active/proof.ts';
import { type Clock, systemClock } from '../../../src/clock.ts';
import { endpointsResource, servicesResource } from '../../../src/cluster/wire/scope.ts';
import { loadConfiguration } from '../../../src/config/load/load.ts';
import { daemonModule } from '../../../src/daemon/daemon.ts';
import type { Daemon } from '../../../src/daemon/options/daemon-options.ts';
import { silentLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics.ts';
import { endpointSlicesResource } from '../../../src/sync/kinds/endpointslices/endpointslice-kind.ts';
import { ownTime } from '../../own-time.ts';
import { type DoctorRun, hostNamespace, Stage, soundConfiguration } from './stage.ts';

const stage = new Stage();
let daemon: Daemon | undefined;
beforeAll(() => stage.start());
afterAll(() => stage.stop());
afterEach(async () => {
  await daemon?.stop();
  daemon = undefined;
  expect(await leftovers()).toEqual([]);
});

async function leftovers(): Promise<string[]> {
  const sides = ['virtual', 'host'] as const;
  const kinds = [servicesResource, endpointsResource, endpointSlicesResource];
  const lists = await Promise.all(sides.flatMap((side) => kinds.map((kind) => stage.client(side).list(kind, ''))));
  return lists.flat().flatMap(({ metadata: { name = '' } }) => (name.includes('hostward-doctor') ? [name] : []));
}

/** Skips the pauses between two looks: what never comes costs requests alone, whose limits of time are the real ones. */
function hurried(): { clock: Clock; skippedMs(): number } {
  let skippedMs = 0;
  const clock: Clock = {
    ...systemClock,
    now: () => systemClock.now() + skippedMs,
    after(delayMs, run) {
      if (delayMs !== lookAgainMs) return systemClock.after(delayMs, run);
      skippedMs += delayMs;
      return systemClock.after(0, run);
    },
  };
  return { clock, skippedMs: () => skippedMs };
}

async function startDaemon(): Promise<void> {
  const loaded = loadConfiguration({
    files: [{ name: 'vcluster.yaml', text: JSON.stringify(soundConfiguration) }],
    flags: {
      virtualClusterName: 'vc',
      hostNamespace,
      virtualKubeconfig: stage.path('virtual'),
      hostKubeconfig: stage.path('host'),
    },
    environment: {},
  });
  if (loaded.kind === 'faults') throw new Error(JSON.stringify(loaded.faults));
  daemon = daemonModule.assembleDaemon({
    settings: loaded.settings,
    isDryRun: false,
    log: silentLog,
    clock: systemClock,
    random: Math.random,
    metrics: createMetrics(),
    environment: {},
    version: '0.0.0',
  });
  expect(await daemon.start()).toEqual({ kind: 'started' });
}

describe('hostward doctor --active', () => {
  it('sees both copies come, change and go, and leaves nothing', async () => {
    await startDaemon();
    const tookMs = ownTime();
    const { code, checks, of } = await stage.findings(['--active']);
    expect(checks.filter(({ code }) => code.startsWith('HW-9')).map(({ code, verdict }) => [code, verdict])).toEqual([
      ['HW-901', 'ok'],
      ['HW-902', 'ok'],
      ['HW-903', 'ok'],
      ['HW-904', 'ok'],
      ['HW-905', 'ok'],
    ]);
    expect(of('HW-902')?.says).toMatch(/^after \d+ ms$/);
    expect(code).toBe(0);
    expect(tookMs()).toBeLessThan(10_000);
  });

  it('finds that no daemon runs, in time, and leaves nothing', async () => {
    const { clock, skippedMs } = hurried();
    const { code, of, hidden } = await stage.findings(['--active'], { clock });
    expect(skippedMs()).toBeLessThan(10_000);
    expect([of('HW-902')?.verdict, of('HW-903')?.verdict, of('HW-905')?.verdict]).toEqual(['fault', 'fault', 'ok']);
    expect(hidden).toEqual([{ code: 'HW-904', because: 'HW-902' }]);
    expect(code).toBe(1);
  });

  it('says what the daemon says of the object whose copy does not come', async () => {
    const fetch: DoctorRun['fetch'] = async (url) => {
      const isObject = String(url).includes('object=default%2Fhostward-doctor-');
      if (!isObject) return Response.json({ virtualCluster: 'vc', verdict: { isWell: true, sentence: 'in step' } });
      const state = 'refused/HostRefused';
      const alsoEndpointSlice = { kind: 'EndpointSlice', state, message: 'exceeded quota: slices' };
      return Response.json({ kind: 'Endpoints', state, message: 'exceeded quota: few', alsoEndpointSlice });
    };
    const { of } = await stage.findings(['--active'], { fetch, clock: hurried().clock });
    expect(of('HW-902')?.details).toEqual(['the daemon says: refused/HostRefused: exceeded quota: few']);
    expect(of('HW-903')?.details).toEqual(['the daemon says: refused/HostRefused: exceeded quota: slices']);
    expect(of('HW-902')?.mend).toMatch(/^kubectl -n vcluster-vc describe resourcequota/);
  });

  it.each([
    ['POST', 'services', 'before the answer about the Service'],
    ['POST', 'endpoints', 'before the answer about the Endpoints'],
    ['POST', 'endpointslices', 'before the answer about the EndpointSlice'],
    ['PATCH', 'endpoints', 'before the answer about the change'],
    ['DELETE', 'services', 'before the answer about the deletion'],
  ])('leaves nothing after Ctrl-C at %s %s, %s', async (method, resource) => {
    await startDaemon();
    let stop = () => {};
    stage.heard = (side, asked, path) => {
      if (side === 'virtual' && asked === method && path.includes(`/default/${resource}`)) stop();
    };
    const during: DoctorRun['during'] = (scene) => {
      stop = () => scene.send('stop');
    };
    const { code } = await stage.findings(['--active'], { during });
    stage.heard = () => {};
    expect(code).toBe(3);
    expect(await leftovers()).toEqual([]);
  });

  it('stops before it makes anything when Ctrl-C came before', async () => {
    const { code, checks } = await stage.findings(['--active'], {
      during: (scene) => setTimeout(() => scene.send('stop'), 0),
    });
    expect(code).toBe(3);
    expect(checks.find(({ code }) => code === 'HW-901')).toBeUndefined();
  });

  it('deletes what a killed doctor has left', async () => {
    await startDaemon();
    const labels = { 'app.kubernetes.io/managed-by': 'hostward-doctor' };
    const metadata = { name: 'hostward-doctor-killed', namespace: 'default', labels };
    const spec = { clusterIP: 'None', ports: [{ port: 9 }] };
    await stage.create('virtual', { apiVersion: 'v1', kind: 'Service', metadata, spec });
    const { code } = await stage.findings(['--active']);
    expect(code).toBe(0);
  });
});
