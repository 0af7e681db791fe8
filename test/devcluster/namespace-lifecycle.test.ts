import { expect, it } from 'vitest';
import type { AdmissionRequest } from '../../src/apiserver/kinds/kit.ts';
import { namespaceLifecycle } from '../../src/devcluster/namespace-lifecycle.ts';
import type { Store } from '../../src/store/store.ts';

const create = {
  operation: 'create',
  kind: { group: '', plural: 'configmaps', namespaced: true },
  namespace: 'shop',
  name: 'a',
} as unknown as AdmissionRequest;

/** A store that lags behind what another server has written. */
function lagging(value: string | undefined): Store {
  const record = value === undefined ? undefined : { key: '/registry/namespaces/shop', value };
  return {
    get: async (_: string, { fresh = false } = {}) => ({ record: fresh ? record : undefined }),
  } as unknown as Store;
}

it('knows a namespace that another server on the same store has just made', async () => {
  await expect(namespaceLifecycle(lagging('{"metadata":{}}'))(create)).resolves.toBeUndefined();
});

it('refuses a namespace that is nowhere', async () => {
  await expect(namespaceLifecycle(lagging(undefined))(create)).rejects.toThrow('namespaces "shop" not found');
});
