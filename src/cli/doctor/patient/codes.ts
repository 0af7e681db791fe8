// Every check of `hostward doctor` by its code: its category and its title. docs/doctor.md has an anchor for each code, and a test
// compares both. A code keeps its meaning for ever; the number of a check that is gone is not given again.

export const categories = [
  'configuration',
  'virtual cluster',
  'host cluster',
  'vCluster',
  'rights',
  'replicas',
  'daemon',
  'management API',
  'active proof',
] as const;

export type Category = (typeof categories)[number];

interface CodeEntry {
  category: Category;
  title: string;
}

const table = {
  'HW-101': { category: 'configuration', title: 'the configuration is valid' },
  'HW-102': { category: 'configuration', title: 'the configuration has no warning' },
  'HW-103': { category: 'configuration', title: 'the files that the configuration names can be read' },
  'HW-104': { category: 'configuration', title: 'files with credentials are closed to other users' },
  'HW-105': { category: 'configuration', title: 'something is switched on' },
  'HW-106': { category: 'configuration', title: 'every API server must prove who it is' },
  'HW-201': { category: 'virtual cluster', title: 'the virtual cluster answers' },
  'HW-202': { category: 'virtual cluster', title: 'its version of Kubernetes is recent enough' },
  'HW-203': { category: 'virtual cluster', title: 'its clock agrees with the one of this machine' },
  'HW-204': { category: 'virtual cluster', title: 'no certificate or token on the way to it ends soon' },
  'HW-205': { category: 'virtual cluster', title: 'the virtual cluster goes on answering' },
  'HW-301': { category: 'host cluster', title: 'the host cluster answers' },
  'HW-302': { category: 'host cluster', title: 'its version of Kubernetes is recent enough' },
  'HW-303': { category: 'host cluster', title: 'its clock agrees with the one of this machine' },
  'HW-304': { category: 'host cluster', title: 'no certificate or token on the way to it ends soon' },
  'HW-305': { category: 'host cluster', title: 'host and virtual cluster are two clusters' },
  'HW-306': { category: 'host cluster', title: 'the namespace of the virtual cluster exists' },
  'HW-307': { category: 'host cluster', title: 'the namespaces of the mappings exist' },
  'HW-308': { category: 'host cluster', title: 'the Service that owns the copies exists' },
  'HW-309': { category: 'host cluster', title: 'the host mirrors Endpoints into EndpointSlices' },
  'HW-310': { category: 'host cluster', title: 'no copies of another virtual cluster' },
  'HW-311': { category: 'host cluster', title: 'the host cluster goes on answering' },
  'HW-312': { category: 'host cluster', title: 'no copies are left where a former mapping put them' },
  'HW-401': { category: 'vCluster', title: "vCluster's own sync is off in the configuration" },
  'HW-402': { category: 'vCluster', title: "vCluster's own sync is off where vCluster runs" },
  'HW-403': { category: 'vCluster', title: 'this version of vCluster knows sidecars' },
  'HW-404': { category: 'vCluster', title: 'the values name Hostward as a sidecar at most once' },
  'HW-501': { category: 'rights', title: 'rights in the virtual cluster' },
  'HW-502': { category: 'rights', title: 'rights on the host' },
  'HW-503': { category: 'rights', title: 'rights on EndpointSlices in the virtual cluster' },
  'HW-504': { category: 'rights', title: 'rights on EndpointSlices of the host' },
  'HW-505': { category: 'rights', title: 'rights on the lease' },
  'HW-506': { category: 'rights', title: 'no rights on the host that are not needed' },
  'HW-507': { category: 'rights', title: 'no rights in the virtual cluster that are not needed' },
  'HW-508': { category: 'rights', title: 'rights to install and uninstall' },
  'HW-601': { category: 'replicas', title: 'several replicas elect one that writes' },
  'HW-602': { category: 'replicas', title: 'the lease fits the configuration' },
  'HW-701': { category: 'daemon', title: 'the daemon on this machine is well' },
  'HW-702': { category: 'daemon', title: 'the listen addresses can be used' },
  'HW-703': { category: 'daemon', title: 'the data folder can be used' },
  'HW-801': { category: 'management API', title: 'the management server answers' },
  'HW-802': { category: 'management API', title: 'its certificate does not end soon' },
  'HW-803': { category: 'management API', title: 'the clusters behind it grant their rights' },
  'HW-804': { category: 'management API', title: 'the cluster of the records answers' },
  'HW-805': { category: 'management API', title: 'rights on the records' },
  'HW-806': { category: 'management API', title: 'nothing else is in the namespace of the records' },
  'HW-807': { category: 'management API', title: 'the records belong to this installation' },
  'HW-808': { category: 'management API', title: 'nobody else may change the records' },
  'HW-809': { category: 'management API', title: 'a drained node ends one replica at a time' },
  'HW-810': { category: 'management API', title: 'the store has room' },
  'HW-811': { category: 'management API', title: 'the replicas have one configuration' },
  'HW-812': { category: 'management API', title: 'the cluster of the records goes on answering' },
  'HW-813': { category: 'management API', title: 'no heartbeat waits behind the requests of others' },
  'HW-814': { category: 'management API', title: 'the replicas run on several nodes' },
  'HW-815': { category: 'management API', title: 'the cluster encrypts the records that it stores' },
  'HW-901': { category: 'active proof', title: 'test objects can be made in the virtual cluster' },
  'HW-902': { category: 'active proof', title: 'the copy of the Endpoints comes to the host' },
  'HW-903': { category: 'active proof', title: 'the copy of the EndpointSlice comes to the host' },
  'HW-904': { category: 'active proof', title: 'a change comes to the host' },
  'HW-905': { category: 'active proof', title: 'nothing is left behind' },
} as const satisfies Record<string, CodeEntry>;

export type Code = keyof typeof table;

export const codes = Object.keys(table) as Code[];

export function entryOf(code: Code): CodeEntry {
  return table[code];
}

export function isCode(text: string): text is Code {
  return Object.hasOwn(table, text);
}

/** The command that prints what the documentation says of the code. */
export function pageOf(code: Code): string {
  return `hostward docs doctor ${code}`;
}
