// A real API server must accept every manifest that we ship.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { kubeAssets } from '../start/assets.ts';
import { type KubeCluster, startKube } from '../start/start.ts';

const folder = fileURLToPath(new URL('../../../config/', import.meta.url));
const assets = kubeAssets();

interface Manifest {
  kind?: string;
  apiVersion?: string;
  metadata?: { namespace?: string };
}

function documents(file: string): Manifest[] {
  return parseAllDocuments(readFileSync(join(folder, file), 'utf8'))
    .map((document) => document.toJS() as Manifest | null)
    .filter((document) => document !== null);
}

/** The folder also has sample configurations and Helm values; only manifests have a kind. */
function isManifest(file: string): boolean {
  return documents(file).some((document) => document.apiVersion !== undefined && document.kind !== undefined);
}

const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.ya?ml$/.test(file))
  // Templates are no YAML, and a kustomization is no object: chart.test.ts applies what both make.
  .filter((file) => !file.startsWith('chart/') && file !== 'kustomization.yaml')
  .sort();
const manifests = files.filter(isManifest);

describe.skipIf(assets.found === undefined)(
  `the manifests of config/${assets.found === undefined ? ` (skipped: ${assets.reason})` : ''}`,
  () => {
    let cluster: KubeCluster | undefined;

    beforeAll(async () => {
      cluster = await startKube({ name: 'manifests' });
      // A dry run stores no object, so the namespaces of the manifests must exist before.
      const namespaces = new Set(manifests.flatMap(documents).map((document) => document.metadata?.namespace));
      for (const namespace of namespaces)
        if (namespace !== undefined) await cluster.kubectl('create', 'namespace', namespace);
    });
    afterAll(() => cluster?.stop());

    it('exist', () => {
      expect(manifests).not.toEqual([]);
    });

    it.each(manifests)('%s is accepted without a warning', async (file) => {
      const result = await cluster?.kubectl('apply', '--dry-run=server', '--validate=strict', '-f', join(folder, file));
      expect(result).toMatchObject({ code: 0, stderr: '' });
    });
  },
);
