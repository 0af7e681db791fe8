// The documents from which clients learn the kinds of a server: discovery in both forms, and the parts of OpenAPI v3 that
// kubectl reads. A server may have other kinds too, but it must describe the listed kinds as a real server does.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import type { ApiClient } from '../client.ts';

/** Every kind of our servers, with the subresources that clients write to. */
const wanted: Record<string, string[]> = {
  v1: [
    'namespaces',
    'namespaces/status',
    'namespaces/finalize',
    'services',
    'services/status',
    'endpoints',
    'pods',
    'pods/status',
    'secrets',
    'configmaps',
    'serviceaccounts',
    'serviceaccounts/token',
    'persistentvolumeclaims',
    'persistentvolumeclaims/status',
    'events',
  ],
  'discovery.k8s.io/v1': ['endpointslices'],
  'coordination.k8s.io/v1': ['leases'],
  'events.k8s.io/v1': ['events'],
  'authentication.k8s.io/v1': ['selfsubjectreviews'],
  'rbac.authorization.k8s.io/v1': ['clusterrolebindings', 'clusterroles', 'rolebindings', 'roles'],
  'authorization.k8s.io/v1': ['selfsubjectaccessreviews', 'selfsubjectrulesreviews', 'subjectaccessreviews'],
};

const goldenFile = fileURLToPath(new URL('../../../fixtures/contract/discovery.golden.json', import.meta.url));
const aggregatedType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

interface Resource {
  name: string;
  [member: string]: unknown;
}

interface AggregatedResource {
  resource: string;
  subresources?: { subresource: string; [member: string]: unknown }[];
  [member: string]: unknown;
}

export function discoveryContract(at: { client: () => ApiClient; records: boolean }): void {
  const written: Record<string, unknown> = {};
  const golden = existsSync(goldenFile)
    ? (JSON.parse(readFileSync(goldenFile, 'utf8')) as Record<string, unknown>)
    : {};
  const check = (name: string, shown: unknown): void => {
    if (at.records) written[name] = shown;
    else expect(shown).toEqual(golden[name]);
  };
  describe('discovery', () => {
    for (const [groupVersion, names] of Object.entries(wanted)) {
      it(`${groupVersion} lists ${names.join(', ')} as a real server does`, async () => {
        const answer = await at.client().request('GET', rootOf(groupVersion));
        expect(answer.status).toBe(200);
        const body = answer.json as { kind: string; groupVersion: string; resources: Resource[] };
        const resources = body.resources.filter(({ name }) => names.includes(name)).map(withoutHash);
        check(`legacy ${groupVersion}`, {
          kind: body.kind,
          groupVersion: body.groupVersion,
          resources: byName(resources),
        });
      });

      it(`${groupVersion} has the same resources in aggregated discovery`, async () => {
        const answer = await at.client().request('GET', groupVersion === 'v1' ? '/api' : '/apis', {
          headers: { accept: aggregatedType },
        });
        expect(answer.headers['content-type']).toBe(aggregatedType);
        const { group, version } = parts(groupVersion);
        check(`aggregated ${groupVersion}`, aggregatedResources(answer.json, { group, version, names }));
      });

      it(`${groupVersion} has an OpenAPI v3 document with its kinds and the parameters that kubectl needs`, async () => {
        const index = (await at.client().request('GET', '/openapi/v3')).json as {
          paths: Record<string, { serverRelativeURL: string }>;
        };
        const url = index.paths[rootOf(groupVersion).slice(1)]?.serverRelativeURL;
        expect(url).toBeDefined();
        const document = (await at.client().request('GET', url as string)).json as OpenApi;
        const plain = names.filter((name) => !name.includes('/'));
        check(
          `openapi ${groupVersion}`,
          plain.map((name) => describePath(document, groupVersion, name)),
        );
      });
    }

    it('the index of OpenAPI v3 links each document with its hash, so that clients may cache it', async () => {
      const index = (await at.client().request('GET', '/openapi/v3')).json as {
        paths: Record<string, { serverRelativeURL: string }>;
      };
      expect(index.paths['api/v1']?.serverRelativeURL).toMatch(/^\/openapi\/v3\/api\/v1\?hash=\w+$/);
    });

    it('an unaggregated list of groups names each group once, with its preferred version', async () => {
      const list = (await at.client().request('GET', '/apis')).json as { groups: { name: string }[] };
      const names = Object.keys(wanted).filter((groupVersion) => groupVersion !== 'v1');
      const groups = names.map((groupVersion) => list.groups.filter(({ name }) => name === parts(groupVersion).group));
      check('groups', groups);
    });

    afterAll(() => {
      if (at.records) writeFileSync(goldenFile, `${JSON.stringify(written, undefined, 1)}\n`);
    });
  });
}

