// What the tests of slices begin with: labels of Kubernetes, edits on either side, and a world that has run.
import type { KubeObject } from '../../../../../src/object/meta/object.ts';
import { SliceWorld } from '../fake-slices.ts';

export const serviceLabel = 'kubernetes.io/service-name';

export const managerLabel = 'endpointslice.kubernetes.io/managed-by';

export const mirroring = 'endpointslicemirroring-controller.k8s.io';

export function edit(world: SliceWorld, name: string, change: (object: KubeObject) => void): void {
  const object = structuredClone(world.virtual.get('endpointslices', 'default', name) as KubeObject);
  change(object);
  world.virtual.put('endpointslices', object);
}

export function editCopy(world: SliceWorld, name: string, change: (object: KubeObject) => void): void {
  const object = structuredClone(world.sliceCopy(name) as KubeObject);
  change(object);
  world.host.put('endpointslices', object);
}

/** The Services of these tests have no selector. */
export async function started(objects: KubeObject[], how = {}): Promise<SliceWorld> {
  const world = new SliceWorld(how);
  world.put(...objects);
  return world.runSlices();
}
