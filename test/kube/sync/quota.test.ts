// A full ResourceQuota of the host namespace, between two real API servers whose controllers count what is there.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { hostNamespace, until } from '../../contract/sync-stage/backend.ts';
import { ipsOf, SyncStage, subsetsOf } from '../../contract/sync-stage/stage.ts';
import { kubeAssets } from '../start/assets.ts';
import { type RealBackend, startRealBackend } from './sync-backend.ts';

const assets = kubeAssets();
vi.setConfig({ testTimeout: 60_000 });

const quotas = `/api/v1/namespaces/${hostNamespace}/resourcequotas`;

describe.skipIf(assets.found === undefined)(
  `a full quota${assets.found === undefined ? ` (skipped: ${assets.reason})` : ''}`,
  () => {
    let backend: RealBackend;
    let stage: SyncStage;
    beforeAll(async () => {
      backend = await startRealBackend({ isAudited: false });
      stage = new SyncStage(backend);
      await stage.set();
    }, 120_000);
    afterAll(async () => {
      await stage?.clear();
      await backend?.stop();
    });

    /** Sets the number of Endpoints that the namespace may hold, and waits until the controller has counted. */
    const allow = async (count: number, verb: 'POST' | 'PATCH') => {
      const body = { metadata: { name: 'few' }, spec: { hard: { 'count/endpoints': String(count) } } };
      const path = verb === 'POST' ? quotas : `${quotas}/few`;
      await backend.host.admin.request(verb, path, {
        body,
        headers: { 'content-type': verb === 'PATCH' ? 'application/merge-patch+json' : 'application/json' },
      });
      await until(`a quota of ${count}`, async () => {
        const { json } = await backend.host.admin.request('GET', `${quotas}/few`);
        const { hard } = (json as { status?: { hard?: Record<string, string> } }).status ?? {};
        return hard?.['count/endpoints'] === String(count) ? true : undefined;
      });
    };

    it('is no outage: updates go on, the tenant and status are told, and the copy comes when there is room', async () => {
      await stage.pair({ name: 'old' });
      const daemon = await stage.daemon();
      await until('the first copy', () => stage.copy('old'));
      const counted = (await stage.list('host', 'endpoints')).filter(
        ({ metadata }) => metadata.namespace === hostNamespace,
      ).length;
      await allow(counted, 'POST');
      // It judges Pods and claims, so it stops nothing of ours: the quota alone is reported below.
      const limits = [{ type: 'Container', max: { cpu: '1m' } }];
      await backend.host.admin.request('POST', `/api/v1/namespaces/${hostNamespace}/limitranges`, {
        body: { metadata: { name: 'small' }, spec: { limits } },
        headers: { 'content-type': 'application/json' },
      });
      await stage.pair({ name: 'late' });
      const told = await until('an event', async () =>
        (await stage.events('late')).find(({ reason }) => reason === 'HostRefused'),
      );
      expect(told.message).toBe('A quota of the host namespace is full');
      await stage.editTenants('old', { subsets: subsetsOf('10.0.0.77') });
      await until('an update', async () => (ipsOf(await stage.copy('old')).includes('10.0.0.77') ? true : undefined));
      expect(daemon.isReady).toBe(true);
      expect(daemon.status.verdict.sentence).toMatch(
        /^blocked: 1 of \d objects cannot reach the host \(1 HostRefused\)$/,
      );
      expect(await stage.copy('late')).toBeUndefined();
      await allow(counted + 1, 'PATCH');
      await until('the copy', async () => {
        await daemon.clock.jump(10_000);
        return stage.copy('late');
      });
      expect(daemon.isReady).toBe(true);
    });
  },
);
