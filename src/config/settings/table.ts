// Every setting that Hostward reads, as data: its path, allowed values, default and description. Validation, defaults, the
// JSON Schema and the reference page are all generated from these rows.
import { directRows } from './rows/direct-rows.ts';
import { managementRows } from './rows/management-rows.ts';
import type { Setting } from './rows/setting.ts';

export type { Setting, Shape } from './rows/setting.ts';

/** An unknown key under these paths is a fault; elsewhere unknown keys belong to vCluster and are ignored. */
export const closedPaths: readonly string[] = [
  'sync.toHost.endpoints',
  'sync.toHost.endpointSlices',
  'sync.toHost.namespaces',
  'hostward',
];

const text = { kind: 'text', rule: 'any' } as const;
const boolean = { kind: 'boolean' } as const;

const patches = { field: 'patches', change: 'live' } as const;
const slicePatches = { field: 'slicePatches', change: 'live' } as const;
const endpointSlices = { field: 'endpointSlices', change: 'live' } as const;
const namespaces = { field: 'namespaces', change: 'restart' } as const;

type PatchField = typeof patches | typeof slicePatches | typeof namespaces;

function patchRows(list: string, of: PatchField): Setting[] {
  const item = `${list}[]`;
  return [
    {
      path: `${item}.path`,
      shape: text,
      required: true,
      ...of,
      about:
        'Field to patch; `*` selects every element, `["key"]` one map key, an empty path the whole object. A path that is not found is not applied.',
    },
    {
      path: `${item}.expression`,
      shape: text,
      ...of,
      about: 'JavaScript expression that makes the host value of the virtual `value`.',
    },
    {
      path: `${item}.reverseExpression`,
      shape: text,
      ...of,
      about: 'JavaScript expression that makes the virtual value of the host `value`.',
    },
    {
      path: `${item}.reference`,
      shape: { kind: 'map' },
      ...of,
      about: 'The value names another object; the name is translated as that object is.',
    },
    ...(['apiVersion', 'kind'] as const).map((key): Setting => {
      const about = `${key} of the object referred to.`;
      return { path: `${item}.reference.${key}`, shape: text, required: true, ...of, about };
    }),
    ...(['apiVersion', 'kind', 'name', 'namespace'] as const).map((key): Setting => {
      const about = `Where the ${key} stands below the value, if it stands there.`;
      return { path: `${item}.reference.${key}Path`, shape: text, ...of, about };
    }),
    {
      path: `${item}.labels`,
      shape: { kind: 'map' },
      ...of,
      about: 'The value is a label selector; its keys are rewritten as vCluster rewrites label keys. Always `{}`.',
    },
  ];
}

const endpoints = 'sync.toHost.endpoints';
const slices = 'sync.toHost.endpointSlices';

function patchListRows(kind: string, of: PatchField): Setting[] {
  return [
    {
      path: `${kind}.patches`,
      shape: { kind: 'list' },
      default: [],
      ...of,
      about:
        'Rules that rewrite fields during the sync, in this order, at most 1,000. Each entry has one mode: expressions, reference or labels.',
    },
    ...patchRows(`${kind}.patches`, of),
    {
      path: `${kind}.patches[].reference.naming`,
      shape: { kind: 'choice', of: ['generated', 'vcluster'] },
      ...of,
      about:
        'Names that this entry writes, instead of those of `hostward.references.naming`. Not for Secrets and ConfigMaps. Only Hostward has this setting.',
    },
    {
      path: `${kind}.patches[].onMissing`,
      shape: { kind: 'choice', of: ['skip', 'create'] },
      default: 'skip',
      ...of,
      about:
        'Behaviour when the last key of the path is missing. `create` runs the expression and writes the key. Only Hostward has this setting.',
    },
    {
      path: `${kind}.patches[].onError`,
      shape: { kind: 'choice', of: ['fail', 'skip', 'keepLast'] },
      default: 'fail',
      ...of,
      about:
        'Behaviour when the expression fails: `fail` leaves the host object unchanged, `skip` skips this entry, `keepLast` keeps the value on the host. Only Hostward has this setting.',
    },
  ];
}

