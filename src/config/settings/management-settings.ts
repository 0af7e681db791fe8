// The settings of hostward.management for all other rooms: complete and checked, with all defaults. The part that a running
// daemon can change and the part that needs a restart are separate values.

export interface ConfiguredCertificate {
  certificate: string;
  key: string;
}

/** Exactly one of the three is set. */
export interface ManagementMember {
  user?: string;
  team?: string;
  group?: string;
}

export type ProjectRole = 'viewer' | 'user' | 'admin';

export interface ProjectMember extends ManagementMember {
  role: ProjectRole;
}

export interface ManagementUser {
  name: string;
  groups: readonly string[];
  disabled: boolean;
}

export interface ManagementTeam {
  name: string;
  users: readonly string[];
  groups: readonly string[];
}

export interface ManagementCluster {
  name: string;
  kubeconfig?: string;
  members: readonly ManagementMember[];
}

export interface ManagementIngress {
  server: string;
  servedBy: 'virtualCluster' | 'hostward';
  certificateAuthority?: string;
  tls?: ConfiguredCertificate;
}

/** The CSR API refuses certificates with a shorter life. */
export const shortestCertificateSeconds = 600;

export interface ManagementVirtualCluster {
  name: string;
  kubeconfig?: string;
  ingress?: ManagementIngress;
  signing?: ConfiguredCertificate;
  clientCert: { clusterRole: string; maxTTL: number };
}

export interface ManagementSpace {
  name: string;
  cluster: string;
  namespace: string;
}

export interface ManagementProject {
  name: string;
  members: readonly ProjectMember[];
  virtualClusters: readonly ManagementVirtualCluster[];
  spaces: readonly ManagementSpace[];
}

export interface KeyLimits {
  /** Seconds; 0 = no limit. */
  maxTTL: number;
  requireExpiry: boolean;
  allowSupplied: boolean;
  perOwner: number;
}

/** The running daemon applies changes of these settings. */
export interface ManagementSettings {
  /** Of several replicas, the one with the highest rules about all that follows up to the projects. Absent = 0. */
  generation?: number;
  administrators: { users: readonly string[]; groups: readonly string[] };
  users: readonly ManagementUser[];
  teams: readonly ManagementTeam[];
  clusters: readonly ManagementCluster[];
  projects: readonly ManagementProject[];
  keys: KeyLimits;
  audit: { reads: boolean /** Full files that stay; 0 = all. */; keepFiles: number };
  /** Host names that spec.server of a kubeconfig may have; empty = all. */
  kubeconfigs: { allowedServers: readonly string[] };
}

/** Keeps the records in a namespace of a cluster, for more than one replica. */
export interface KubernetesStoreSettings {
  /** Undefined = the service account of the pod. */
  kubeconfig?: string;
  namespace: string;
}

export interface StoreSettings {
  kubernetes?: KubernetesStoreSettings;
  maxRecords: number;
  maxBytes: number;
}

/** Changes of these settings need a restart. */
export interface ManagementServerSettings {
  /** HOST:PORT. */
  listen: string;
  /** Without a slash at its end. */
  baseURL: string;
  dataDir: string;
  /** Undefined = dataDir. Equal for all replicas: peppers, keys of tokens, own authorities. */
  secretsDir?: string;
  /** Undefined = a SQLite file in dataDir. */
  store?: StoreSettings;
  ingressListen: string | undefined;
  /** Undefined = a certificate of a CA that Hostward makes itself. The files are read again when they change. */
  tls?: ConfiguredCertificate;
}

/** The value that the checker builds from the rows of management-rows.ts, which guarantee this type. */
export type ManagementValues = ManagementSettings & {
  listen: string;
  baseURL?: string;
  dataDir: string;
  secretsDir?: string;
  store?: StoreSettings;
  ingressListen?: string;
  tls?: ConfiguredCertificate;
};

export interface DirectSpace {
  project: string;
  name: string;
  namespace: string;
}

/** A direct endpoint next to a cluster. */
export interface DirectSettings {
  /** HOST:PORT. */
  listen: string;
  cluster: string;
  /** Undefined = the service account of the pod. */
  kubeconfig?: string;
  /** Base URL of the management server, without a slash at its end. */
  platform: string;
  certificateAuthority?: string;
  keyFile: string;
  silence: number;
  spaces: readonly DirectSpace[];
  tls?: ConfiguredCertificate;
  dataDir: string;
}

/** This user always exists and is always an administrator. */
export const builtInAdministrator = 'admin';

/** Splits the block into its two parts. */
export function managementSettings(values: ManagementValues | undefined): {
  management: ManagementSettings | undefined;
  managementServer: ManagementServerSettings | undefined;
} {
  if (values === undefined) return { management: undefined, managementServer: undefined };
  const { listen, baseURL, dataDir, secretsDir, store, ingressListen, tls, ...management } = values;
  const address = (baseURL ?? localURL(listen)).replace(/\/+$/, '');
  const optional = { ...(tls && { tls }), ...(secretsDir && { secretsDir }), ...(store && { store }) };
  const managementServer = { listen, baseURL: address, dataDir, ingressListen, ...optional };
  return { management, managementServer };
}

/** Where the secrets lie that every replica must have. */
export function secretsFolder({ dataDir, secretsDir = dataDir }: ManagementServerSettings): string {
  return secretsDir;
}

/** The base URL of a server without one of its own. */
export function localURL(listen: string): string {
  return `https://localhost:${/\d+$/.exec(listen)?.[0] ?? ''}`;
}

export function directSettings(values: DirectSettings | undefined): DirectSettings | undefined {
  return values === undefined ? undefined : { ...values, platform: values.platform.replace(/\/+$/, '') };
}
