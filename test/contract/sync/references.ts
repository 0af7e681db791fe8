// The live sync of references: Endpoints and EndpointSlices that name the same objects, and names that the host writes into them.
import { afterEach, describe, expect, it } from 'vitest';
import { generatedName } from '../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { importableLabel } from '../../../src/sync/plan/keys/reserved-keys.ts';
import { hostNamespace, type Right, type SyncBackend, until, virtualCluster } from '../sync-stage/backend.ts';
import type { LiveOptions } from '../sync-stage/daemon.ts';
import { roleRights, virtualRights } from '../sync-stage/rights.ts';
import { copyPlace, SyncStage, subsetsOf } from '../sync-stage/stage.ts';

const kinds = ['endpoints', 'endpointslices'] as const;
type Resource = (typeof kinds)[number];
const content = ['secrets', 'configmaps'];
const contentRights: Right = {
  group: '',
  resources: content,
  verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
};

const patches = Object.entries({ k: 'Secret', c: 'ConfigMap', s: 'Service', p: 'Pod' }).map(([key, kind]) => ({
  path: `metadata.annotations["${key}"]`,
  reference: { apiVersion: 'v1', kind },
}));
const options: LiveOptions = {
  config: {
    hostward: { endpointSlices: { enabled: true } },
    sync: {
      toHost: {
        endpoints: { patches },
        endpointSlices: { enabled: true, patches },
        secrets: { enabled: true },
        configMaps: { enabled: true },
      },
    },
  },
};

interface ReferenceStatus {
  references?: Record<string, { unresolved?: unknown }>;
}

