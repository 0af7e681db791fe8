// What the rest of the house gets to see of hostward.management: complete, checked, defaults filled in. The part that a
// running daemon takes over and the part that needs a start are two values, because they change differently.

export interface CertificateFiles {
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
  tls?: CertificateFiles;
}

export interface ManagementVirtualCluster {
  name: string;
  kubeconfig?: string;
  ingress?: ManagementIngress;
  signing?: CertificateFiles;
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

/** Taken over while running. */
export interface ManagementSettings {
  tls?: CertificateFiles;
  administrators: { users: readonly string[]; groups: readonly string[] };
  users: readonly ManagementUser[];
  teams: readonly ManagementTeam[];
  clusters: readonly ManagementCluster[];
  projects: readonly ManagementProject[];
  keys: KeyLimits;
  audit: { reads: boolean };
}

/** Taken over at a start only. */
export interface ManagementServerSettings {
  /** HOST:PORT. */
  listen: string;
  /** Without a slash at its end. */
  baseURL: string;
  dataDir: string;
  ingressListen: string | undefined;
}

/** What the checker makes of the rows; management-table.ts is the proof of it. */
export type ManagementValues = ManagementSettings & {
  listen: string;
  baseURL?: string;
  dataDir: string;
  ingressListen?: string;
};

/** Always there, always an administrator. */
export const builtInAdministrator = 'admin';

/** Two slices of one block. */
export function managementSettings(values: ManagementValues | undefined): {
  management: ManagementSettings | undefined;
  managementServer: ManagementServerSettings | undefined;
} {
  if (values === undefined) return { management: undefined, managementServer: undefined };
  const { listen, baseURL, dataDir, ingressListen, ...management } = values;
  const port = /\d+$/.exec(listen)?.[0] ?? '';
  const address = (baseURL ?? `https://localhost:${port}`).replace(/\/+$/, '');
  return { management, managementServer: { listen, baseURL: address, dataDir, ingressListen } };
}
