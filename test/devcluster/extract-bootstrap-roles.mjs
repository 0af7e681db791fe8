// Rewrites src/devcluster/rbac/bootstrap-roles.json from the expected roles in the sources of Kubernetes:
//   node test/devcluster/extract-bootstrap-roles.mjs $(go env GOMODCACHE)/k8s.io kubernetes@v1.36.3
// Takes the roles that people bind, the parts that these roles gather, and the roles that every user has.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const roles = [
  'admin',
  'cluster-admin',
  'edit',
  'system:aggregate-to-admin',
  'system:aggregate-to-edit',
  'system:aggregate-to-view',
  'system:basic-user',
  'system:discovery',
  'system:public-info-viewer',
  'view',
];

const [modules, kubernetes] = process.argv.slice(2);
const folder = join(modules, kubernetes, 'plugin/pkg/auth/authorizer/rbac/bootstrappolicy/testdata');

function taken(file, isWanted) {
  const { items } = parse(readFileSync(join(folder, file), 'utf8'));
  return items.filter(isWanted).map(({ apiVersion: _apiVersion, kind: _kind, metadata, ...rest }) => {
    const { creationTimestamp: _created, ...kept } = metadata;
    return { metadata: kept, ...rest };
  });
}

const wanted = {
  clusterroles: taken('cluster-roles.yaml', ({ metadata }) => roles.includes(metadata.name)),
  clusterrolebindings: taken('cluster-role-bindings.yaml', ({ roleRef }) => roles.includes(roleRef.name)),
};
writeFileSync(
  new URL('../../src/devcluster/rbac/bootstrap-roles.json', import.meta.url),
  `${JSON.stringify(wanted, null, 1)}\n`,
);
