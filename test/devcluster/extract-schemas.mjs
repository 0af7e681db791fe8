// Rewrites src/devcluster/core-schemas.json from the OpenAPI documents that lie in the sources of kubernetes:
//   node test/devcluster/extract-schemas.mjs $(go env GOMODCACHE)/k8s.io/kubernetes@v1.36.3
// Only names, types and merge hints are taken; what the fields mean is not.
import { readFileSync, writeFileSync } from 'node:fs';
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
  ],
  'apis__events.k8s.io__v1': ['Event'],
  'apis__discovery.k8s.io__v1': ['EndpointSlice'],
  'apis__coordination.k8s.io__v1': ['Lease'],
  'apis__authentication.k8s.io__v1': ['SelfSubjectReview', 'TokenReview', 'TokenRequest'],
  'apis__authorization.k8s.io__v1': [
    'LocalSubjectAccessReview',
    'SelfSubjectAccessReview',
    'SelfSubjectRulesReview',
    'SubjectAccessReview',
  ],
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

const [source] = process.argv.slice(2);
for (const [file, kinds] of Object.entries(wanted)) {
  const document = JSON.parse(readFileSync(join(source, 'api/openapi-spec/v3', `${file}_openapi.json`), 'utf8'));
  const { schemas } = document.components;
  for (const [name, schema] of Object.entries(schemas)) {
    const gvks = schema['x-kubernetes-group-version-kind'] ?? [];
    if (gvks.some(({ kind }) => kinds.includes(kind))) take(name, schemas);
  }
}
const sorted = Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(
  new URL('../../src/devcluster/core-schemas.json', import.meta.url),
  `${JSON.stringify(sorted, null, 1)}\n`,
);
