// The three patches of the demo: a pair, a wildcard and a reference. They are here as words, as configuration, and as plain
// functions, so that the board can judge the host objects without the patch engine.
import { generatedName } from '../../object/meta/names.ts';
import type { KubeObject } from '../../object/meta/object.ts';

export const demoConfiguration = `
hostward:
  leaderElection: always
  leaseDurationSeconds: 5
  endpoints: {enabled: true}
sync:
  toHost:
    endpointSlices: {enabled: false}
    endpoints:
      enabled: false
      patches:
        - path: metadata.labels.team
          expression: '"demo-" + value'
          reverseExpression: value.match(/^demo-(.*)$/)[1]
        - path: subsets[*].addresses[*].ip
          expression: value.replace(/^10\\.30\\./, "10.130.")
        - path: metadata.annotations["example.com/tls-secret"]
          reference:
            apiVersion: v1
            kind: Secret
`;

export const teamLabel = 'team';
export const secretAnnotation = 'example.com/tls-secret';

/** In the order of the configuration. */
export const patchWords: readonly string[] = [
  'label team, "demo-" in front, both ways',
  'addresses 10.30.* become 10.130.*',
  'tls-secret, the host name of the Secret',
];

/** Applies the three patches to a virtual object, as the host copy should show them. */
export function asPatched(object: KubeObject, virtualClusterName: string): KubeObject {
  const { metadata } = object;
  const { labels, annotations, namespace = '' } = metadata;
  const team = labels?.[teamLabel];
  const secret = annotations?.[secretAnnotation];
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(team !== undefined && { labels: { ...labels, [teamLabel]: `demo-${team}` } }),
      ...(secret !== undefined && {
        annotations: {
          ...annotations,
          [secretAnnotation]: generatedName({ name: secret, namespace }, virtualClusterName),
        },
      }),
    },
    subsets: ((object['subsets'] ?? []) as Subset[]).map(patchedSubset),
  };
}

interface Subset {
  addresses?: { ip: string }[];
  notReadyAddresses?: { ip: string }[];
}

/** The path of the patch matches ready addresses only. */
function patchedSubset(subset: Subset): Subset {
  if (subset.addresses === undefined) return subset;
  return { ...subset, addresses: subset.addresses.map((address) => ({ ...address, ip: hostIp(address.ip) })) };
}

function hostIp(ip: string): string {
  return ip.startsWith('10.30.') ? `10.130.${ip.slice('10.30.'.length)}` : ip;
}

/** One line for each patch: its purpose, and its counts since the daemon started. */
export function patchLines(totals: readonly { patch: number; values: number; changes: number; failures: number }[]) {
  return totals.map(({ patch, values, changes, failures }) => {
    const failed = failures === 0 ? '' : `, ${failures} failed`;
    return `patch ${patch}, ${patchWords[patch] ?? ''}: ${values} values, ${changes} changed${failed}`;
  });
}
