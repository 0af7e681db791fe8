// Rule 17: virtual namespaces are mapped to host namespaces, where objects keep their names.
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { instanceKey, markerLabel, namespaceLabel, objectKeys } from '../../../src/sync/plan/keys/reserved-keys.ts';
import { Interferer } from '../interferer.ts';
import { stageForEach } from '../stage-for-each.ts';
import { hostNamespace, type Right, type SyncBackend, until } from '../sync-stage/backend.ts';
import { roleRights } from '../sync-stage/rights.ts';
import { ipsOf, type Place, type SyncStage, subsetsOf } from '../sync-stage/stage.ts';

const pattern = { 'p-*': `\${name}-p-*` };

export function mappingSuite(backend: () => SyncBackend): void {
  describe('mapped namespaces', () => {
    let stage: SyncStage;
    const furnish = async (made: SyncStage): Promise<void> => {
      stage = made;
      await backend().host.grant(clusterRoleRights());
      for (const name of ['h-a', 'vc-p-one', 'vc-p-two', 'h-b']) await stage.namespace('host', name);
    };
    stageForEach(backend, furnish, { hasOwner: false });

    const mapped = (byName: Record<string, string>, mappingsOnly = false) => ({
      sync: { toHost: { namespaces: { enabled: true, mappingsOnly, mappings: { byName } } } },
    });
    const at = (namespace: string, name: string): Place => ({ namespace, name });
    const onHost = (namespace: string, name: string) => stage.get('host', 'endpoints', at(namespace, name));

    it('an exact name: the copy keeps its name and release label, has the instance, and has no owner', async () => {
      const daemon = await stage.daemon({ config: mapped({ 'team-a': 'h-a' }, true) });
      await stage.pair({ namespace: 'team-a', name: 'web', metadata: { labels: { release: 'r' } } });
      await daemon.settled();
      const { metadata } = (await onHost('h-a', 'web')) as KubeObject;
      expect(metadata.annotations?.[instanceKey]).toBe(`${hostNamespace}/vc`);
      expect(metadata.annotations?.[objectKeys.hostNamespace]).toBe('h-a');
      expect(metadata.ownerReferences).toBeUndefined();
      expect(metadata.labels).toEqual({ release: 'r', [markerLabel]: 'vc', [namespaceLabel]: 'team-a' });
      await stage.removeTenants('web', 'team-a');
      await daemon.settled();
      expect(await onHost('h-a', 'web')).toBeUndefined();
      expect(await stage.forbidden()).toEqual([]);
    });

    it('a namespace whose Role goes under a running daemon is named in one sentence, and comes back with the Role', async () => {
      const interferer = await new Interferer(backend().host).start();
      await stage.pair({ namespace: 'team-a', name: 'web' });
      const daemon = await stage.daemon({ config: mapped({ 'team-a': 'h-a' }), via: { host: interferer.at } });
      await backend().host.grant(roleRights());
      const saysOne = () =>
        daemon.readiness.filter((line) => line.includes('every read in namespace "h-a" is refused'));
      await until('the sentence', async () => {
        interferer.cut();
        await daemon.clock.jump(30_000);
        return saysOne().length === 1 || undefined;
      });
      expect(daemon.readiness.filter((line) => line.includes('h-a') && line.includes('403'))).toEqual([]);
      expect(await onHost('h-a', 'web')).toBeDefined();
      await backend().host.grant(clusterRoleRights());
      await until('the rights are back', async () => {
        await daemon.clock.jump(61_000);
        return saysOne().length === 0 || undefined;
      });
      await daemon.stop();
      await interferer.stop();
    });

    it('a pattern that contains the name of the virtual cluster', async () => {
      const daemon = await stage.daemon({ config: mapped(pattern, true) });
      await stage.pair({ namespace: 'p-one', name: 'web', ips: ['10.1.0.1'] });
      await stage.pair({ namespace: 'p-two', name: 'web', ips: ['10.1.0.2'] });
      await daemon.settled();
      expect(ipsOf(await onHost('vc-p-one', 'web'))).toEqual(['10.1.0.1']);
      expect(ipsOf(await onHost('vc-p-two', 'web'))).toEqual(['10.1.0.2']);
      await stage.remove('host', 'endpoints', at('vc-p-one', 'web'));
      await daemon.settled();
      expect(ipsOf(await onHost('vc-p-one', 'web'))).toEqual(['10.1.0.1']);
      await daemon.stop();
      await stage.forgetWrites();
      await stage.daemon({ config: mapped(pattern, true) });
      expect(await stage.writes()).toEqual([]);
    });

    it.each([true, false])('an unmapped namespace with mappingsOnly %s', async (mappingsOnly) => {
      const daemon = await stage.daemon({ config: mapped({ 'team-a': 'h-a' }, mappingsOnly) });
      await stage.pair({ namespace: 'other', name: 'web' });
      await daemon.settled();
      const fallback = await onHost(hostNamespace, 'web-x-other-x-vc');
      expect(fallback === undefined).toBe(mappingsOnly);
      expect(daemon.of('web', 'other')?.state).toBe(mappingsOnly ? 'ineligible/NotMapped' : 'inSync');
      if (mappingsOnly) return;
      expect(fallback?.metadata.ownerReferences).toBeUndefined();
      expect(fallback?.metadata.annotations?.[instanceKey]).toBe(`${hostNamespace}/vc`);
    });

    it('a native object of the host at the name is reported as an event and never changed', async () => {
      await stage.create('host', 'endpoints', {
        metadata: at('h-a', 'web'),
        subsets: subsetsOf('192.168.1.1'),
      } as never);
      const before = await onHost('h-a', 'web');
      const daemon = await stage.daemon({ config: mapped({ 'team-a': 'h-a' }, true) });
      await stage.pair({ namespace: 'team-a', name: 'web', service: { onHost: false } });
      await daemon.settled();
      expect(await onHost('h-a', 'web')).toEqual(before);
      expect(daemon.of('web', 'team-a')?.state).toBe('refused/HostNameTaken');
      await until('an event', async () =>
        (await stage.events('web', 'team-a')).find(({ reason }) => reason === 'HostNameTaken'),
      );
      await stage.removeTenants('web', 'team-a');
      await daemon.settled();
      expect(await onHost('h-a', 'web')).toEqual(before);
    });

    it('no copy is created beside a Service of the host itself, because it would receive that Service’s traffic', async () => {
      const spec = { ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 80 }] };
      await stage.create('host', 'services', { metadata: at('h-a', 'theirs'), spec });
      const isCopyOf = { [objectKeys.name]: 'ours', [objectKeys.namespace]: 'team-a' };
      await stage.create('host', 'services', { metadata: { ...at('h-a', 'ours'), annotations: isCopyOf }, spec });
      const daemon = await stage.daemon({ config: mapped({ 'team-a': 'h-a' }, true) });
      await stage.pair({ namespace: 'team-a', name: 'theirs', service: { onHost: false } });
      await stage.pair({ namespace: 'team-a', name: 'ours', service: { onHost: false } });
      await daemon.settled();
      expect(await onHost('h-a', 'theirs')).toBeUndefined();
      expect(daemon.of('theirs', 'team-a')?.state).toBe('refused/HostNameTaken');
      expect(ipsOf(await onHost('h-a', 'ours'))).toEqual(['10.0.0.1']);
    });

    it.each([undefined, { app: 'theirs' }])(
      'a later Service of the host itself with selector %o takes the name, and the copy returns when it goes',
      async (selector) => {
        const daemon = await stage.daemon({ config: mapped({ 'team-a': 'h-a' }, true) });
        await stage.pair({ namespace: 'team-a', name: 'web', service: { onHost: false } });
        await stage.pair({ namespace: 'team-a', name: 'other' });
        await daemon.settled();
        expect(ipsOf(await onHost('h-a', 'web'))).toEqual(['10.0.0.1']);
        const spec = {
          ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 80 }],
          ...(selector && { selector }),
        };
        await stage.create('host', 'services', { metadata: at('h-a', 'web'), spec });
        await until('the end of the copy', async () =>
          daemon.of('web', 'team-a')?.state === 'refused/HostNameTaken' ? true : undefined,
        );
        await daemon.settled();
        expect(ipsOf(await onHost('h-a', 'web'))).not.toContain('10.0.0.1');
        expect(await stage.tenants('web', 'team-a')).toBeDefined();
        await until('an event', async () =>
          (await stage.events('web', 'team-a')).find(({ reason }) => reason === 'HostNameTaken'),
        );
        await stage.forgetWrites();
        await stage.remove('host', 'services', at('h-a', 'web'));
        await until('the copy', async () =>
          ipsOf(await onHost('h-a', 'web')).includes('10.0.0.1') ? true : undefined,
        );
        await daemon.settled();
        expect(daemon.of('other', 'team-a')?.state).toBe('inSync');
        expect(await stage.writes()).toContain('host create ');
      },
    );

    it('the same holds for a pattern, whose window keeps only Services of matching namespaces', async () => {
      const daemon = await stage.daemon({ config: mapped(pattern, true) });
      await stage.pair({ namespace: 'p-one', name: 'web', service: { onHost: false } });
      await daemon.settled();
      const spec = { ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 80 }] };
      await stage.create('host', 'services', { metadata: at('h-a', 'web'), spec });
      await stage.create('host', 'services', { metadata: at('vc-p-one', 'web'), spec });
      await until('the end of the copy', async () =>
        daemon.of('web', 'p-one')?.state === 'refused/HostNameTaken' ? true : undefined,
      );
      expect(ipsOf(await onHost('vc-p-one', 'web'))).toEqual([]);
      expect(daemon.windows).toContainEqual(expect.objectContaining({ window: 'host services', objects: 1 }));
    });

    it('without the right to watch host Services the start fails and names the namespace', async () => {
      const watchless = clusterRoleRights().map((right) =>
        right.resources.includes('services') ? { ...right, verbs: ['get', 'list'] } : right,
      );
      await backend().host.grant(watchless);
      const started = await stage.assemble({ config: mapped({ 'team-a': 'h-a' }) }).startOnce();
      expect(started).toMatchObject({
        kind: 'faults',
        faults: [{ message: expect.stringContaining('not allowed to watch services in namespace "h-a"') }],
      });
    });

    it('two virtual clusters with the same name never change each other’s objects', async () => {
      const one = await stage.daemon({ config: mapped({ 'team-a': 'h-a' }, true) });
      await stage.pair({ namespace: 'team-a', name: 'web' });
      await one.settled();
      const before = await onHost('h-a', 'web');
      await stage.forgetWrites();
      await stage.namespace('host', 'vcluster-two');
      // The second cluster has no such object. It would delete our copy if names alone identified the owner.
      const options = { config: mapped({ 'team-b': 'h-a' }, true), hostNamespace: 'vcluster-two' };
      const two = await stage.daemon(options);
      await stage.pair({ namespace: 'team-b', name: 'web', ips: ['10.9.9.9'] });
      await two.settled();
      await one.settled();
      expect(await onHost('h-a', 'web')).toEqual(before);
      expect(two.of('web', 'team-b')?.state).toBe('refused/NotOwned');
      expect(await stage.writes()).toEqual([]);
    });

    it('after a change of mapping the new copy is created before the old one is deleted', async () => {
      await stage.pair({ namespace: 'team-a', name: 'web' });
      const first = await stage.daemon({ config: mapped({ 'team-a': 'h-a', 'team-b': 'h-b' }, true) });
      expect(await onHost('h-a', 'web')).toBeDefined();
      await first.stop();
      await stage.forgetWrites();
      await stage.daemon({ config: mapped({ 'team-a': 'h-b', 'team-b': 'h-a' }, true) });
      expect(await onHost('h-a', 'web')).toBeUndefined();
      expect(ipsOf(await onHost('h-b', 'web'))).toEqual(['10.0.0.1']);
      expect(await stage.writes()).toEqual(['host create ', 'host delete web']);
    });

    it('with a pattern, exactly our copies in namespaces without a mapping are deleted', async () => {
      await stage.pair({ namespace: 'team-a', name: 'web' });
      await stage.pair({ namespace: 'p-one', name: 'web' });
      await (await stage.daemon({ config: mapped({ 'team-a': 'h-a', ...pattern }, true) })).stop();
      const copy = (await onHost('h-a', 'web')) as KubeObject;
      const annotations = {
        ...copy.metadata.annotations,
        [instanceKey]: 'elsewhere/vc',
        [objectKeys.hostName]: 'other',
      };
      const { labels = {} } = copy.metadata;
      await stage.create('host', 'endpoints', { metadata: { ...at('h-a', 'other'), labels, annotations } } as never);
      await stage.create('host', 'endpoints', { metadata: { ...at('h-a', 'marked'), labels } } as never);
      await stage.forgetWrites();
      await stage.daemon({ config: mapped({ 'team-a': 'h-b', 'q-*': `\${name}-q-*` }, true) });
      expect(ipsOf(await onHost('h-b', 'web'))).toEqual(['10.0.0.1']);
      expect(await onHost('h-a', 'web')).toBeUndefined();
      expect(await onHost('vc-p-one', 'web')).toBeUndefined();
      expect(await onHost('h-a', 'other')).toBeDefined();
      expect(await onHost('h-a', 'marked')).toBeDefined();
      expect((await stage.writes()).sort()).toEqual(['host create ', 'host delete web', 'host delete web']);
    });

    it('with a pattern, a name that becomes free on the host is noticed, although no watch shows it', async () => {
      const theirs = { metadata: at('vc-p-one', 'web'), subsets: subsetsOf('192.168.1.1') };
      await stage.create('host', 'endpoints', theirs as never);
      const daemon = await stage.daemon({ config: mapped(pattern, true) });
      await stage.pair({ namespace: 'p-one', name: 'web', service: { onHost: false } });
      await daemon.settled();
      expect(daemon.of('web', 'p-one')?.state).toBe('refused/HostNameTaken');
      await stage.remove('host', 'endpoints', at('vc-p-one', 'web'));
      await stage.forgetWrites();
      await until('the copy', async () => {
        await daemon.clock.jump(61_000);
        // A jump over a create that is under way would be its time-out.
        await daemon.settled();
        return ipsOf(await onHost('vc-p-one', 'web'))[0] === '10.0.0.1' || undefined;
      });
      expect((await stage.writes()).filter((write) => write.startsWith('host'))).toEqual(['host create ']);
    });

    it('when mapping is enabled, existing copies are moved, or kept when their place is unchanged', async () => {
      await stage.pair({ namespace: 'team-a', name: 'web' });
      await stage.pair({ namespace: 'other', name: 'web' });
      const owner = { experimental: { syncSettings: { setOwner: false } } };
      await (await stage.daemon({ config: owner })).stop();
      const kept = await onHost(hostNamespace, 'web-x-other-x-vc');
      expect(kept).toBeDefined();
      const daemon = await stage.daemon({ config: { ...owner, ...mapped({ 'team-a': 'h-a' }) } });
      expect(ipsOf(await onHost('h-a', 'web'))).toEqual(['10.0.0.1']);
      expect(await onHost(hostNamespace, 'web-x-team-a-x-vc')).toBeUndefined();
      expect(daemon.of('web', 'other')?.state).toBe('inSync');
      expect((await onHost(hostNamespace, 'web-x-other-x-vc'))?.metadata.uid).toBe(kept?.metadata.uid);
    });

    it('objects wait for a host namespace that does not exist yet', async () => {
      const daemon = await stage.daemon({ config: mapped({ 'team-a': 'h-late', 'team-b': 'h-b' }, true) });
      await stage.pair({ namespace: 'team-a', name: 'web' });
      await stage.pair({ namespace: 'team-b', name: 'web' });
      await daemon.settled();
      expect(ipsOf(await onHost('h-b', 'web')), 'other objects are not delayed').toEqual(['10.0.0.1']);
      expect(daemon.of('web', 'team-a')?.state).toBe('waiting/HostNamespaceMissing');
      await stage.forgetWrites();
      await daemon.clock.jump(10_000);
      expect((await stage.writes()).length).toBeLessThanOrEqual(3);
      const said = daemon.logged.filter(({ msg }) => msg === 'object waits');
      expect(said, 'logged once, not for every try').toMatchObject([
        { key: 'team-a/web', reason: 'HostNamespaceMissing' },
      ]);
      await stage.namespace('host', 'h-late');
      await daemon.clock.jump(10_000);
      await daemon.settled();
      expect(ipsOf(await onHost('h-late', 'web'))).toEqual(['10.0.0.1']);
    });

    it('objects wait with few tries for a host namespace that is being deleted', async () => {
      const daemon = await stage.daemon({ config: mapped({ 'team-a': 'h-going' }, true) });
      await stage.namespace('host', 'h-going');
      // An object with a finalizer delays the end of the namespace.
      const holds = { metadata: { ...at('h-going', 'holds'), finalizers: ['example.com/hold'] } };
      await stage.create('host', 'endpoints', holds as never);
      await stage.pair({ namespace: 'team-a', name: 'web' });
      await daemon.settled();
      expect(await onHost('h-going', 'web')).toBeDefined();
      await backend().host.admin.request('DELETE', '/api/v1/namespaces/h-going');
      await until('the end of the copy', async () =>
        (await onHost('h-going', 'web')) === undefined ? true : undefined,
      );
      await daemon.settled();
      expect(daemon.of('web', 'team-a')?.state).toBe('waiting/OwnerMissing');
      await stage.forgetWrites();
      await daemon.clock.jump(20_000);
      expect((await stage.writes()).length).toBeLessThanOrEqual(5);
      await stage.patch('host', 'endpoints', {
        ...at('h-going', 'holds'),
        mergePatch: { metadata: { finalizers: null } },
      });
      await until('the end of the namespace', async () => {
        const answer = await backend().host.admin.request('GET', '/api/v1/namespaces/h-going');
        return answer.status === 404 || undefined;
      });
      stage.forgetNamespace('host', 'h-going');
      await stage.namespace('host', 'h-going');
      await daemon.clock.jump(10_000);
      await daemon.settled();
      expect(ipsOf(await onHost('h-going', 'web'))).toEqual(['10.0.0.1']);
      expect(await stage.tenants('web', 'team-a')).toBeDefined();
    });
  });
}

/** The rights of config/cluster-role.yaml. */
export function clusterRoleRights(): Right[] {
  return [
    { group: '', resources: ['endpoints'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
    { group: '', resources: ['services'], verbs: ['get', 'list', 'watch'] },
    {
      group: 'discovery.k8s.io',
      resources: ['endpointslices'],
      verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
    },
    ...roleRights().filter(({ resources }) => resources.includes('leases')),
  ];
}
