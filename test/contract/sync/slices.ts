// The live sync of EndpointSlices: what a tenant, an operator of the host and a restart do to slices on two API servers.
import { afterEach, describe, expect, it } from 'vitest';
import { generatedName } from '../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import type { SyncBackend } from '../sync-stage/backend.ts';
import { hostNamespace, until, virtualCluster } from '../sync-stage/backend.ts';
import type { LiveOptions } from '../sync-stage/daemon.ts';
import { roleRights, virtualRights } from '../sync-stage/rights.ts';
import { copyPlace, SyncStage, subsetsOf } from '../sync-stage/stage.ts';

const serviceLabel = 'kubernetes.io/service-name';
const managerLabel = 'endpointslice.kubernetes.io/managed-by';
const slices = 'endpointslices';

function configuration(more: object = {}, toHost: object = {}): LiveOptions {
  return { config: { hostward: { endpointSlices: { enabled: true, ...more } }, sync: { toHost } } };
}

export function slicesSuite(backend: () => SyncBackend): void {
  describe('EndpointSlices', () => {
    let stage: SyncStage;
    const set = async (): Promise<SyncStage> => {
      stage = new SyncStage(backend());
      await stage.set();
      return stage;
    };
    afterEach(async () => {
      await stage.grantAll();
      await stage.clear();
      stage.close();
    });

    const slice = (name: string, over: Partial<KubeObject> & { addresses?: string[]; service?: string } = {}) => {
      const { addresses = ['10.0.0.1'], service = 'web', metadata, ...fields } = over;
      return {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name, namespace: stage.tenant, labels: { [serviceLabel]: service, ...metadata?.labels } },
        addressType: 'IPv4',
        endpoints: [{ addresses }],
        ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
        ...fields,
      } as KubeObject;
    };
    const make = (name: string, over?: Parameters<typeof slice>[1]) =>
      stage.create('virtual', slices, slice(name, over));
    const copy = (name: string) => stage.get('host', slices, copyPlace(stage.tenant, name));
    const edit = (name: string, mergePatch: object) =>
      stage.patch('virtual', slices, { namespace: stage.tenant, name, mergePatch });
    const editCopy = (name: string, mergePatch: object) =>
      stage.patch('host', slices, { ...copyPlace(stage.tenant, name), mergePatch });

    it('a slice follows its tenant and its Service, and a restart writes nothing', async () => {
      await set();
      await stage.service({ name: 'web' });
      await make('web-1');
      await make('web-6', { addressType: 'IPv6', addresses: ['2001:db8::1'] } as never);
      const daemon = await stage.daemon(configuration());
      expect((await copy('web-1'))?.metadata.labels).toEqual({
        [serviceLabel]: copyPlace(stage.tenant, 'web').name,
        [managerLabel]: 'hostward.dev',
        'vcluster.loft.sh/managed-by': 'vc',
        'vcluster.loft.sh/namespace': stage.tenant,
      });
      expect(await copy('web-6')).toMatchObject({ addressType: 'IPv6', endpoints: [{ addresses: ['2001:db8::1'] }] });

      await stage.forgetWrites();
      await edit('web-1', { ports: [{ name: 'http', port: 9090 }], endpoints: [{ addresses: ['10.0.0.2'] }] });
      await daemon.settled();
      expect(await copy('web-1')).toMatchObject({
        ports: [{ name: 'http', port: 9090, protocol: 'TCP' }],
        endpoints: [{ addresses: ['10.0.0.2'] }],
      });
      expect(await stage.writes(slices)).toEqual([`host patch ${copyPlace(stage.tenant, 'web-1').name}`]);

      await stage.removeService('web');
      await daemon.settled();
      expect(await copy('web-1')).toBeUndefined();
      await stage.service({ name: 'web' });
      await daemon.settled();
      expect(await copy('web-1')).toBeDefined();

      await daemon.stop();
      await stage.forgetWrites();
      await stage.daemon(configuration());
      expect(await stage.writes(slices)).toEqual([]);
      expect(await stage.forbidden()).toEqual([]);
    });

    it('slices and Endpoints of two Services with one host name are never together', async () => {
      await set();
      const [first, second] = [
        { namespace: stage.tenant, name: 'col-x-z' },
        { namespace: `z-x-${stage.tenant}`, name: 'col' },
      ];
      const shared = copyPlace(first.namespace, first.name);
      await stage.service(first);
      await stage.service({ ...second, onHost: false });
      const labels = { [serviceLabel]: second.name };
      await make('one', { service: first.name, addresses: ['10.1.1.1'] });
      const daemon = await stage.daemon(configuration());
      const late = { metadata: { ...second, name: 'two', labels }, addressType: 'IPv4', endpoints: [], ports: [] };
      await stage.create('virtual', slices, late as never);
      await stage.create('virtual', 'endpoints', { metadata: second, subsets: subsetsOf('10.2.2.2') } as never);
      await daemon.settled();
      const lateCopy = copyPlace(second.namespace, 'two');
      expect(await copy('one')).toMatchObject({ metadata: { labels: { [serviceLabel]: shared.name } } });
      expect(await stage.get('host', slices, lateCopy)).toBeUndefined();
      expect(await stage.get('host', 'endpoints', shared)).toBeUndefined();
      await daemon.stop();
      const again = await stage.daemon(configuration());
      expect(await stage.get('host', slices, lateCopy)).toBeUndefined();
      expect(await stage.get('host', 'endpoints', shared)).toBeUndefined();
      await stage.removeService(first.name);
      await until('the second Service behind its name', async () => {
        await again.clock.jump(1000);
        return (await stage.get('host', slices, lateCopy)) && (await stage.get('host', 'endpoints', shared));
      });
      expect(await copy('one')).toBeUndefined();
      expect(await stage.forbidden()).toEqual([]);
    });

    it('another addressType deletes and makes the host slice, and a vanished copy comes back', async () => {
      await set();
      await stage.service({ name: 'web' });
      await make('web-1');
      const daemon = await stage.daemon(configuration());
      await daemon.stop();
      await stage.remove('virtual', slices, { namespace: stage.tenant, name: 'web-1' });
      await make('web-1', { addressType: 'IPv6', addresses: ['2001:db8::1'] } as never);
      await stage.forgetWrites();
      const again = await stage.daemon(configuration());
      expect((await copy('web-1'))?.['addressType']).toBe('IPv6');
      expect((await stage.writes(slices)).map((write) => write.split(' ').slice(0, 2).join(' '))).toEqual([
        'host delete',
        'host create',
      ]);
      await stage.remove('host', slices, copyPlace(stage.tenant, 'web-1'));
      await again.settled();
      await until('a copy that came back', async () => await copy('web-1'));
      expect(await stage.get('virtual', slices, { namespace: stage.tenant, name: 'web-1' })).toBeDefined();
    });

    it('labels and annotations flow both ways, the Service and the manager neither way', async () => {
      await set();
      await stage.service({ name: 'web' });
      await make('web-1');
      const daemon = await stage.daemon(configuration());
      await editCopy('web-1', {
        metadata: { labels: { team: 'a', [serviceLabel]: 'vc', [managerLabel]: null }, annotations: { note: 'n' } },
      });
      await daemon.settled();
      const virtual = await stage.get('virtual', slices, { namespace: stage.tenant, name: 'web-1' });
      expect(virtual?.metadata.labels).toEqual({ [serviceLabel]: 'web', team: 'a' });
      expect(virtual?.metadata.annotations).toMatchObject({ note: 'n' });
      expect((await copy('web-1'))?.metadata.labels).toMatchObject({
        team: 'a',
        [serviceLabel]: copyPlace(stage.tenant, 'web').name,
        [managerLabel]: 'hostward.dev',
      });
    });

    it('without the switch nothing is watched, and without the verbs Endpoints go on and status names the verbs', async () => {
      await set();
      await stage.pair({ name: 'web' });
      await make('web-1');
      const off = await stage.daemon();
      expect(off.windows.filter(({ window }) => window.includes(slices))).toEqual([]);
      await off.stop();

      const without = <T extends { resources: readonly string[] }>(rights: readonly T[]) =>
        rights.filter(({ resources }) => !resources.includes(slices));
      await backend().virtual.grant(without(virtualRights));
      await backend().host.grant(without(roleRights()));
      const daemon = await stage.daemon(configuration());
      expect(await stage.copy('web')).toBeDefined();
      expect(await copy('web-1')).toBeUndefined();
      const { missingVerbs = [] } = daemon.status.endpointSlices ?? {};
      expect(missingVerbs.join('\n')).toContain(
        'not allowed to list endpointslices.discovery.k8s.io in all namespaces',
      );
      expect(missingVerbs.join('\n')).toContain('not allowed to create endpointslices.discovery.k8s.io in namespace');
      expect(daemon.status.verdict).toMatchObject({ isWell: false });

      await stage.grantAll();
      await until('rights that have arrived', async () => {
        await daemon.clock.jump(61_000);
        return (await copy('web-1')) !== undefined ? true : undefined;
      });
    });

    it('with Endpoints off nothing of theirs is watched, and mirrored slices go to the host', async () => {
      await set();
      await stage.service({ name: 'web' });
      await make('web-1');
      const config = {
        hostward: { endpoints: { enabled: false }, endpointSlices: { enabled: true } },
      };
      const daemon = await stage.daemon({ config });
      expect(await copy('web-1')).toBeDefined();
      expect(daemon.windows.filter(({ window }) => / endpoints( |$)/.test(window))).toEqual([]);
    });

    it('with mirrored: true a patch that throws on an Endpoints leaves no mirrored slice of its Service on the host', async () => {
      await set();
      await stage.service({ name: 'web' });
      await stage.create('virtual', 'endpoints', {
        metadata: { namespace: stage.tenant, name: 'web' },
        subsets: subsetsOf('10.0.0.1'),
      } as never);
      const mirroring = 'endpointslicemirroring-controller.k8s.io';
      if (!backend().hasControllers)
        await make('web-m', { metadata: { labels: { [managerLabel]: mirroring } } as never });
      const mirrored = await until('a mirrored slice', async () => {
        const found = await stage.list('virtual', slices);
        return found.find(({ metadata }) => metadata.labels?.[managerLabel] === mirroring)?.metadata.name;
      });
      await make('by-hand');
      const patches = [
        { path: 'subsets[*].addresses[*].ip', expression: 'value === "10.6.6.6" ? value.no.such : value' },
      ];
      const daemon = await stage.daemon(configuration({ mirrored: true }, { endpoints: { patches } }));
      await until('a copy of the mirrored slice', async () => await copy(mirrored));

      await stage.editTenants('web', { subsets: subsetsOf('10.6.6.6') });
      await daemon.settled();
      expect(await copy(mirrored)).toBeUndefined();
      expect(await copy('by-hand')).toBeDefined();
      await stage.editTenants('web', { subsets: subsetsOf('10.0.0.2') });
      await daemon.settled();
      await until('the copy again', async () => await copy(mirrored));
      expect(await stage.get('virtual', slices, { namespace: stage.tenant, name: mirrored })).toBeDefined();
    });

    it('a dry run lists the writes of slices and makes none', async () => {
      await set();
      await stage.service({ name: 'web' });
      await make('web-1');
      const daemon = await stage.daemon({ ...configuration(), isDryRun: true });
      expect(daemon.status.endpointSlices?.differences).toMatchObject([
        { object: `${stage.tenant}/web-1`, request: 'host create', touches: 'addresses 10.0.0.1' },
      ]);
      expect(await stage.writes(slices)).toEqual([]);
    });

    it('a patch that makes 1,001 endpoints, or another family, fails its slice with a sentence and nothing else', async () => {
      await set();
      await stage.service({ name: 'web' });
      await make('many', { metadata: { labels: { kind: 'many' } } as never });
      await make('mixed', { metadata: { labels: { kind: 'mixed' } } as never });
      await make('fine');
      const expression =
        'context.virtualObject.metadata.labels?.kind === "many" ? Array.from({length: 1001}, () => value[0]) : ' +
        'context.virtualObject.metadata.labels?.kind === "mixed" ? [{addresses: ["2001:db8::1"]}] : value';
      const patches = [{ path: 'endpoints', expression }];
      const daemon = await stage.daemon(configuration({}, { endpointSlices: { patches } }));
      expect(await copy('fine')).toBeDefined();
      const trouble = Object.fromEntries(
        (daemon.status.endpointSlices?.trouble ?? []).map(({ object, message }) => [object.split('/')[1], message]),
      );
      expect(trouble['many']).toContain('endpoints must have at most 1000 endpoints, found 1001');
      expect(trouble['mixed']).toContain('must be an IPv4 address, as addressType says');
    });

    it('a copy that is too large for the host is refused alone, with a sentence', async () => {
      await set();
      await stage.service({ name: 'web' });
      const { name } = (await tooLarge(make, backend().hasControllers ? 99_000 : 87_000)).metadata;
      await make('fine');
      const daemon = await stage.daemon(configuration());
      await until('the verdict', () => {
        const trouble = daemon.status.endpointSlices?.trouble ?? [];
        return (
          trouble.some(({ object, state }) => object.endsWith(`/${name}`) && state === 'refused/HostRefused') ||
          undefined
        );
      });
      expect(await copy('fine')).toBeDefined();
      expect(await copy(name ?? '')).toBeUndefined();
      expect(daemon.status.endpointSlices?.trouble.map(({ message }) => message).join()).toMatch(/too (large|long)/i);
      await edit(name ?? '', { endpoints: [{ addresses: ['10.0.0.3'] }] });
      await until('a smaller copy', async () => await copy(name ?? ''));
    });

    it('a Secret that an Endpoints and a slice name goes with the last of the two, also where one kind is switched off', async () => {
      await set();
      const verbs = ['get', 'list', 'watch', 'create', 'patch', 'delete'];
      const ofSecrets = { group: '', resources: ['secrets'], verbs };
      await backend().virtual.grant([...virtualRights, ofSecrets]);
      await backend().host.grant([...roleRights(), { ...ofSecrets, namespace: hostNamespace }]);
      const patches = [{ path: 'metadata.annotations["k"]', reference: { apiVersion: 'v1', kind: 'Secret' } }];
      const named = (enabled: boolean) =>
        configuration({ enabled }, { endpoints: { patches }, endpointSlices: { patches } });
      const db = { namespace: stage.tenant, name: 'db' };
      const exported = { namespace: hostNamespace, name: generatedName(db, virtualCluster) };
      const isExported = async () => (await stage.get('host', 'secrets', exported)) !== undefined;
      const becomes = (is: boolean) => until(`exported: ${is}`, async () => (await isExported()) === is || undefined);
      const refer = (k: string | null) => stage.editTenants('web', { metadata: { annotations: { k } } });
      const written = async () => (await stage.copy('web'))?.metadata.annotations?.['k'];

      await stage.create('virtual', 'secrets', { metadata: db, data: { value: 'djE=' } } as Partial<KubeObject>);
      await stage.pair({ name: 'web' });
      await make('web-1');
      await edit('web-1', { metadata: { annotations: { k: 'db' } } });
      let daemon = await stage.daemon(named(true));
      await becomes(true);
      expect((await copy('web-1'))?.metadata.annotations?.['k']).toBe(exported.name);
      await refer('db');
      await until('the name in the copy', async () => (await written()) === exported.name || undefined);
      await stage.remove('virtual', slices, { namespace: stage.tenant, name: 'web-1' });
      await until('no slice', async () => (await copy('web-1')) === undefined || undefined);
      await daemon.settled();
      expect(await isExported()).toBe(true);
      await daemon.stop();

      // The host may hold slices of before the switch, and their references are not known.
      daemon = await stage.daemon(named(false));
      await refer(null);
      await until('a copy without the name', async () => (await written()) === undefined || undefined);
      await daemon.settled();
      expect(await isExported()).toBe(true);
      expect(JSON.stringify(daemon.status)).toContain('no copy is removed while EndpointSlice');
      daemon.apply(named(true).config as Record<string, unknown>);
      await becomes(false);
      await stage.remove('virtual', 'secrets', db);
      expect(await stage.forbidden()).toEqual([]);
    });

    it('a patch rewrites addresses and ports; one that throws leaves the copy and tells the tenant', async () => {
      await set();
      await stage.service({ name: 'web' });
      await make('web-1');
      const patches = [
        { path: 'endpoints[*].addresses[*]', expression: 'value.replace(/^10\\.0\\./, "192.168.")' },
        { path: 'ports[*].port', expression: 'value === 6666 ? value.no.such : value + 1' },
        { path: 'metadata.labels["team"]', expression: '"t-" + value', reverseExpression: 'value.slice(2)' },
      ];
      const daemon = await stage.daemon(configuration({}, { endpointSlices: { patches } }));
      expect(await copy('web-1')).toMatchObject({
        endpoints: [{ addresses: ['192.168.0.1'] }],
        ports: [{ port: 8081 }],
      });
      await editCopy('web-1', { metadata: { labels: { team: 't-red' } } });
      await daemon.settled();
      const virtual = await stage.get('virtual', slices, { namespace: stage.tenant, name: 'web-1' });
      expect(virtual?.metadata.labels?.['team']).toBe('red');
      await edit('web-1', { ports: [{ name: 'http', port: 6666 }] });
      await daemon.settled();
      expect(await copy('web-1')).toMatchObject({ ports: [{ port: 8081 }] });
      await until('an event', async () => {
        const events = await stage.events('web-1');
        return events.some(({ reason }) => reason === 'PatchFailed') || undefined;
      });
    });
  });
}

/** A slice just within the limit of the virtual server, whose copy exceeds it, because names of Pods are longer there. A real server stores fewer bytes. */
async function tooLarge(
  make: (name: string, over: Partial<KubeObject>) => Promise<KubeObject>,
  most: number,
): Promise<KubeObject> {
  for (let count = most; ; count -= 400) {
    const endpoints = Array.from({ length: 1000 }, (_, at) => ({
      addresses: Array.from({ length: Math.floor((count + at) / 1000) }, (_, nth) => `10.100.100.${100 + nth}`),
      targetRef: { kind: 'Pod', namespace: 'n', name: `p-${at}` },
    }));
    try {
      return await make('large', { endpoints });
    } catch (error) {
      if (!String(error).includes('too large') || count < 1000) throw error;
    }
  }
}
