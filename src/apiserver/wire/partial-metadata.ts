// An object with everything but its metadata left out, for clients that ask for no more.
import type { KubeObject } from '../../object/meta/object.ts';

export function partial(object: KubeObject): KubeObject {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
}
