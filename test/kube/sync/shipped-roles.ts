// The Roles that we ship grant exactly what daemons used on the host, as the audit log of the real API server has it: in one namespace
// and with mapped namespaces, with slices and references. A verb that is granted and was used by none is as wrong as one that is missing.
import { describe, expect, it } from 'vitest';
import type { RecordedRequest } from '../../contract/sync-stage/backend.ts';
import { ofEverybody, shippedRights, verbsOf } from '../../contract/sync-stage/every-verb.ts';

/** The namespaces of virtual clusters, in all suites. */
const isHome = (namespace: string): boolean => /^vcluster-/.test(namespace);

/** `used` returns what was used by everybody who counts. */
export function shippedRolesSuite(used: () => Promise<readonly RecordedRequest[]>): void {
  describe('the shipped Roles', () => {
    const verbsIn = async (isOurs: (namespace: string) => boolean) => {
      const all = (await used()).filter(
        ({ namespace, resource }) => isOurs(namespace) && !ofEverybody.includes(resource),
      );
      return [...new Set(all.map(({ verb, resource }) => `${verb} ${resource}`))].sort();
    };

    it('grant exactly what was used in the namespace of the virtual cluster', async () => {
      expect(await verbsIn(isHome)).toEqual(verbsOf(shippedRights('role.yaml')));
    });

    it('grant exactly what was used elsewhere, with mapping', async () => {
      const elsewhere = shippedRights('cluster-role.yaml').filter(({ namespace }) => namespace === undefined);
      expect(await verbsIn((namespace) => !isHome(namespace))).toEqual(verbsOf(elsewhere));
    });
  });
}
