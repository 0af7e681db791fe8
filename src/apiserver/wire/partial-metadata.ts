// The PartialObjectMetadata form of an object, for clients that need only metadata.
import type { KubeObject } from '../../object/meta/object.ts';
import type { Negotiated } from '../request/negotiate.ts';

export function partial(object: Pick<KubeObject, 'metadata'>, { formVersion }: Negotiated): KubeObject {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${formVersion}`, metadata: object.metadata };
}
