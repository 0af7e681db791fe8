// A daemon with everything on (the lease, both kinds, references) and exactly the rights of the shipped Roles uses every verb of them
// and is refused none: a right that nobody needs does not stay in a Role unnoticed, nor one that is missing.
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { interferedStageForEach } from '../stage-for-each.ts';
import { hostNamespace, type Right, type SyncBackend, until } from './backend.ts';
import type { LiveDaemon } from './daemon.ts';
import { virtualRights } from './rights.ts';
import { type Place, type SyncStage, subsetsOf } from './stage.ts';

interface Manifest {
  readonly kind: string;
  readonly rules?: readonly { apiGroups: string[]; resources: string[]; verbs: string[] }[];
}

/** The rights in a file of config/, with those for references, which are comment signs away. Cluster-wide ones have no namespace. */
export function shippedRights(file: 'role.yaml' | 'cluster-role.yaml'): Right[] {
  const text = readFileSync(new URL(`../../../config/${file}`, import.meta.url), 'utf8');
  const withReferences = text.replace(/^( *)# (- apiGroups| {2}resources| {2}verbs)/gm, '$1$2');
  return parseAllDocuments(withReferences)
    .map((document) => document.toJS() as Manifest)
    .flatMap(({ kind, rules = [] }) =>
      rules.flatMap(({ apiGroups, resources, verbs }) =>
        apiGroups.map((group) => ({ group, resources, verbs, ...(kind === 'Role' && { namespace: hostNamespace }) })),
      ),
    );
}

/** As `verb resource`, sorted. */
export function verbsOf(rights: readonly Right[]): string[] {
  return rights
    .flatMap(({ resources, verbs }) => resources.flatMap((one) => verbs.map((verb) => `${verb} ${one}`)))
    .sort();
}

/** Everybody who is authenticated may ask about himself. */
export const ofEverybody = ['selfsubjectaccessreviews', 'selfsubjectreviews', ''];

const content = ['secrets', 'configmaps'];
const patches = [
  { path: 'metadata.annotations["k"]', reference: { apiVersion: 'v1', kind: 'Secret' } },
  { path: 'metadata.annotations["c"]', reference: { apiVersion: 'v1', kind: 'ConfigMap' } },
];
const modes = {
  'one namespace': { file: 'role.yaml', hosts: hostNamespace },
  'mapped namespaces': { file: 'cluster-role.yaml', hosts: 'h-verbs' },
} as const;

export function everyVerbSuite(backend: () => SyncBackend): void {
  describe('the shipped Roles', () => {
    let stage: SyncStage;
    const interferers = interferedStageForEach(backend, (made) => {
      stage = made;
    });
    afterEach(() => stage.grantAll());

    it.each(Object.entries(modes))('grant exactly what is used with %s', async (mode, { file, hosts }) => {
      const isMapped = mode === 'mapped namespaces';
      const rights = shippedRights(file);
      await backend().host.grant(rights);
      await backend().virtual.grant([
        ...virtualRights,
        { group: '', resources: content, verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
      ]);
      await stage.namespace('host', hosts);
      const interferer = await interferers.before(backend().host);
      const make = (resource: string, name: string, rest: object) =>
        stage.create('virtual', resource, { metadata: { namespace: stage.tenant, name }, ...rest } as KubeObject);
      const service = (name: string) => stage.service({ name, onHost: false });
      const pair = async (name: string) => {
        await service(name);
        const annotations = { k: 'db', c: 'settings' };
        const metadata = { namespace: stage.tenant, name, annotations };
        await make('endpoints', name, { metadata, subsets: subsetsOf('10.0.0.1') });
        const labels = { 'kubernetes.io/service-name': name };
        await make('endpointslices', `${name}-1`, {
          metadata: { ...metadata, name: `${name}-1`, labels },
          addressType: 'IPv4',
          endpoints: [{ addresses: ['10.0.0.2'] }],
          ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
        });
      };
      await make('secrets', 'db', { data: { v: 'djE=' } });
      await make('configmaps', 'settings', { data: { v: '1' } });
      // A native object at the name of a copy: the Service of the host decides whose it is.
      const native = isMapped ? { namespace: hosts, name: 'native' } : stage.at('native');
      await stage.create('host', 'endpoints', { metadata: native, subsets: subsetsOf('192.168.0.1') } as never);
      await pair('web');
      await pair('native');
      const daemon = await stage.daemon({
        via: { host: interferer.at },
        config: {
          hostward: { leaderElection: 'always', endpointSlices: { enabled: true } },
          sync: {
            toHost: {
              endpoints: { patches },
              endpointSlices: { patches },
              secrets: { enabled: true },
              configMaps: { enabled: true },
              ...(isMapped && { namespaces: { enabled: true, mappings: { byName: { [stage.tenant]: hosts } } } }),
            },
          },
        },
      });
      const copyOf = async (resource: string, name: string) => {
        const copies = (await stage.list('host', resource)).filter(
          ({ metadata: { namespace, annotations = {} } }) =>
            namespace === hosts && annotations['vcluster.loft.sh/object-name'] === name,
        );
        const { namespace = '', name: found = '' } = copies[0]?.metadata ?? {};
        return copies.length === 0 ? undefined : { namespace, name: found };
      };
      const kinds = [
        ['endpoints', 'web', { subsets: subsetsOf('10.0.0.7') }],
        ['endpointslices', 'web-1', { endpoints: [{ addresses: ['10.0.0.8'] }] }],
        ['secrets', 'db', { data: { v: 'djI=' } }],
        ['configmaps', 'settings', { data: { v: '2' } }],
      ] as const;
      for (const [resource, name, mergePatch] of kinds) {
        const copy = await until(`a copy of ${resource} ${name}`, () => copyOf(resource, name));
        await conflict(daemon, { resource, name, copy, mergePatch });
      }
      // The last reference goes with its object, and the content with the last reference.
      for (const [resource, name] of [
        ['endpoints', 'web'],
        ['endpoints', 'native'],
        ['endpointslices', 'web-1'],
        ['endpointslices', 'native-1'],
      ] as const)
        await stage.remove('virtual', resource, { namespace: stage.tenant, name });
      for (const [resource, name] of kinds)
        await until(`an end of ${resource} ${name}`, async () =>
          (await copyOf(resource, name)) === undefined ? true : undefined,
        );
      await daemon.clock.jump(30_000);
      const requests = async () =>
        (await backend().host.requests()).filter(
          ({ resource, code }) => !ofEverybody.includes(resource) && code !== 403,
        );
      await until('a renewed lease', async () =>
        (await requests()).some(({ verb, resource }) => `${verb} ${resource}` === 'update leases') ? true : undefined,
      );
      await daemon.stop();
      expect(await stage.forbidden()).toEqual([]);
      const used = async () =>
        [...new Set((await requests()).map(({ verb, resource }) => `${verb} ${resource}`))].sort();
      const granted = verbsOf(rights);
      // The end of a watch is written down a moment after the end of the daemon.
      await until('all watches', async () => ((await used()).length >= granted.length ? true : undefined)).catch(
        () => {},
      );
      expect(await used()).toEqual(granted);

      async function conflict(
        daemon: LiveDaemon,
        { resource, name, copy, mergePatch }: { resource: string; name: string; copy: Place; mergePatch: object },
      ): Promise<void> {
        // The daemon does not see the edit of the copy, so that its next write names an old version, and it reads the copy again.
        const unmute = interferer.mute(resource);
        await stage.patch('host', resource, { ...copy, mergePatch: { metadata: { annotations: { edited: name } } } });
        await stage.patch('virtual', resource, { namespace: stage.tenant, name, mergePatch });
        const [field = ''] = Object.keys(mergePatch);
        const wanted = JSON.stringify((mergePatch as Record<string, unknown>)[field]);
        await until(`the change of ${resource}`, async () => {
          const found = (await stage.get('host', resource, copy)) as Record<string, unknown> | undefined;
          return JSON.stringify(found?.[field])?.includes(wanted.slice(2, -2)) ? true : undefined;
        });
        unmute();
        await daemon.settled();
      }
    });
  });
}
