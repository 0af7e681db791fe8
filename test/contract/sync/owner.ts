// Rule 3: no copy is created without its owner, because an uninstall would leave stale addresses behind for good.
import { describe, expect, it } from 'vitest';
import { stageForEach } from '../stage-for-each.ts';
import { hostNamespace, type SyncBackend, until, virtualCluster } from '../sync-stage/backend.ts';
import { ipsOf, type SyncStage, subsetsOf } from '../sync-stage/stage.ts';

const owner = { namespace: hostNamespace, name: virtualCluster };

export function ownerSuite(backend: () => SyncBackend): void {
  describe('the owner of the copies', () => {
    let stage: SyncStage;
    const take = (made: SyncStage): void => {
      stage = made;
    };
    stageForEach(backend, take, { hasOwner: false });

    it('while the owner is missing no copy is created and a warning says so; the copies follow when it comes', async () => {
      await stage.pair({ name: 'web' });
      const daemon = await stage.daemon();
      expect(await stage.copy('web')).toBeUndefined();
      expect(daemon.of('web')?.state).toBe('waiting/OwnerMissing');
      expect(daemon.readiness.some((line) => line.startsWith('OwnerMissing'))).toBe(true);
      const said = () => daemon.logged.map(({ msg }) => msg).filter((msg) => msg.includes('owner'));
      expect(said()).toEqual(['no host copy is created without an owner']);
      const { metadata } = await stage.createOwner();
      await until('the copy', async () => await stage.copy('web'));
      expect((await stage.copy('web'))?.metadata.ownerReferences?.map(({ uid }) => uid)).toEqual([metadata.uid]);
      expect(daemon.readiness.some((line) => line.startsWith('OwnerMissing'))).toBe(false);
      expect(said()).toEqual(['no host copy is created without an owner', 'found the owner of the host copies']);
    });

    it('when the owner returns with another uid, references are repaired or copies recreated, and foreign owners kept', async () => {
      await stage.createOwner();
      await stage.pair({ name: 'web' });
      const daemon = await stage.daemon();
      const other = await stage.create('host', 'services', {
        metadata: { namespace: hostNamespace, name: 'other' },
        spec: { clusterIP: 'None' },
      } as never);
      const copy = await stage.copy('web');
      const foreign = { apiVersion: 'v1', kind: 'Service', name: 'other', uid: other.metadata.uid };
      await stage.editCopy('web', {
        metadata: { ownerReferences: [...(copy?.metadata.ownerReferences ?? []), foreign] },
      });
      await daemon.settled();
      await stage.remove('host', 'services', owner);
      await until('a daemon that misses the owner', () =>
        daemon.status.owner.startsWith('OwnerMissing') ? true : undefined,
      );
      await stage.pair({ name: 'later' });
      await daemon.settled();
      expect(await stage.copy('later'), 'no new copy without an owner').toBeUndefined();
      await stage.editTenants('web', { subsets: subsetsOf('10.0.0.2') });
      await daemon.settled();
      expect(ipsOf(await stage.copy('web')), 'updates continue').toEqual(['10.0.0.2']);

      const { metadata } = await stage.createOwner();
      await daemon.clock.jump(3000);
      await until('the new uid on all', async () => {
        const copies = [await stage.copy('web'), await stage.copy('later')];
        return (
          copies.every((one) => one?.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid)) || undefined
        );
      });
      const uids = (await stage.copy('web'))?.metadata.ownerReferences?.map(({ uid }) => uid);
      expect(uids?.toSorted()).toEqual([metadata.uid, other.metadata.uid].toSorted());
      await daemon.settled();
      await stage.forgetWrites();
      await daemon.clock.jump(5000);
      expect(await stage.writes()).toEqual([]);
    });

    it('when the owner is replaced at once, each copy is recreated at most once, with the new uid', async () => {
      await stage.createOwner();
      const names = Array.from({ length: 12 }, (_, number) => `web-${number}`);
      for (const name of names) await stage.pair({ name });
      const daemon = await stage.daemon();
      await stage.forgetWrites();
      await stage.remove('host', 'services', owner);
      const { metadata } = await stage.createOwner();
      await daemon.clock.jump(3000);
      await until('the new uid on all', async () => {
        const copies = await Promise.all(names.map((name) => stage.copy(name)));
        return copies.every((one) => one?.metadata.ownerReferences?.[0]?.uid === metadata.uid) || undefined;
      });
      await daemon.settled();
      const made = (await stage.writes()).filter((one) => /^host create \S+$/.test(one));
      expect(new Set(made).size, 'copies made twice').toBe(made.length);
    });

    it('an owner that was there and is gone is no misspelt name: log and readiness say what is perhaps being deleted', async () => {
      await stage.createOwner();
      await stage.pair({ name: 'web' });
      const daemon = await stage.daemon();
      await stage.remove('host', 'services', owner);
      const line = await until('a readiness that misses the owner', () =>
        daemon.readiness.find((one) => one.startsWith('OwnerMissing')),
      );
      expect(line).toContain(`was there and is gone: the virtual cluster or the namespace is perhaps being deleted`);
      expect(line).toContain(`kubectl get namespace ${hostNamespace}`);
      const said = JSON.stringify([line, daemon.logged]);
      expect(said).not.toContain('--vcluster-name');
      expect(JSON.stringify(daemon.logged)).toContain('was there and is gone');
    });

    it('an uninstall leaves no copy behind', async () => {
      await stage.createOwner();
      for (const name of ['web', 'api', 'db']) await stage.pair({ name });
      const daemon = await stage.daemon();
      await stage.remove('host', 'services', owner);
      await until('the garbage collector', async () => {
        const left = (await stage.list('host', 'endpoints')).filter(
          ({ metadata }) => metadata.namespace === hostNamespace,
        );
        return left.length === 0 || undefined;
      });
      await daemon.clock.jump(5000);
      await daemon.settled();
      expect(
        (await stage.list('host', 'endpoints')).filter(({ metadata }) => metadata.namespace === hostNamespace),
      ).toEqual([]);
      expect(await stage.tenants('web')).toBeDefined();
    });

    it('deletes continue without an owner', async () => {
      await stage.createOwner();
      await stage.pair({ name: 'web' });
      const daemon = await stage.daemon();
      await stage.editCopy('web', { metadata: { finalizers: ['example.com/hold'] } });
      await stage.remove('host', 'services', owner);
      await stage.removeTenants('web');
      await until('the deletionTimestamp', async () => (await stage.copy('web'))?.metadata.deletionTimestamp);
      await stage.editCopy('web', { metadata: { finalizers: null } });
      await until('the end of the copy', async () => ((await stage.copy('web')) === undefined ? true : undefined));
      await daemon.settled();
    });

    it('with setOwner off, copies need no owner', async () => {
      await stage.pair({ name: 'web' });
      const daemon = await stage.daemon({ config: { experimental: { syncSettings: { setOwner: false } } } });
      expect((await stage.copy('web'))?.metadata.ownerReferences).toBeUndefined();
      expect(daemon.of('web')?.state).toBe('inSync');
    });
  });
}
