// One OpenAPI document of everything that the management API serves, for a fuzzer: the documents of the server, with the bodies of
// patches spelled out and a few paths that are no resources.
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
  for (const path of ['/version', '/apis', '/api', '/openapi/v3', '/livez'])
    paths[path] = { get: { responses: { 200: { description: 'OK' } } } } as unknown as Body;
  const operations: Operation[] = [];
  for (const [path, item] of Object.entries(paths))
    for (const [method, operation] of Object.entries(item)) {
      if (method === 'parameters') continue;
      if (method === 'patch') operation['requestBody'] = patchBodiesOf(operation);
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

/** The served documents say of a patch that it is an object, and do not offer the strategic one, which is accepted too. */
function patchBodiesOf(operation: Body): Body {
  const schema = operation['responses']?.['200']?.['content']?.['application/json']?.['schema'];
  const bodies = Object.keys(patchBodies).map((type) => [
    type,
    { schema: type === 'application/json-patch+json' ? patchBody : schema },
  ]);
  return { content: Object.fromEntries(bodies) } as Body;
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

/** The key of a DELETE is made again before each operation. */
function namesFor(method: string, path: string): Record<string, string> {
  if (path.includes('virtualclusterinstances')) return { namespace: 'p-shop', name: 'v1' };
  if (path.startsWith('/api/v1/namespaces')) return { name: 'p-shop' };
  return { name: method === 'delete' ? 'fuzz-gone' : 'fuzz-there' };
}

function bodyFor(method: string, path: string): object | undefined {
  if (path.endsWith('/rotate')) return { spec: { overlapSeconds: 5 } };
  if (path.includes('selfsubjectaccessreviews'))
    return { spec: { resourceAttributes: { verb: 'get', group: 'management.platform', resource: 'ownedaccesskeys' } } };
  if (path.includes('selfsubjectrulesreviews')) return { spec: { namespace: 'default' } };
  if (path.includes('selfsubject')) return {};
  if (path.endsWith('/agentreports')) return { spec: { cluster: 'c1', entries: [], uses: [] } };
  if (method === 'post') return { metadata: { generateName: 'fuzz-' }, spec: { user: 'alice' } };
  if (method === 'put') return { metadata: { name: 'fuzz-there' }, spec: { user: 'alice', displayName: 'fuzz' } };
  return undefined;
}