function rootOf(groupVersion: string): string {
  return groupVersion === 'v1' ? '/api/v1' : `/apis/${groupVersion}`;
}

function parts(groupVersion: string): { group: string; version: string } {
  const slash = groupVersion.indexOf('/');
  return { group: slash < 0 ? '' : groupVersion.slice(0, slash), version: groupVersion.slice(slash + 1) };
}

function withoutHash({ storageVersionHash: _, ...rest }: Resource): Resource {
  return rest;
}

function byName(resources: Resource[]): Resource[] {
  return resources.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function aggregatedResources(body: unknown, of: { group: string; version: string; names: string[] }): unknown {
  const list = body as {
    kind: string;
    items: { metadata: { name?: string }; versions: { version: string; resources: AggregatedResource[] }[] }[];
  };
  const group = list.items.find((item) => (item.metadata.name ?? '') === of.group);
  const version = group?.versions.find((candidate) => candidate.version === of.version);
  const resources = version?.resources.filter(({ resource }) => of.names.includes(resource)) ?? [];
  const kept = resources.map((resource) => {
    const subresources = resource.subresources?.filter((sub) =>
      of.names.includes(`${resource.resource}/${sub.subresource}`),
    );
    const { subresources: _, ...rest } = resource;
    return subresources === undefined || subresources.length === 0 ? rest : { ...rest, subresources };
  });
  return { kind: list.kind, resources: kept.sort((a, b) => (a.resource < b.resource ? -1 : 1)) };
}

interface Operation {
  parameters?: { name: string }[];
  requestBody?: { content: Record<string, { schema: { $ref?: string } }> };
  [member: string]: unknown;
}

interface OpenApi {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { 'x-kubernetes-group-version-kind'?: { kind: string }[] }> };
}

/** The parts of the document about one resource that `kubectl explain`, `create --validate` and `apply` read. */
function describePath(document: OpenApi, groupVersion: string, name: string): unknown {
  const collections = [`${rootOf(groupVersion)}/namespaces/{namespace}/${name}`, `${rootOf(groupVersion)}/${name}`];
  const collection = collections.find((path) => document.paths[path] !== undefined);
  if (collection === undefined) return { name, collection: 'not there' };
  const object = `${collection}/{name}`;
  const post = document.paths[collection]?.['post'];
  const patch = document.paths[object]?.['patch'];
  const kinds = post?.['x-kubernetes-group-version-kind'] as
    | { group: string; version: string; kind: string }
    | undefined;
  const schemas = Object.values(document.components.schemas).filter((schema) =>
    schema['x-kubernetes-group-version-kind']?.some(({ kind }) => kind === kinds?.kind),
  );
  return {
    name,
    version: document.openapi.split('.')[0],
    collection,
    kind: kinds,
    hasSchema: schemas.length > 0,
    validatesOnCreate: post?.parameters?.some((parameter) => parameter.name === 'fieldValidation') ?? false,
    validatesOnPatch: patch?.parameters?.some((parameter) => parameter.name === 'fieldValidation') ?? false,
    operations: {
      ...operationsOf(document.paths[collection], ''),
      ...operationsOf(document.paths[object], ' one'),
      ...operationsOf(document.paths[`${object}/status`], ' status'),
    },
  };
}

/** Parameters that this project's servers do not have, because they concern what only etcd and shards have. */
const foreign = new Set(['ignoreStoreReadErrorWithClusterBreakingPotential', 'shardSelector']);

/** What each verb of a path takes; the media types of bodies differ, their schemas do not. */
function operationsOf(path: Record<string, Operation> | undefined, what: string): Record<string, unknown> {
  const shared = (path?.['parameters'] ?? []) as unknown as { name: string }[];
  const verbs = Object.entries(path ?? {}).filter(([verb]) => verb !== 'parameters');
  return Object.fromEntries(
    verbs.map(([verb, { parameters = [], requestBody }]) => {
      const names = [...parameters, ...shared].map(({ name }) => name).filter((name) => !foreign.has(name));
      const bodies = Object.values(requestBody?.content ?? {}).map(
        ({ schema }) => schema.$ref ?? JSON.stringify(schema),
      );
      return [verb + what, [...names.sort(), ...new Set(bodies)]];
    }),
  );
}
