// The rows of the settings table for the management API, hostward.management. The rules that concern several settings are
// in management-rules.ts.
import type { FileContent, Setting, SettingShape } from './setting.ts';
import { storeRows } from './store-rows.ts';

const block = 'hostward.management';
const live = { field: 'management', change: 'live' } as const;
const start = { field: 'managementServer', change: 'restart' } as const;

const list: SettingShape = { kind: 'list' };
const map: SettingShape = { kind: 'map' };
const boolean: SettingShape = { kind: 'boolean' };
const fileOf = (holds: FileContent): SettingShape => ({ kind: 'text', rule: 'file', holds });
const label: SettingShape = { kind: 'text', rule: 'name' };
const identity: SettingShape = { kind: 'text', rule: 'identity' };
const identities: SettingShape = { kind: 'texts', rule: 'identity' };
const url: SettingShape = { kind: 'text', rule: 'url' };
const listen: SettingShape = { kind: 'text', rule: 'listen' };

/** A hundred years, which is also the longest ttl of a key. */
const longestTTLSeconds = 3_153_600_000;
const seconds: SettingShape = { kind: 'integer', from: 0, to: longestTTLSeconds };

/** The quota protects the store, so it can be large but not absent. */
const mostKeysPerOwner = 1_000_000;
/** Six terabytes: more is a slip. */
const mostAuditFiles = 100_000;

function certificateRows(path: string, about: string, taken: typeof live | typeof start = live): Setting[] {
  return [
    { path, shape: map, ...taken, about },
    {
      path: `${path}.certificate`,
      shape: fileOf('certificate'),
      required: true,
      ...taken,
      about: 'PEM file with the certificates.',
    },
    {
      path: `${path}.key`,
      shape: fileOf('private-key'),
      required: true,
      ...taken,
      about: 'PEM file with the private key.',
    },
  ];
}

function memberRows(members: string, about: string): Setting[] {
  const of = `${members}[]`;
  return [
    { path: members, shape: list, default: [], ...live, about },
    { path: `${of}.user`, shape: identity, ...live, about: 'A user. One of user, team and group.' },
    { path: `${of}.team`, shape: label, ...live, about: 'A team.' },
    { path: `${of}.group`, shape: identity, ...live, about: 'All users in this group.' },
  ];
}

const serverRows: Setting[] = [
  {
    path: `${block}.listen`,
    shape: listen,
    default: '127.0.0.1:8443',
    ...start,
    about: 'Where the management API is served, always over TLS.',
  },
  {
    path: `${block}.baseURL`,
    shape: url,
    defaultWords: '`https://localhost` with the port of `listen`',
    ...start,
    about: 'Address that clients use; it is in kubeconfigs and tokens.',
  },
  {
    path: `${block}.dataDir`,
    shape: { kind: 'text', rule: 'folder' },
    default: '.hostward/management',
    ...start,
    about: 'Folder of the database, the peppers, the token keys and the own CA. Only its owner may read it.',
  },
  ...storeRows,
  {
    path: `${block}.ingressListen`,
    shape: listen,
    defaultWords: 'off',
    ...start,
    about: 'Where virtual clusters with `servedBy: hostward` are served, chosen by TLS server name.',
  },
  ...certificateRows(
    `${block}.tls`,
    'Certificate of the management API instead of one of the own CA. The files are read again when they change.',
    start,
  ),
];

const peopleRows: Setting[] = [
  {
    path: `${block}.generation`,
    shape: { kind: 'integer', from: 0, to: Number.MAX_SAFE_INTEGER },
    default: 0,
    ...live,
    about:
      'Which configuration is the newest, where several replicas have one each: the highest rules about administrators, users, teams, clusters and projects. The chart writes the revision of the release.',
  },
  {
    path: `${block}.administrators.users`,
    shape: identities,
    default: [],
    ...live,
    about: 'Users who may do everything, through keys without scope. The user `admin` is built in.',
  },
  {
    path: `${block}.administrators.groups`,
    shape: identities,
    default: [],
    ...live,
    about: 'Groups whose members may do everything, through keys without scope.',
  },
  { path: `${block}.users`, shape: list, default: [], ...live, about: 'The people and programs that have keys.' },
  { path: `${block}.users[].name`, shape: identity, required: true, ...live, about: 'Name of the user.' },
  { path: `${block}.users[].groups`, shape: identities, default: [], ...live, about: 'Groups that the user is in.' },
  {
    path: `${block}.users[].disabled`,
    shape: boolean,
    default: false,
    ...live,
    about: 'Every key of the user is refused.',
  },
  { path: `${block}.teams`, shape: list, default: [], ...live, about: 'Users who own keys and rights together.' },
  { path: `${block}.teams[].name`, shape: label, required: true, ...live, about: 'Name of the team.' },
  { path: `${block}.teams[].users`, shape: identities, default: [], ...live, about: 'Users in the team.' },
  {
    path: `${block}.teams[].groups`,
    shape: identities,
    default: [],
    ...live,
    about: 'Groups whose members are in the team.',
  },
];

const clusters = `${block}.clusters`;
const clusterRows: Setting[] = [
  { path: clusters, shape: list, default: [], ...live, about: 'Host clusters with a direct endpoint.' },
  { path: `${clusters}[].name`, shape: label, required: true, ...live, about: 'Name of the cluster.' },
  {
    path: `${clusters}[].kubeconfig`,
    shape: fileOf('kubeconfig'),
    ...live,
    about: 'How the cluster is reached. Without it nothing is proxied there.',
  },
  ...memberRows(`${clusters}[].members`, 'Who may use the direct endpoint of the cluster.'),
];

