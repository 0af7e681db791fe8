// The Roles that we ship grant exactly what the suites before this one used on the host, as the audit log of the real API server has
// it: in one namespace and with mapped namespaces, with slices and references. A verb that is granted and was used by none is as wrong
// as one that is missing.
import { describe, expect, it } from 'vitest';
import { hostNamespace } from '../../contract/sync-stage/backend.ts';
import { ofEverybody, shippedRights, verbsOf } from '../../contract/sync-stage/every-verb.ts';
import type { RealBackend } from './sync-backend.ts';

export function shippedRolesSuite(backend: () => RealBackend): void {
  describe('the shipped Roles', () => {
    const used = async (isOurs: (namespace: string) => boolean) => {
      const all = (await backend().host.used()).filter(
        ({ namespace, resource }) => isOurs(namespace) && !ofEverybody.includes(resource),
      );
      return [...new Set(all.map(({ verb, resource }) => `${verb} ${resource}`))].sort();
    };

    it('grant exactly what was used in the namespace of the virtual cluster', async () => {
      expect(await used((namespace) => namespace === hostNamespace)).toEqual(verbsOf(shippedRights('role.yaml')));
    });

    it('grant exactly what was used elsewhere, with mapping', async () => {
      const elsewhere = shippedRights('cluster-role.yaml').filter(({ namespace }) => namespace === undefined);
      expect(await used((namespace) => namespace !== hostNamespace)).toEqual(verbsOf(elsewhere));
    });
  });
}
