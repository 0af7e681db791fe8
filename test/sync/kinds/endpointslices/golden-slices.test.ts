import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { hostName } from '../../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { hostNamespace, SliceWorld } from './fake-slices.ts';
import { expectedSlice, managerLabel, type SliceGolden, tidySlice } from './golden-slices.ts';

const file = new URL('../../../../fixtures/sync/golden-slices.json', import.meta.url);
const golden: SliceGolden = JSON.parse(readFileSync(file, 'utf8'));

describe('the recorded slices of a running vCluster', () => {
  it('are all there', () => {
    expect(golden.cases).toHaveLength(47);
  });

  it.each(golden.cases)('$name', async (one) => {
    const { service, endpointSlice } = one.virtual;
    const world = new SliceWorld({ mirrored: 'always' });
    const owner = world.host.get('services', hostNamespace, 'vc') as KubeObject;
    world.host.put('services', { ...owner, metadata: { ...owner.metadata, uid: one.ownerServiceUid } });
    if (service !== null) world.put(service);
    world.put(endpointSlice);
    await world.runSlices();
    const { namespace = '', name = '' } = endpointSlice.metadata;
    const copy = world.host.get('endpointslices', hostNamespace, hostName({ namespace, name }, 'vc'));
    const { host, rule } = expectedSlice(one);
    expect(tidySlice(copy), rule).toEqual(tidySlice(host));
    if (one.host !== null && host !== null)
      expect(copy?.metadata.ownerReferences).toEqual(one.host.metadata.ownerReferences);
    if (copy !== undefined)
      expect(copy.metadata.annotations?.['hostward.dev/managed-by']).toBe(
        endpointSlice.metadata.labels?.[managerLabel],
      );
  });
});