export function referencesSuite(backend: () => SyncBackend): void {
  describe('references of two kinds', () => {
    let stage: SyncStage;
    const set = async (): Promise<void> => {
      stage = new SyncStage(backend());
      await stage.set();
      await stage.backend.virtual.grant([...virtualRights, contentRights]);
      await stage.backend.host.grant([...roleRights(), { ...contentRights, namespace: hostNamespace }]);
    };
    afterEach(async () => {
      await stage.grantAll();
      await stage.clear();
      for (const [side, namespace] of [
        ['virtual', stage.tenant],
        ['host', hostNamespace],
      ] as const) {
        for (const resource of content) {
          for (const { metadata } of await stage.list(side, resource)) {
            if (metadata.namespace === namespace && metadata.name !== 'kube-root-ca.crt')
              await stage.remove(side, resource, { namespace, name: metadata.name ?? '' });
          }
        }
      }
      stage.close();
    });

    const make = async (resource: Resource, name: string, annotations: Record<string, string>) => {
      const metadata = { namespace: stage.tenant, name, annotations };
      if (resource === 'endpoints') {
        await stage.service({ name });
        return stage.create('virtual', resource, { metadata, subsets: subsetsOf('10.0.0.1') } as never);
      }
      return stage.create('virtual', resource, {
        metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'web' } },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['10.0.0.2'] }],
        ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
      } as never);
    };
    const objectOf = (resource: Resource) => (resource === 'endpoints' ? 'web' : 'web-1');
    const own = (object: KubeObject | undefined) =>
      Object.fromEntries(
        Object.entries(object?.metadata.annotations ?? {}).filter(([key]) => key.length === 1),
      ) as Record<string, string>;
    const inVirtual = async (resource: Resource) =>
      own(await stage.get('virtual', resource, { namespace: stage.tenant, name: objectOf(resource) }));
    const onHost = async (resource: Resource) => own(await stage.get('host', resource, stage.at(objectOf(resource))));
    const editCopy = (resource: Resource, annotations: Record<string, string>) =>
      stage.patch('host', resource, { ...stage.at(objectOf(resource)), mergePatch: { metadata: { annotations } } });
    const nameOf = (name: string) => generatedName({ namespace: stage.tenant, name }, virtualCluster);
    const secret = (name: string) =>
      stage.create('virtual', 'secrets', { metadata: { namespace: stage.tenant, name }, data: { v: 'djE=' } } as never);

    it('an import, a copy and a name without an object are the same for both', async () => {
      await set();
      const labels = { [importableLabel]: 'true' };
      await stage.create('host', 'configmaps', {
        metadata: { namespace: hostNamespace, name: 'shared', labels },
        data: { a: '1' },
      } as never);
      await secret('db');
      const named = { k: 'db', c: 'shared', s: 'backend' };
      await make('endpoints', 'web', named);
      await make('endpointslices', 'web-1', named);
      await make('endpointslices', 'web-2', { c: 'absent' });
      const daemon = await stage.daemon(options);
      const wanted = { k: nameOf('db'), c: 'shared', s: nameOf('backend') };
      expect([await onHost('endpoints'), await onHost('endpointslices')]).toEqual([wanted, wanted]);
      const import_ = await stage.get('virtual', 'configmaps', { namespace: stage.tenant, name: 'shared' });
      expect(import_?.['data']).toEqual({ a: '1' });
      const reasons = async () => (await stage.events('web-2')).map(({ reason }) => reason);
      await until('an event', async () => ((await reasons()).includes('ReferenceUnresolved') ? true : undefined));
      const { references } = daemon.status as unknown as ReferenceStatus;
      expect(JSON.stringify(references?.['ConfigMap'])).toContain('absent');

      // The slice alone keeps the copy, and the last reference takes it away.
      const copy = () => stage.get('host', 'secrets', { namespace: hostNamespace, name: nameOf('db') });
      await stage.editTenants('web', { metadata: { annotations: { k: null } } });
      await daemon.settled();
      expect(await copy()).toBeDefined();
      const slice = { namespace: stage.tenant, name: 'web-1' };
      await stage.patch('virtual', 'endpointslices', {
        ...slice,
        mergePatch: { metadata: { annotations: { k: null } } },
      });
      await until('no copy', async () => ((await copy()) === undefined ? true : undefined));
      expect(await stage.forbidden()).toEqual([]);
    });

    describe.each(kinds)('a name that the host writes into %s', (resource) => {
      it.each(['while the daemon runs', 'while the daemon is down'])(
        'comes back as the tenant knows it, or not at all: %s',
        async (when) => {
          await set();
          await secret('first');
          await secret('db');
          const long = copyPlace(stage.tenant, 'db').name;
          await stage.service({ name: 'backend' });
          await make('endpoints', 'web', { k: 'first', s: 'web', p: 'web-0' });
          await make('endpointslices', 'web-1', { k: 'first', s: 'web', p: 'web-0' });
          // Only an object of the other kind names the Pod.
          if (resource === 'endpoints') await make('endpointslices', 'web-2', { p: 'db-0' });
          else await make('endpoints', 'other', { p: 'db-0' });
          let daemon = await stage.daemon(options);
          const act = async (annotations: Record<string, string>) => {
            if (when.endsWith('runs')) {
              await editCopy(resource, annotations);
              return daemon.settled();
            }
            await daemon.stop();
            await editCopy(resource, annotations);
            daemon = await stage.daemon(options);
          };
          await act({ k: nameOf('db'), s: nameOf('backend'), p: nameOf('db-0') });
          expect(await inVirtual(resource)).toEqual({ k: 'db', s: 'backend', p: 'db-0' });
          expect(await onHost(resource)).toEqual({ k: nameOf('db'), s: nameOf('backend'), p: nameOf('db-0') });
          await act({ k: nameOf(nameOf('db')), s: nameOf('absent'), p: long });
          expect(await inVirtual(resource)).toEqual({ k: 'db', s: 'backend', p: 'db' });
          expect(await onHost(resource)).toEqual({ k: nameOf(nameOf('db')), s: nameOf('absent'), p: nameOf('db') });
          const events = await stage.events(objectOf(resource));
          expect(events.map(({ reason }) => reason)).toContain('BackflowFailed');
          expect(await stage.forbidden()).toEqual([]);
        },
      );
    });
  });
}