const projects = `${block}.projects`;
const virtualClusters = `${projects}[].virtualClusters`;
const projectRows: Setting[] = [
  { path: projects, shape: list, default: [], ...live, about: 'Projects. The namespace of a project is `p-NAME`.' },
  { path: `${projects}[].name`, shape: label, required: true, ...live, about: 'Name of the project.' },
  ...memberRows(`${projects}[].members`, 'Members of the project and their roles.'),
  {
    path: `${projects}[].members[].role`,
    shape: { kind: 'choice', of: ['viewer', 'user', 'admin'] },
    required: true,
    ...live,
    about: '`viewer` sees the instances, `user` also reaches them, `admin` also gets client certificates.',
  },
  { path: virtualClusters, shape: list, default: [], ...live, about: 'Virtual clusters of the project.' },
  { path: `${virtualClusters}[].name`, shape: label, required: true, ...live, about: 'Name of the virtual cluster.' },
  {
    path: `${virtualClusters}[].kubeconfig`,
    shape: fileOf('kubeconfig'),
    ...live,
    about: 'How the virtual cluster is reached. Without it nothing is proxied there.',
  },
  {
    path: `${virtualClusters}[].ingress`,
    shape: map,
    ...live,
    about: 'Endpoint at which clients reach the virtual cluster. Without it there is no kubeconfig of it.',
  },
  {
    path: `${virtualClusters}[].ingress.server`,
    shape: url,
    required: true,
    ...live,
    about: 'Address of the endpoint.',
  },
  {
    path: `${virtualClusters}[].ingress.servedBy`,
    shape: { kind: 'choice', of: ['virtualCluster', 'hostward'] },
    default: 'virtualCluster',
    ...live,
    about: 'Who answers there. `hostward` needs `ingressListen`.',
  },
  {
    path: `${virtualClusters}[].ingress.certificateAuthority`,
    shape: fileOf('authorities'),
    ...live,
    about: 'PEM file with the certificates that the endpoint is trusted by.',
  },
  ...certificateRows(`${virtualClusters}[].ingress.tls`, 'Certificate of the endpoint where Hostward serves it.'),
  ...certificateRows(
    `${virtualClusters}[].signing`,
    'CA of the virtual cluster, where client certificates are to be signed with it instead of by its CSR API.',
  ),
  {
    path: `${virtualClusters}[].clientCert.clusterRole`,
    shape: identity,
    default: 'cluster-admin',
    ...live,
    about: 'ClusterRole in the virtual cluster that a client certificate is bound to.',
  },
  {
    path: `${virtualClusters}[].clientCert.maxTTL`,
    shape: seconds,
    default: 0,
    ...live,
    about: 'Longest life of a client certificate in seconds. 0 is no limit of our own.',
  },
  { path: `${projects}[].spaces`, shape: list, default: [], ...live, about: 'Namespaces of host clusters.' },
  { path: `${projects}[].spaces[].name`, shape: label, required: true, ...live, about: 'Name of the space.' },
  {
    path: `${projects}[].spaces[].cluster`,
    shape: label,
    required: true,
    ...live,
    about: 'Cluster that the space is in; one of `clusters`.',
  },
  { path: `${projects}[].spaces[].namespace`, shape: label, required: true, ...live, about: 'Namespace there.' },
];

const limitRows: Setting[] = [
  {
    path: `${block}.keys.maxTTL`,
    shape: seconds,
    default: 0,
    ...live,
    about: 'Longest ttl of a key in seconds, and the ttl of a key that names none. 0 is no limit.',
  },
  {
    path: `${block}.keys.requireExpiry`,
    shape: boolean,
    default: false,
    ...live,
    about: 'A key must have a ttl.',
  },
  {
    path: `${block}.keys.allowSupplied`,
    shape: boolean,
    default: false,
    ...live,
    about: 'All users may supply the value of a key, not only administrators.',
  },
  {
    path: `${block}.keys.perOwner`,
    shape: { kind: 'integer', from: 1, to: mostKeysPerOwner },
    default: 1000,
    ...live,
    about: 'Keys that one user, team or subject may have.',
  },
  {
    path: `${block}.kubeconfigs.allowedServers`,
    shape: { kind: 'texts', rule: 'hostOrAddress' },
    default: [],
    ...live,
    about: 'Host names or IP addresses that `spec.server` of a kubeconfig may have. Empty is all.',
  },
  {
    path: `${block}.audit.reads`,
    shape: boolean,
    default: false,
    ...live,
    about: 'Reading requests are in the audit log too.',
  },
  {
    path: `${block}.audit.keepFiles`,
    shape: { kind: 'integer', from: 0, to: mostAuditFiles },
    // With the file that is written 704 MiB: fits a volume of 1 GiB next to the database.
    default: 10,
    ...live,
    about: 'Full files of the audit log, each of 64 MiB, that stay beside the one that is written. 0 keeps all.',
  },
];

export const managementRows: readonly Setting[] = [
  {
    path: block,
    shape: map,
    ...live,
    about: 'The management API. Alone in a file, nothing is synced and no virtual cluster needs a name.',
  },
  ...serverRows,
  ...peopleRows,
  ...clusterRows,
  ...projectRows,
  ...limitRows,
];
