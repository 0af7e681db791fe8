// The Roles that we ship grant what the suites before this one used on the host, as the audit log of the real API server has it. That
// they grant nothing more is not shown here: no suite tries slices and references with namespace mapping.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { hostNamespace } from '../../contract/sync-stage/backend.ts';
import type { RealBackend } from './sync-backend.ts';

interface Manifest {
  readonly kind: string;
  readonly rules?: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[];
}

/** Rules that are comment signs away, too: they stand in the file for people who use references. */
function shipped(file: string, kind: string): string[] {
  const text = readFileSync(join(import.meta.dirname, '..', '..', '..', 'config', file), 'utf8');
  const withReferences = text.replace(/^( *)# (- apiGroups| {2}resources| {2}verbs)/gm, '$1$2');
  return parseAllDocuments(withReferences)
    .map((document) => document.toJS() as Manifest)
    .filter((manifest) => manifest.kind === kind)
    .flatMap(({ rules = [] }) => rules)
    .flatMap(({ resources, verbs }) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)))
    .sort();
}

/** Everybody who is authenticated may ask about himself. */
const ofEverybody = ['selfsubjectaccessreviews', ''];

export function shippedRolesSuite(backend: () => RealBackend): void {
  describe('the shipped Roles', () => {
    const used = async (isOurs: (namespace: string) => boolean) => {
      const all = (await backend().host.used()).filter(
        ({ namespace, resource }) => isOurs(namespace) && !ofEverybody.includes(resource),
      );
      return [...new Set(all.map(({ verb, resource }) => `${verb} ${resource}`))].sort();
    };

    it.each([
      [
        'in the namespace of the virtual cluster',
        'role.yaml',
        'Role',
        (namespace: string) => namespace === hostNamespace,
      ],
      [
        'elsewhere, with mapping',
        'cluster-role.yaml',
        'ClusterRole',
        (namespace: string) => namespace !== hostNamespace,
      ],
    ] as const)('grant everything that was used %s', async (_, file, kind, isOurs) => {
      const all = await used(isOurs);
      expect(all).toContain('create endpoints');
      expect(shipped(file, kind)).toEqual(expect.arrayContaining(all));
    });
  });
}
