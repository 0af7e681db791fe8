// Other clients write at the same time as the daemon: late writes, lost answers, rivals. The server's reaction to a late write
// is also tested without a daemon, because all rules here depend on it.
import { describe, expect, it } from 'vitest';
import { markerLabel } from '../../../src/sync/plan/keys/reserved-keys.ts';
import type { Interference, Interferer } from '../interferer.ts';
import { interferedStageForEach } from '../stage-for-each.ts';
import { hostNamespace, type SyncBackend, until } from '../sync-stage/backend.ts';
import { ipsOf, type SyncStage, subsetsOf } from '../sync-stage/stage.ts';

export function racesSuite(backend: () => SyncBackend): void {
  describe('concurrent writes by other clients', () => {
    let stage: SyncStage;
    const interferers = interferedStageForEach(backend, (made) => {
      stage = made;
    });

    const between = (side: 'virtual' | 'host'): Promise<Interferer> => interferers.before(backend()[side]);

    lateWrites(() => stage);

    it('a late patch changes nothing when the copy and its object are gone', async () => {
      const interferer = await between('host');
      await stage.pair({ name: 'web' });
      const daemon = await stage.daemon({ via: { host: interferer.at } });
      const held = holdNext(interferer, 'PATCH');
      await stage.editTenants('web', { subsets: subsetsOf('10.0.0.2') });
      await held.reached;
      await stage.removeCopy('web');
      await stage.removeTenants('web');
      held.release('pass');
      await daemon.settled();
      expect(await stage.copy('web')).toBeUndefined();
      expect(interferer.writes().filter((one) => one.startsWith('POST'))).toEqual(['POST ']);
    });

    it('a late patch does not change a new object that another client has created under the name', async () => {
      const interferer = await between('host');
      await stage.pair({ name: 'web' });
      const daemon = await stage.daemon({ via: { host: interferer.at } });
      const held = holdNext(interferer, 'PATCH');
      await stage.editTenants('web', { subsets: subsetsOf('10.0.0.2') });
      await held.reached;
      await stage.removeCopy('web');
      const foreign = { ...stage.at('web'), annotations: { 'vcluster.loft.sh/object-name': 'other' } };
      const made = await stage.create('host', 'endpoints', {
        metadata: foreign,
        subsets: subsetsOf('192.168.7.7'),
      } as never);
      held.release('pass');
      await daemon.settled();
      const found = await stage.copy('web');
      expect(found?.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
      expect(daemon.of('web')?.state).toBe('refused/NotOwned');
    });

    it('a late delete does not delete a new object that another client has created under the name', async () => {
      const interferer = await between('host');
      await stage.pair({ name: 'web' });
      const daemon = await stage.daemon({ via: { host: interferer.at } });
      const held = holdNext(interferer, 'DELETE');
      await stage.removeTenants('web');
      await held.reached;
      await stage.removeCopy('web');
      await stage.create('host', 'endpoints', {
        metadata: stage.at('web'),
        subsets: subsetsOf('192.168.7.8'),
      } as never);
      held.release('pass');
      await daemon.settled();
      expect(ipsOf(await stage.copy('web'))).toEqual(['192.168.7.8']);
    });

    it.each(['POST', 'PATCH', 'DELETE'])(
      'the lost answer of a %s causes one more look, but no second write',
      async (method) => {
        const interferer = await between('host');
        const daemon = await stage.daemon({ via: { host: interferer.at } });
        if (method !== 'POST') await stage.pair({ name: 'web' });
        await daemon.settled();
        interferer.seen.length = 0;
        const held = holdNext(interferer, method);
        if (method === 'POST') await stage.pair({ name: 'web' });
        else if (method === 'PATCH') await stage.editTenants('web', { subsets: subsetsOf('10.0.0.2') });
        else await stage.removeTenants('web');
        await held.reached;
        held.release('lose');
        await until('the write is known', async () => {
          const copy = await stage.copy('web');
          return (method === 'DELETE') === (copy === undefined) || undefined;
        });
        await daemon.clock.jump(1000);
        await daemon.settled();
        const successes = (await stage.writes()).filter((one) => one.startsWith('host') && !/ [45]\d\d$/.test(one));
        expect(successes.slice(method === 'POST' ? 0 : 1)).toHaveLength(1);
        expect(ipsOf(await stage.copy('web'))).toEqual(
          method === 'DELETE' ? [] : [method === 'POST' ? '10.0.0.1' : '10.0.0.2'],
        );
      },
    );

    it('many edits on both sides settle, and neither side loses a key', async () => {
      await stage.pair({ name: 'web', metadata: { labels: { tenant: '0' } } });
      const daemon = await stage.daemon();
      const rounds = 15;
      await stage.forgetWrites();
      const tenants = async (): Promise<void> => {
        for (let round = 1; round <= rounds; round++)
          await stage.editTenants('web', {
            metadata: { labels: { tenant: `${round}` } },
            subsets: subsetsOf(`10.0.1.${round}`),
          });
      };
      const rivals = async (): Promise<void> => {
        for (let round = 1; round <= rounds; round++)
          await stage.editCopy('web', { metadata: { labels: { rival: `${round}` } } });
      };
      await Promise.all([tenants(), rivals()]);
      await daemon.settled();
      // After so many edits, the daemon writes once a second.
      await daemon.clock.jump(3000);
      await daemon.settled();
      const copy = await stage.copy('web');
      const virtual = await stage.tenants('web');
      expect(ipsOf(copy)).toEqual([`10.0.1.${rounds}`]);
      expect(virtual?.metadata.labels).toEqual({ tenant: `${rounds}`, rival: `${rounds}` });
      expect(copy?.metadata.labels).toMatchObject({ tenant: `${rounds}`, rival: `${rounds}`, [markerLabel]: 'vc' });
      // One write for each edit of the tenant, two for each edit on the host, and one conflict for each edit in between.
      expect((await stage.writes()).length).toBeLessThanOrEqual(rounds * 5);
    });

    it('repairs against a rival slow down to one write a second, name the rival, and end after a quiet minute', async () => {
      await stage.pair({ name: 'web' });
      const daemon = await stage.daemon();
      await stage.forgetWrites();
      const undo = (): Promise<unknown> =>
        stage.patch('host', 'endpoints', {
          ...stage.at('web'),
          mergePatch: { subsets: subsetsOf('203.0.113.66') },
          manager: 'rival',
        });
      for (let round = 0; round < 4; round++) {
        await undo();
        await daemon.settled();
        expect(ipsOf(await stage.copy('web'))).toEqual(['10.0.0.1']);
      }
      await undo();
      await daemon.settled();
      expect(await hostPatches(stage)).toBe(4);
      await daemon.clock.jump(1500);
      await daemon.settled();
      expect(await hostPatches(stage)).toBe(5);
      expect(daemon.status.contested).toMatchObject([{ object: `${stage.tenant}/web`, by: 'rival' }]);
      await until('an event for the tenant', async () =>
        (await stage.events('web')).find(
          ({ reason, message }) => reason === 'Contested' && message.includes('"rival"'),
        ),
      );

      await undo();
      await stage.editTenants('web', { subsets: subsetsOf('10.0.0.5') });
      await daemon.settled();
      expect(ipsOf(await stage.copy('web')), 'changes of the tenant are never slowed').toEqual(['10.0.0.5']);

      await daemon.clock.jump(61_000);
      await daemon.settled();
      expect(daemon.status.contested).toEqual([]);
    });

    it('a copy that another client keeps deleting is recreated once a second', async () => {
      await stage.pair({ name: 'web' });
      const daemon = await stage.daemon();
      for (let round = 0; round < 5; round++) {
        await stage.removeCopy('web');
        await daemon.settled();
      }
      expect(await stage.copy('web')).toBeUndefined();
      await daemon.clock.jump(1500);
      await daemon.settled();
      expect(await stage.copy('web')).toBeDefined();
      expect(daemon.status.contested).toMatchObject([{ object: `${stage.tenant}/web` }]);
    });

    it('labels that the host’s own controller drops stay on the virtual side, even when we see the selector late', async () => {
      const interferer = await between('virtual');
      await stage.pair({ name: 'web', metadata: { labels: { app: 'x' } } });
      const daemon = await stage.daemon({ via: { virtual: interferer.at } });
      const before = await stage.tenants('web');
      const unmute = interferer.mute('services');
      const selector = { mergePatch: { spec: { selector: { app: 'x' } } } };
      await stage.patch('virtual', 'services', { namespace: stage.tenant, name: 'web', ...selector });
      if (backend().hasControllers) {
        await stage.patch('host', 'services', { ...stage.at('web'), ...selector });
        // The controller of the virtual cluster takes over the tenant's object too; the daemon must not write to it.
      } else {
        const taken = { app: null, [markerLabel]: null, 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' };
        await stage.editCopy('web', { metadata: { labels: taken }, subsets: null });
      }
      await daemon.clock.jump(3000);
      await until('a quiet daemon', () =>
        daemon.status.queue.waiting + daemon.status.queue.running === 0 ? true : undefined,
      );
      expect((await stage.writes()).filter((one) => one.startsWith('virtual'))).toEqual([]);
      if (!backend().hasControllers) expect(await stage.tenants('web')).toEqual(before);
      unmute();
      await until('the end of our copy', async () => {
        const annotations = (await stage.copy('web'))?.metadata.annotations ?? {};
        return annotations['vcluster.loft.sh/object-name'] === undefined || undefined;
      });

      const none = { mergePatch: { spec: { selector: null } } };
      if (backend().hasControllers) await stage.patch('host', 'services', { ...stage.at('web'), ...none });
      await stage.patch('virtual', 'services', { namespace: stage.tenant, name: 'web', ...none });
      await stage.editTenants('web', { subsets: subsetsOf('10.0.0.9') });
      await daemon.settled();
      expect(ipsOf(await stage.copy('web')), 'without the selector the copy is ours again').toEqual(['10.0.0.9']);
      expect((await stage.writes()).filter((one) => one.startsWith('virtual'))).toEqual([]);
    });

    it('a copy that is being deleted is not written until it is gone', async () => {
      await stage.pair({ name: 'web', metadata: { labels: { app: 'x' } } });
      const daemon = await stage.daemon();
      await stage.editCopy('web', { metadata: { finalizers: ['example.com/hold'] } });
      await stage.removeCopy('web');
      await daemon.settled();
      await stage.forgetWrites();
      await stage.editTenants('web', { subsets: subsetsOf('10.0.0.6') });
      await daemon.settled();
      expect(await stage.writes()).toEqual([]);
      expect(daemon.of('web')?.state).toBe('waiting/HostDeleting');
      await stage.editCopy('web', { metadata: { finalizers: null } });
      await until('a new copy', async () => (ipsOf(await stage.copy('web'))[0] === '10.0.0.6' ? true : undefined));
      await daemon.settled();
      expect(await stage.tenants('web')).toBeDefined();
    });
  });
}

/** The basis of the rules: uid and resourceVersion in a merge patch make a late write fail. */
function lateWrites(stage: () => SyncStage): void {
  const path = `/api/v1/namespaces/${hostNamespace}/endpoints/late`;
  const create = () =>
    stage().create('host', 'endpoints', {
      metadata: { namespace: hostNamespace, name: 'late' },
      subsets: subsetsOf('10.0.0.1'),
    } as never);
  const send = (metadata: object) =>
    stage().backend.host.admin.request('PATCH', path, {
      body: { metadata, subsets: subsetsOf('10.6.6.6') },
      headers: { 'content-type': 'application/merge-patch+json' },
    });

  it('the server refuses a late patch of a deleted object, and does not create it', async () => {
    const { uid, resourceVersion } = (await create()).metadata;
    await stage().remove('host', 'endpoints', { namespace: hostNamespace, name: 'late' });
    expect((await send({ uid, resourceVersion })).status).toBe(404);
    expect((await stage().backend.host.admin.request('GET', path)).status).toBe(404);
  });

  it('the server refuses a late patch of a new object with the same name', async () => {
    // After a delete kube-controller-manager removes whatever has the name of no Service, the new object too.
    await stage().create('host', 'services', {
      metadata: { namespace: hostNamespace, name: 'late' },
      spec: { ports: [{ port: 80 }] },
    } as never);
    const { uid, resourceVersion } = (await create()).metadata;
    await stage().remove('host', 'endpoints', { namespace: hostNamespace, name: 'late' });
    const namesake = (await create()).metadata;
    expect((await send({ uid, resourceVersion })).status).toBe(409);
    // No client sends this, but it shows that the uid alone is enough.
    expect((await send({ uid, resourceVersion: namesake.resourceVersion })).status).toBe(422);
  });

  it('the server refuses a patch of an older version', async () => {
    const { uid, resourceVersion } = (await create()).metadata;
    expect((await send({ uid, resourceVersion })).status).toBe(200);
    expect((await send({ uid, resourceVersion })).status).toBe(409);
  });
}

/** Holds the next write with that method at the interferer until the test releases it. */
function holdNext(
  interferer: Interferer,
  method: string,
): { reached: Promise<void>; release: (how: Interference) => void } {
  let release: (how: Interference) => void = () => {};
  const released = new Promise<Interference>((resolve) => {
    release = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    interferer.rule = (proxied) => {
      if (proxied.method !== method || proxied.resource !== 'endpoints') return 'pass';
      interferer.rule = () => 'pass';
      resolve();
      return released;
    };
  });
  return { reached, release };
}

async function hostPatches(stage: SyncStage): Promise<number> {
  return (await stage.writes()).filter((one) => one.startsWith('host patch')).length;
}
