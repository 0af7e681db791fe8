// The PartialObjectMetadata form of an object, for clients that need only metadata.
import type { KubeObject } from '../../object/meta/object.ts';

export function partial(object: KubeObject): KubeObject {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
}
