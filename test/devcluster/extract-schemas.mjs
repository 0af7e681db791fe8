// Rewrites src/devcluster/kinds/shapes/core-schemas.json from the OpenAPI documents in the sources of Kubernetes:
//   node test/devcluster/extract-schemas.mjs $(go env GOMODCACHE)/k8s.io kubernetes@v1.36.3 api@v0.36.3 apimachinery@v0.36.3
// Takes only names, types and merge hints. OpenAPI does not describe how Go's encoder treats zero values, so the struct tags
// supply this: `x-pointers` fields keep a sent zero, `x-always` and `x-nulls` fields are always written, as zero or as null, and
// every other zero field is left out.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const wanted = {
  api__v1: [
    'ConfigMap',
    'Endpoints',
    'Event',
    'Namespace',
    'Node',
    'PersistentVolumeClaim',
    'Pod',
    'Secret',
    'Service',
    'ServiceAccount',
    'TokenRequest',
  ],
  'apis__events.k8s.io__v1': ['Event'],
  'apis__discovery.k8s.io__v1': ['EndpointSlice'],
  'apis__coordination.k8s.io__v1': ['Lease'],
  'apis__authentication.k8s.io__v1': ['SelfSubjectReview', 'TokenReview'],
  'apis__authorization.k8s.io__v1': [
    'LocalSubjectAccessReview',
    'SelfSubjectAccessReview',
    'SelfSubjectRulesReview',
    'SubjectAccessReview',
  ],
  'apis__rbac.authorization.k8s.io__v1': ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'],
};

const found = {};

function withoutDescriptions(value) {
  if (Array.isArray(value)) return value.map(withoutDescriptions);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([key, member]) => !(key === 'description' && typeof member === 'string'));
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutDescriptions(member)]));
}

function take(name, schemas) {
  if (name in found) return;
  found[name] = withoutDescriptions(schemas[name]);
  for (const match of JSON.stringify(found[name]).matchAll(/"#\/components\/schemas\/([^"]+)"/g))
    take(match[1], schemas);
}

const [modules, kubernetes, api, apimachinery] = process.argv.slice(2);
const source = join(modules, kubernetes);
const packages = {
  'io.k8s.api.core.v1.': join(modules, api, 'core/v1'),
  'io.k8s.api.events.v1.': join(modules, api, 'events/v1'),
  'io.k8s.api.discovery.v1.': join(modules, api, 'discovery/v1'),
  'io.k8s.api.coordination.v1.': join(modules, api, 'coordination/v1'),
  'io.k8s.api.authentication.v1.': join(modules, api, 'authentication/v1'),
  'io.k8s.api.authorization.v1.': join(modules, api, 'authorization/v1'),
  'io.k8s.api.rbac.v1.': join(modules, api, 'rbac/v1'),
  'io.k8s.apimachinery.pkg.apis.meta.v1.': join(modules, apimachinery, 'pkg/apis/meta/v1'),
};

/** Struct name → field lines, for every struct of a package. */
function structsOf(folder) {
  const structs = new Map();
  for (const file of ['types.go', 'micro_time.go', 'time.go']) {
    if (!existsSync(join(folder, file))) continue;
    const text = readFileSync(join(folder, file), 'utf8');
    for (const match of text.matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm))
      structs.set(match[1], match[2].split('\n'));
  }
  return structs;
}

const structs = Object.fromEntries(Object.entries(packages).map(([prefix, folder]) => [prefix, structsOf(folder)]));

function presence(prefix, name) {
  const kept = { pointers: [], always: [], nulls: [] };
  for (const line of structs[prefix].get(name) ?? []) {
    const field = /^\t(?:(\w+)\s+)?(\S+)\s+`([^`]*)`/.exec(line);
    if (field === null) continue;
    const [, , type, tags] = field;
    const [jsonName, ...flags] = (/json:"([^"]*)"/.exec(tags)?.[1] ?? '').split(',');
    if (flags.includes('inline')) {
      const inner = presence(prefix, type.replace(/^.*\./, ''));
      kept.pointers.push(...inner.pointers);
      kept.always.push(...inner.always);
      kept.nulls.push(...inner.nulls);
    } else if (jsonName !== '' && jsonName !== '-' && jsonName !== 'metadata') {
      const isStruct = structs[prefix].has(type) || /^metav1\.(Time|MicroTime|LabelSelector)$/.test(type);
      if (flags.includes('omitzero')) continue;
      if (flags.includes('omitempty') && type.startsWith('*')) kept.pointers.push(jsonName);
      else if (!flags.includes('omitempty') && /^(\*|\[\]|map\[)/.test(type)) kept.nulls.push(jsonName);
      else if (!flags.includes('omitempty') || isStruct) kept.always.push(jsonName);
    }
  }
  return kept;
}

for (const [file, kinds] of Object.entries(wanted)) {
  const document = JSON.parse(readFileSync(join(source, 'api/openapi-spec/v3', `${file}_openapi.json`), 'utf8'));
  const { schemas } = document.components;
  for (const [name, schema] of Object.entries(schemas)) {
    const gvks = schema['x-kubernetes-group-version-kind'] ?? [];
    if (gvks.some(({ kind }) => kinds.includes(kind))) take(name, schemas);
  }
}
for (const [name, schema] of Object.entries(found)) {
  const prefix = Object.keys(packages).find((candidate) => name.startsWith(candidate));
  if (prefix === undefined || schema.properties === undefined) continue;
  const { pointers, always, nulls } = presence(prefix, name.slice(prefix.length));
  if (pointers.length > 0) schema['x-pointers'] = pointers;
  if (always.length > 0) schema['x-always'] = always;
  if (nulls.length > 0) schema['x-nulls'] = nulls;
}
const sorted = Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(
  new URL('../../src/devcluster/kinds/shapes/core-schemas.json', import.meta.url),
  `${JSON.stringify(sorted, null, 1)}\n`,
);