const sharedRows: Setting[] = [
  {
    path: `${endpoints}.enabled`,
    shape: boolean,
    default: true,
    field: 'endpointsEnabled',
    change: 'live',
    about: 'Whether vCluster itself syncs Endpoints to the host; `hostward.endpoints.enabled` follows it unless given.',
  },
  ...patchListRows(endpoints, patches),
  {
    path: `${slices}.enabled`,
    shape: boolean,
    default: true,
    field: 'vcluster',
    change: 'live',
    about:
      'Whether vCluster itself syncs EndpointSlices to the host. `hostward.endpointSlices.enabled` does not follow it.',
  },
  ...patchListRows(slices, slicePatches),
  {
    path: 'sync.toHost.namespaces.enabled',
    shape: boolean,
    default: false,
    ...namespaces,
    about: 'Namespace mapping: virtual namespaces have host namespaces of their own and names stay as they are.',
  },
  {
    path: 'sync.toHost.namespaces.mappings.byName',
    shape: { kind: 'pairs' },
    default: {},
    ...namespaces,
    about: `Virtual namespace to host namespace, exact or with \`*\` at the end; \`\${name}\` is the virtual cluster.`,
  },
  {
    path: 'sync.toHost.namespaces.mappingsOnly',
    shape: boolean,
    default: false,
    ...namespaces,
    about: 'Namespaces without a mapping are not synced at all, instead of falling back to rewritten names.',
  },
  {
    path: 'sync.toHost.namespaces.extraLabels',
    shape: { kind: 'pairs' },
    default: {},
    ...namespaces,
    about: 'Labels that vCluster gives to the host namespaces that it creates. Hostward does not use them.',
  },
  {
    path: 'sync.toHost.namespaces.patches',
    shape: { kind: 'list' },
    default: [],
    ...namespaces,
    about: 'Patches of Namespace objects. Hostward does not use them and checks only their form.',
  },
  ...patchRows('sync.toHost.namespaces.patches', namespaces),
  {
    path: 'experimental.syncSettings.setOwner',
    shape: boolean,
    default: true,
    field: 'setOwner',
    change: 'restart',
    about:
      'Host objects get the Service of the virtual cluster as their owner, so that Kubernetes deletes them with it.',
  },
  {
    path: 'controlPlane.statefulSet.highAvailability.replicas',
    shape: { kind: 'integer', from: 0, to: 1000 },
    default: 1,
    field: 'replicas',
    change: 'restart',
    about: 'Replicas of the pod; with more than one, `leaderElection: auto` takes a lease.',
  },
];

