// The sample objects of the demo, and the change of each second. Data and pure functions: the same number always gives the
// same change.
import type { KubeObject } from '../../object/meta/object.ts';
import { secretAnnotation } from './demo-patches.ts';
import { endpointsObject, subsetsOf } from './demo-story.ts';

export interface Sample {
  namespace: string;
  name: string;
  /** Third octet of the addresses, so that a reader can tell the rows apart. */
  network: number;
  labels: Record<string, string>;
  annotations?: Record<string, string>;
}

export const samples: readonly Sample[] = [
  { namespace: 'default', name: 'legacy-billing', network: 1, labels: { app: 'billing', team: 'finance' } },
  {
    namespace: 'shop',
    name: 'database',
    network: 2,
    labels: { app: 'database', tier: 'gold', team: 'shop' },
    annotations: { [secretAnnotation]: 'database-tls' },
  },
  { namespace: 'shop', name: 'search', network: 3, labels: { app: 'search' } },
  { namespace: 'payments', name: 'mainframe', network: 4, labels: { app: 'mainframe', release: '2026-11' } },
  { namespace: 'payments', name: 'fraud-check', network: 5, labels: { app: 'fraud' } },
  {
    namespace: 'observability',
    name: 'time-series-storage-of-the-old-data-center',
    network: 6,
    labels: { app: 'metrics' },
  },
];

export const sampleNamespaces: readonly string[] = [...new Set(samples.map((sample) => sample.namespace))];

export function firstEndpoints(sample: Sample): KubeObject {
  const { namespace, name, labels, annotations } = sample;
  const object = endpointsObject(namespace, name, addressesAt(sample, 0), labels);
  return annotations === undefined ? object : { ...object, metadata: { ...object.metadata, annotations } };
}

export interface SampleChange {
  sample: Sample;
  mergePatch: object;
}

/** Changes one sample after the other: its addresses in most rounds, a label in every fourth. */
export function changeAt(tick: number): SampleChange {
  const sample = samples[tick % samples.length] as Sample;
  const round = Math.floor(tick / samples.length) + 1;
  const isLabelRound = round % 4 === 0;
  const mergePatch = isLabelRound
    ? { metadata: { labels: { round: String(round) } } }
    : { subsets: subsetsOf(...addressesAt(sample, round)) };
  return { sample, mergePatch };
}

/** Gives two to four addresses, others in every round. */
function addressesAt(sample: Sample, round: number): string[] {
  const count = 2 + (round % 3);
  return Array.from({ length: count }, (_, index) => `10.30.${sample.network}.${1 + ((round * 3 + index) % 250)}`);
}
