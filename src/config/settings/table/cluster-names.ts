// Determines the name of the virtual cluster and its namespace on the host: from a flag, the environment or a file, and the
// namespace also from the service account of the pod. A missing name is a fault, because a wrong one would misplace objects.

import { type Fault, fault, quoted, warning } from '../../fault.ts';
import { showPath } from '../../yaml/settings-path.ts';
import { find, type TreeNode } from '../../yaml/tree.ts';
import { dnsLabelWords, isDnsLabel } from '../text-rules.ts';
import { positionOfNode } from './check.ts';

export interface Environment {
  readonly VCLUSTER_NAME?: string | undefined;
  readonly NAMESPACE?: string | undefined;
}

export interface Flags {
  virtualClusterName?: string | undefined;
  hostNamespace?: string | undefined;
  virtualKubeconfig?: string | undefined;
  hostKubeconfig?: string | undefined;
}

export interface NameSources {
  flags?: Flags | undefined;
  environment?: Environment | undefined;
  /** The text of the file that holds the namespace of the pod. */
  serviceAccountNamespace?: string | undefined;
}

export interface ClusterNames {
  virtualClusterName: string;
  hostNamespace: string;
  faults: Fault[];
  warnings: Fault[];
}

interface NameRow {
  key: 'virtualClusterName' | 'hostNamespace';
  what: string;
  flag: string;
  variable: 'VCLUSTER_NAME' | 'NAMESPACE';
}

const wantedNames: readonly NameRow[] = [
  {
    key: 'virtualClusterName',
    what: 'the name of the virtual cluster',
    flag: '--vcluster-name',
    variable: 'VCLUSTER_NAME',
  },
  {
    key: 'hostNamespace',
    what: 'the namespace on the host',
    flag: '--host-namespace',
    variable: 'NAMESPACE',
  },
];

/** The names in `inFile` are checked already; `own` is the tree that holds them. */
export function clusterNames(
  sources: NameSources,
  inFile: { virtualClusterName?: string | undefined; hostNamespace?: string | undefined },
  own: TreeNode | undefined,
): ClusterNames {
  const names: ClusterNames = { virtualClusterName: '', hostNamespace: '', faults: [], warnings: [] };
  for (const wanted of wantedNames) {
    const flag = sources.flags?.[wanted.key] || undefined;
    const variable = sources.environment?.[wanted.variable] || undefined;
    const outside = flag ?? variable;
    const inPod = wanted.key === 'hostNamespace' ? sources.serviceAccountNamespace?.trim() || undefined : undefined;
    const name = outside ?? inFile[wanted.key] ?? inPod;
    if (outside !== undefined && inFile[wanted.key] !== undefined && inFile[wanted.key] !== outside)
      names.warnings.push(overruled(wanted, outside, flag !== undefined, own));
    if (name === undefined) names.faults.push(missing(wanted));
    else if (!isDnsLabel(name)) names.faults.push(notALabel(wanted, name, flag, variable));
    else names[wanted.key] = name;
  }
  return names;
}

/** For a configuration that syncs nothing. Only flags are spoken of: the environment may hold the names for other programs. */
export function unwantedNames({ flags }: NameSources): ClusterNames {
  const warnings = wantedNames.flatMap(({ key, flag }) => {
    const name = flags?.[key];
    if (!name) return [];
    const sentence = `${quoted(name)} is not used, because the configuration asks for no sync of a virtual cluster`;
    const fix = 'leave it out, or add a file that sets hostward.endpoints.enabled to true';
    return warning({ code: 'CONFIG_NAME_UNUSED', path: flag, sentence, fix });
  });
  return { virtualClusterName: '', hostNamespace: '', faults: [], warnings };
}

function missing({ key, what, flag, variable }: NameRow): Fault {
  const fix = `give ${flag}, set ${variable}, or set hostward.${key}`;
  return fault({ code: 'CONFIG_NAME_MISSING', sentence: `${what} is not given`, fix });
}

function notALabel({ key, flag, variable }: NameRow, name: string, byFlag?: string, byVariable?: string): Fault {
  const path = byFlag !== undefined ? flag : byVariable !== undefined ? variable : key;
  return fault({ code: 'CONFIG_NAME_WRONG', path, found: quoted(name), wanted: dnsLabelWords });
}

function overruled({ key, flag, variable }: NameRow, name: string, isFlag: boolean, own: TreeNode | undefined): Fault {
  const node = find(own, [key]);
  return warning({
    code: 'CONFIG_NAME_OVERRULED',
    at: node === undefined ? undefined : positionOfNode(node),
    path: showPath(['hostward', key]),
    sentence: `${isFlag ? flag : variable} is ${quoted(name)} and overrides this value`,
    fix: 'remove one of the two',
  });
}
