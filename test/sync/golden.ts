import type { KubeObject } from '../../src/object/meta/object.ts';

export interface GoldenSide {
  service: KubeObject | null;
  endpoints: KubeObject | null;
}

export interface GoldenCase {
  name: string;
  ownerServiceUid: string;
  virtual: { service: KubeObject | null; endpoints: KubeObject };
  host: KubeObject | null;
  /** Both objects as they were created, before the recorded edit. */
  before?: { virtual: GoldenSide; host: KubeObject };
}

export interface GoldenSequence {
  name: string;
  ownerServiceUid: string;
  steps: { step: string; virtual: GoldenSide | null; host: KubeObject | null }[];
}

export interface Golden {
  vcluster: string;
  hostNamespace: string;
  cases: GoldenCase[];
  sequences: GoldenSequence[];
}

/** The cases in which our rules differ from the recorded vCluster, with the number of the rule. */
const deviations: Record<string, { rule: string; change: (host: KubeObject) => KubeObject | null }> = {
  'annotations-vcluster-others': {
    rule: 'rule 9: reserved keys of a tenant are dropped, so none is listed as copied either',
    change: (host) =>
      withoutAnnotations(host, (key) => /\/(force-sync|skip-backsync|skip-translate|managed-annotations)$/.test(key)),
  },
  'service-with-selector': {
    rule: 'rule 2: the recorded host object is the host controller’s own, not a copy',
    change: () => null,
  },
  'upd-reserved-labels': {
    rule: 'rule 9: a reserved key that is not one of the rewritten ones is dropped, on update as on create',
    change: (host) => {
      const labels = { ...host.metadata.labels };
      delete labels['vcluster.loft.sh/label-vc-x-a4d451ec23'];
      return { ...host, metadata: { ...host.metadata, labels } };
    },
  },
};

export function expectedHost(one: GoldenCase): { host: KubeObject | null; rule: string } {
  const deviation = deviations[one.name];
  if (deviation === undefined || one.host === null)
    return { host: one.host, rule: 'rule 1: the same bytes as vCluster' };
  return { host: deviation.change(one.host), rule: deviation.rule };
}

export function withoutAnnotations(host: KubeObject, isDropped: (key: string) => boolean): KubeObject {
  const kept = Object.entries(host.metadata.annotations ?? {}).filter(([key]) => !isDropped(key));
  return { ...host, metadata: { ...host.metadata, annotations: Object.fromEntries(kept) } };
}
