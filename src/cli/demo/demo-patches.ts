// The three patches that the demo runs with: a pair, a wildcard and a reference. In words, as configuration, and as plain
// functions that say what the host ought to show, so that the board does not take the engine's word for it.
import { generatedName } from '../../object/meta/names.ts';
import type { KubeObject } from '../../object/meta/object.ts';

export const demoConfiguration = `
hostward:
  leaderElection: never
sync:
  toHost:
    endpoints:
      patches:
        - path: metadata.labels.team
          expression: '"demo-" + value'
          reverseExpression: value.replace(/^demo-/, "")
        - path: subsets[*].addresses[*].ip
          expression: value.replace(/^10\\.30\\./, "10.130.")
        - path: metadata.annotations["example.com/tls-secret"]
          reference:
            apiVersion: v1
            kind: Secret
`;

export const teamLabel = 'team';
export const secretAnnotation = 'example.com/tls-secret';

/** By place in the list of the configuration. */
export const patchWords: readonly string[] = [
  'label team, "demo-" in front, both ways',
  'addresses 10.30.* become 10.130.*',
  'tls-secret, the host name of the Secret',
];

/** A virtual object as its host copy ought to be, where patches touch it. */
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

/** The wildcard is for the ready ones only. */
function patchedSubset(subset: Subset): Subset {
  if (subset.addresses === undefined) return subset;
  return { ...subset, addresses: subset.addresses.map((address) => ({ ...address, ip: hostIp(address.ip) })) };
}

export function hostIp(ip: string): string {
  return ip.startsWith('10.30.') ? `10.130.${ip.slice('10.30.'.length)}` : ip;
}

/** A line for each patch: what it is for, and what it has done since the daemon was started. */
export function patchLines(totals: readonly { patch: number; values: number; changes: number; failures: number }[]) {
  return totals.map(({ patch, values, changes, failures }) => {
    const failed = failures === 0 ? '' : `, ${failures} failed`;
    return `patch ${patch}, ${patchWords[patch] ?? ''}: ${values} values, ${changes} changed${failed}`;
  });
}
