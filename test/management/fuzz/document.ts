// One OpenAPI document of everything that the management API serves, for a fuzzer: the documents of the server, with the bodies and
// the query parameters that they leave out.
import type { Bench, Body } from '../server/bench.ts';

export interface Operation {
  /** As schemathesis names it. */
  label: string;
  /** Names and a body with which the operation can do something. */
  names: Record<string, string>;
  body: object | undefined;
  /** By media type, where they differ. */
  bodies: Record<string, object>;
}

const prefix = '/kubernetes/management';
const listParameters = [
  'labelSelector',
  'fieldSelector',
  'limit',
  'continue',
  'resourceVersion',
  'resourceVersionMatch',
  'pretty',
];
const writeParameters = ['dryRun', 'fieldManager', 'fieldValidation', 'force'];
const deleteParameters = ['dryRun', 'gracePeriodSeconds', 'propagationPolicy', 'orphanDependents'];
const patchTypes = ['json-patch+json', 'merge-patch+json', 'strategic-merge-patch+json', 'apply-patch+yaml'];

const deleteBody = {
  type: 'object',
  properties: {
    gracePeriodSeconds: { type: 'integer' },
    dryRun: { type: 'array', items: { type: 'string' } },
    preconditions: { type: 'object' },
  },
};
const patchBody = {
  type: 'array',
  items: {
    type: 'object',
    properties: {
      op: { enum: ['add', 'remove', 'replace', 'move', 'copy', 'test'] },
      path: { type: 'string' },
      from: { type: 'string' },
      value: {},
    },
    required: ['op', 'path'],
  },
};

export async function fuzzDocument(bench: Bench): Promise<{ document: object; operations: Operation[] }> {
  const index = await bench.ask('GET', `${prefix}/openapi/v3`);
  const paths: Record<string, Body> = {};
  const schemas: Record<string, unknown> = {};
  for (const { serverRelativeURL } of Object.values(
    index.body['paths'] as unknown as Record<string, { serverRelativeURL: string }>,
  )) {
    const { body } = await bench.ask('GET', prefix + serverRelativeURL);
    Object.assign(paths, body['paths']);
    Object.assign(schemas, body['components']?.['schemas']);
  }
  const rotation = {
    post: { responses: { 201: { description: 'Created' } } },
    parameters: [{ name: 'name', in: 'path', required: true, schema: { type: 'string' } }],
  };
  paths['/apis/management.platform/v1/ownedaccesskeys/{name}/rotate'] = rotation as unknown as Body;
  for (const path of ['/version', '/apis', '/api', '/openapi/v3', '/livez'])
    paths[path] = { get: { responses: { 200: { description: 'OK' } } } } as unknown as Body;
  const operations: Operation[] = [];
  for (const [path, item] of Object.entries(paths))
    for (const [method, operation] of Object.entries(item)) {
      if (method === 'parameters') continue;
      complete(method, path, operation);
      operations.push({
        label: `${method.toUpperCase()} ${path}`,
        names: namesFor(method, path),
        body: bodyFor(method, path),
        bodies: method === 'patch' ? patchBodies : {},
      });
    }
  return {
    document: { openapi: '3.0.0', info: { title: 'fuzz', version: '1' }, paths, components: { schemas } },
    operations,
  };
}

function complete(method: string, path: string, operation: Body): void {
  const open = operation as unknown as Record<string, unknown>;
  const names =
    method === 'get'
      ? path.includes('/v1')
        ? listParameters
        : []
      : method === 'delete'
        ? deleteParameters
        : writeParameters;
  open['parameters'] = names.map((name) => ({ name, in: 'query', schema: { type: 'string' } }));
  const schema = operation['responses']?.['200']?.['content']?.['application/json']?.['schema'] ?? { type: 'object' };
  const json = (of: unknown) => ({ schema: of });
  if (method === 'post' || method === 'put')
    open['requestBody'] = { content: { 'application/json': json(schema), 'application/yaml': json(schema) } };
  if (method === 'delete') open['requestBody'] = { content: { 'application/json': json(deleteBody) } };
  if (method === 'patch') {
    const content = patchTypes.map((type) => [
      `application/${type}`,
      json(type.startsWith('json') ? patchBody : schema),
    ]);
    open['requestBody'] = { content: Object.fromEntries(content) };
  }
}

const labels = { metadata: { labels: { fuzz: 'yes' } } };
const applied = {
  apiVersion: 'management.platform/v1',
  kind: 'OwnedAccessKey',
  metadata: { name: 'fuzz-there', ...labels.metadata },
};
const patchBodies: Record<string, object> = {
  'application/json-patch+json': [{ op: 'add', path: '/metadata/labels', value: { fuzz: 'yes' } }],
  'application/merge-patch+json': labels,
  'application/strategic-merge-patch+json': labels,
  'application/apply-patch+yaml': applied,
};

/** The key of a DELETE is made anew before each operation. */
function namesFor(method: string, path: string): Record<string, string> {
  if (path.includes('virtualclusterinstances')) return { namespace: 'p-shop', name: 'v1' };
  if (path.startsWith('/api/v1/namespaces')) return { name: 'p-shop' };
  return { name: method === 'delete' ? 'fuzz-gone' : 'fuzz-there' };
}

function bodyFor(method: string, path: string): object | undefined {
  if (path.endsWith('/rotate')) return { spec: { overlapSeconds: 5 } };
  if (path.includes('selfsubjectaccessreviews'))
    return { spec: { resourceAttributes: { verb: 'get', group: 'management.platform', resource: 'ownedaccesskeys' } } };
  if (path.includes('selfsubject')) return { spec: {} };
  if (method === 'post') return { metadata: { generateName: 'fuzz-' }, spec: { user: 'alice' } };
  if (method === 'put') return { metadata: { name: 'fuzz-there' }, spec: { user: 'alice', displayName: 'fuzz' } };
  return undefined;
}