const ownRows: Setting[] = [
  {
    path: 'hostward.virtualClusterName',
    shape: { kind: 'text', rule: 'name' },
    defaultWords: '`--vcluster-name`, else `VCLUSTER_NAME`; needed',
    field: 'virtualClusterName',
    change: 'restart',
    about: 'Name of the virtual cluster, which is the release name of its chart. Flag and environment win over it.',
  },
  {
    path: 'hostward.hostNamespace',
    shape: { kind: 'text', rule: 'name' },
    defaultWords: '`--host-namespace`, else `NAMESPACE`, else the namespace of the pod; needed',
    field: 'hostNamespace',
    change: 'restart',
    about: 'Namespace of the virtual cluster on the host. Flag and environment win over it.',
  },
  {
    path: 'hostward.virtualKubeconfig',
    shape: { kind: 'text', rule: 'file' },
    default: '/data/pki/admin.conf',
    defaultWords: '`/data/pki/admin.conf`, where vCluster keeps it in its pod',
    field: 'virtualKubeconfig',
    change: 'restart',
    about: 'Kubeconfig of the virtual cluster. `--virtual-kubeconfig` wins over it.',
  },
  {
    path: 'hostward.hostKubeconfig',
    shape: { kind: 'text', rule: 'file' },
    defaultWords: 'the credentials of the pod',
    field: 'hostKubeconfig',
    change: 'restart',
    about: 'Kubeconfig of the host cluster. `--host-kubeconfig` wins over it.',
  },
  {
    path: 'hostward.endpoints.enabled',
    shape: boolean,
    defaultWords: 'what `sync.toHost.endpoints.enabled` says',
    field: 'endpointsEnabled',
    change: 'live',
    about: 'Whether Hostward syncs Endpoints. `false` leaves all host objects unchanged, and removes none of them.',
  },
  {
    path: 'hostward.endpointSlices.enabled',
    shape: boolean,
    default: false,
    ...endpointSlices,
    about:
      'Whether Hostward syncs EndpointSlices. Switch the sync of vCluster off first: two writers of one name are the worst case.',
  },
  {
    path: 'hostward.endpointSlices.mirrored',
    shape: boolean,
    default: false,
    ...endpointSlices,
    about:
      'Whether the slices go to the host that the mirroring controller of the virtual cluster makes from Endpoints. For hosts without a mirroring controller. Without Endpoints sync they always go.',
  },
  {
    path: 'hostward.endpointSlices.nodeName',
    shape: { kind: 'choice', of: ['keep', 'drop'] },
    default: 'keep',
    ...endpointSlices,
    about:
      'Whether endpoints keep the name of their node. Without it `internalTrafficPolicy: Local` finds no endpoint.',
  },
  {
    path: 'hostward.backSync',
    shape: { kind: 'choice', of: ['all', 'none'] },
    default: 'all',
    field: 'backSync',
    change: 'live',
    about: 'Whether labels and annotations that were changed on the host flow back to the virtual object.',
  },
  {
    path: 'hostward.exclude.labels',
    shape: { kind: 'texts', rule: 'pattern' },
    default: [],
    field: 'exclude',
    change: 'live',
    about:
      'Label keys that cross in neither direction; `*` stands for any text. Values that Hostward wrote before are removed from the host copies.',
  },
  {
    path: 'hostward.exclude.annotations',
    shape: { kind: 'texts', rule: 'pattern' },
    default: [],
    field: 'exclude',
    change: 'live',
    about:
      'Annotation keys that cross in neither direction; `*` stands for any text. Values that Hostward wrote before are removed from the host copies.',
  },
  {
    path: 'hostward.addressPolicy.allow',
    shape: { kind: 'texts', rule: 'network' },
    default: [],
    field: 'addressPolicy',
    change: 'live',
    about:
      'Networks that addresses must be in, and any IPv4 address inside them too. Empty allows all but loopback, link-local, multicast, broadcast, unspecified and 240.0.0.0/4.',
  },
  {
    path: 'hostward.addressPolicy.deny',
    shape: { kind: 'texts', rule: 'network' },
    default: [],
    field: 'addressPolicy',
    change: 'live',
    about: 'Networks that no address may be in. One refused address refuses its object.',
  },
  {
    path: 'hostward.addressPolicy.fqdn',
    shape: { kind: 'choice', of: ['refuse', 'allow'] },
    default: 'refuse',
    field: 'addressPolicy',
    change: 'live',
    about: 'Whether EndpointSlices of addressType FQDN may go to the host: a name cannot be checked against networks.',
  },
  {
    path: 'hostward.leaderElection',
    shape: { kind: 'choice', of: ['auto', 'always', 'never'] },
    default: 'auto',
    field: 'leaderElection',
    change: 'restart',
    about: 'Whether a lease is taken before anything is written. `auto`: with more than one replica.',
  },
  {
    path: 'hostward.maxWritesPerSecond',
    shape: { kind: 'number', above: 0 },
    defaultWords: 'no limit',
    field: 'maxWritesPerSecond',
    change: 'restart',
    about: 'Writes a second to the host at most, for a host that is shared with others.',
  },
  {
    path: 'hostward.proofInterval',
    shape: { kind: 'text', rule: 'interval' },
    default: '60s',
    field: 'proofIntervalMs',
    change: 'restart',
    about:
      'How often each object is compared with what both API servers have, so that a lost watch event leaves nothing wrong for longer. Only the heads of the objects are read. `0`: never.',
  },
  {
    path: 'hostward.references.naming',
    shape: { kind: 'choice', of: ['generated', 'vcluster'] },
    default: 'generated',
    field: 'references',
    change: 'live',
    about:
      'Names that reference patches write. `generated`: short names; Hostward keeps copies of Secrets and ConfigMaps under them, and of no other kind. `vcluster`: the long names of the objects that vCluster syncs itself. A single entry can choose with `reference.naming`.',
  },
  {
    path: 'hostward.listen',
    shape: { kind: 'text', rule: 'listen' },
    default: '127.0.0.1:9440',
    field: 'listen',
    change: 'restart',
    about: 'Where /healthz, /readyz, /metrics and /status are served. Probes and Prometheus need `0.0.0.0:9440`.',
  },
  {
    path: 'hostward.logLevel',
    shape: { kind: 'choice', of: ['trace', 'debug', 'info', 'warn', 'error', 'silent'] },
    default: 'info',
    field: 'logLevel',
    change: 'live',
    about: 'The least important log lines that are written.',
  },
];

export const settingsTable: readonly Setting[] = [...sharedRows, ...ownRows, ...managementRows, ...directRows];
