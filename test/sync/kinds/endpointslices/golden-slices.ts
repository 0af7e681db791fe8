import { hostName } from '../../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { theSix } from '../../../../src/sync/plan/keys/reserved-keys.ts';
import { withoutAnnotations } from '../../golden.ts';

export interface SliceCase {
  name: string;
  ownerServiceUid: string;
  virtual: { service: KubeObject | null; endpointSlice: KubeObject };
  host: KubeObject | null;
}

export interface SliceStep {
  step: string;
  unchanged?: boolean;
  virtual?: {
    service?: KubeObject | null;
    otherServices?: KubeObject[];
    endpoints?: KubeObject | null;
    endpointSlice: KubeObject | null;
  } | null;
  /** With kube-controller-manager, a map of all objects of the Service. */
  host?: object | null;
}

export interface SliceSequence {
  name: string;
  hostName: string;
  kubeControllerManager: string;
  steps: SliceStep[];
}

export interface SliceGolden {
  vcluster: string;
  hostNamespace: string;
  cases: SliceCase[];
  sequences: SliceSequence[];
}

export const serviceLabel = 'kubernetes.io/service-name';
export const managerLabel = 'endpointslice.kubernetes.io/managed-by';

interface Deviation {
  rule: string;
  change: (one: SliceCase) => KubeObject | null;
}

const hashed: Deviation = {
  rule: '3.18: the Service label is the real host name, hashed where that is hashed; vCluster’s is refused by the host',
  change: ({ virtual }) => copyOf(virtual.endpointSlice),
};

/** The cases in which our rules differ from the recorded vCluster beyond managed-by, with the number of the rule. */
const deviations: Record<string, Deviation> = {
  fqdn: { rule: '3.18: addressType FQDN is refused unless hostward.addressPolicy.fqdn allows it', change: () => null },
  'service-name-64-hashed': hashed,
  'service-name-65-hashed': hashed,
  'service-name-hashed-long-ns': hashed,
  'ns-long-and-service-long': hashed,
  'managed-by-slice-controller': {
    rule: '3.18: slices of the slice controller are never synced',
    change: () => null,
  },
  'label-ns-label': {
    rule: '3.9: reserved keys of a tenant cross in neither direction',
    change: ({ host }) => withoutLabels(host as KubeObject, /\/(ns-label-vc-x-ca8b22d0db|other)$/),
  },
  'annotations-vcluster-others': {
    rule: '3.9: reserved keys of a tenant are dropped, so none is listed as copied either',
    change: ({ host }) =>
      withoutAnnotations(host as KubeObject, (key) =>
        /\/(force-sync|skip-backsync|skip-translate|managed-annotations)$/.test(key),
      ),
  },
};

function withoutLabels(host: KubeObject, dropped: RegExp): KubeObject {
  const kept = Object.entries(host.metadata.labels ?? {}).filter(([key]) => !dropped.test(key));
  return { ...host, metadata: { ...host.metadata, labels: Object.fromEntries(kept) } };
}

/** Every host slice says that Hostward manages it; the tenant's value is in an annotation of ours. */
export function expectedSlice(one: SliceCase): { host: KubeObject | null; rule: string } {
  const deviation = deviations[one.name];
  const host = deviation === undefined ? one.host : deviation.change(one);
  const rule = deviation?.rule ?? 'the same bytes as vCluster, but for managed-by (3.18)';
  return { host: host && managed(host), rule };
}

export function managed(host: KubeObject): KubeObject {
  const labels = { ...host.metadata.labels, [managerLabel]: 'hostward.dev' };
  return { ...host, metadata: { ...host.metadata, labels } };
}

/** What a slice without anything special becomes; recorded cases without a host object have no other copy to compare with. */
export function copyOf(virtual: KubeObject): KubeObject {
  const { namespace = '', name = '', uid = '', labels = {} } = virtual.metadata;
  const at = { namespace: 'vcluster-vc', name: hostName({ namespace, name }, 'vc') };
  const service = hostName({ namespace, name: labels[serviceLabel] ?? '' }, 'vc');
  const [six, values] = [
    theSix,
    [name, namespace, uid, 'discovery.k8s.io/v1, Kind=EndpointSlice', at.name, at.namespace],
  ];
  return {
    ...virtual,
    metadata: {
      ...at,
      labels: {
        [serviceLabel]: service,
        'vcluster.loft.sh/managed-by': 'vc',
        'vcluster.loft.sh/namespace': namespace,
      },
      annotations: Object.fromEntries(six.map((key, nth) => [key, values[nth] as string])),
    },
  };
}

/** A host slice without the fields of the server, of the owner, and without our own annotations. */
export function tidySlice(object: KubeObject | null | undefined): object | null {
  if (object === null || object === undefined) return null;
  const { name, namespace, labels, annotations = {} } = object.metadata;
  const { addressType, endpoints, ports } = object;
  const kept = Object.entries(annotations).filter(([key]) => !key.startsWith('hostward.dev/'));
  return {
    name,
    namespace,
    labels,
    annotations: Object.fromEntries(kept),
    addressType,
    endpoints,
    ports: ports ?? null,
  };
}
