// The defaults of vCluster's own settings, for expressions that read context.vcluster.config. Includes the switches that
// decide behaviour, but not the settings that only shape the pods of the chart (images, resources, probes).

const on = { enabled: true } as const;
const off = { enabled: false } as const;
const auto = { enabled: 'auto' } as const;

export const vclusterDefaults = {
  sync: {
    toHost: {
      pods: {
        ...on,
        translateImage: {},
        enforceTolerations: [],
        useSecretsForSATokens: false,
        runtimeClassName: '',
        priorityClassName: '',
        rewriteHosts: on,
        hybridScheduling: { ...off, hostSchedulers: [] },
      },
      secrets: { ...on, all: false },
      configMaps: { ...on, all: false },
      services: on,
      endpoints: on,
      endpointSlices: on,
      persistentVolumeClaims: on,
      ingresses: off,
      networkPolicies: off,
      persistentVolumes: off,
      volumeSnapshots: off,
      volumeSnapshotContents: off,
      storageClasses: off,
      serviceAccounts: off,
      podDisruptionBudgets: off,
      priorityClasses: off,
      namespaces: { ...off, mappingsOnly: false },
      customResources: {},
    },
    fromHost: {
      events: on,
      nodes: { ...off, syncBackChanges: false, clearImageStatus: false, selector: { all: false, labels: {} } },
      csiDrivers: auto,
      csiNodes: auto,
      csiStorageCapacities: auto,
      storageClasses: auto,
      ingressClasses: off,
      runtimeClasses: off,
      priorityClasses: off,
      volumeSnapshotClasses: off,
      configMaps: { ...off, mappings: { byName: {} } },
      secrets: { ...off, mappings: { byName: {} } },
      customResources: {},
    },
  },
  controlPlane: {
    backingStore: {
      database: { embedded: off, external: { ...off, dataSource: '' } },
      etcd: { embedded: off, external: off, deploy: off },
    },
    proxy: { bindAddress: '0.0.0.0', port: 8443, extraSANs: [] },
    coredns: { ...on, embedded: false },
    service: { ...on, spec: { type: 'ClusterIP' } },
    ingress: { ...off, host: 'my-host.com', pathType: 'ImplementationSpecific' },
    statefulSet: {
      highAvailability: { replicas: 1, leaseDuration: 60, renewDeadline: 40, retryPeriod: 15 },
      persistence: { volumeClaim: { ...auto, retentionPolicy: 'Retain', size: '5Gi', storageClass: '' } },
    },
    serviceMonitor: off,
    advanced: {
      defaultImageRegistry: '',
      virtualScheduler: off,
      serviceAccount: { ...on, name: '' },
      workloadServiceAccount: { ...on, name: '' },
    },
  },
  privateNodes: off,
  integrations: {
    metricsServer: { ...off, nodes: true, pods: true },
    kubeVirt: off,
    externalSecrets: off,
    certManager: off,
    istio: off,
  },
  rbac: {
    role: { ...on, extraRules: [], overwriteRules: [] },
    clusterRole: { ...auto, extraRules: [], overwriteRules: [] },
  },
  networking: {
    podCIDR: '10.244.0.0/16',
    replicateServices: { toHost: [], fromHost: [] },
    resolveDNS: [],
    advanced: {
      clusterDomain: 'cluster.local',
      fallbackHostCluster: false,
      proxyKubelets: { byHostname: true, byIP: true },
    },
  },
  policies: {
    resourceQuota: auto,
    limitRange: auto,
    networkPolicy: { ...off, fallbackDns: '8.8.8.8' },
    centralAdmission: { validatingWebhooks: [], mutatingWebhooks: [] },
  },
  exportKubeConfig: { context: '', server: '', insecure: false },
  external: {},
  plugins: {},
  experimental: {
    syncSettings: { setOwner: true },
    isolatedControlPlane: { headless: false },
    deploy: { host: { manifests: '' }, vcluster: { manifests: '', helm: [] } },
  },
  telemetry: on,
};
