// The rows of the settings table for the settings that only Hostward has, those of the management API and of direct endpoints
// excepted.
import type { Setting } from './setting.ts';

const boolean = { kind: 'boolean' } as const;
const endpointSlices = { field: 'endpointSlices', change: 'live' } as const;

export const ownRows: Setting[] = [
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
    shape: { kind: 'text', rule: 'file', holds: 'kubeconfig' },
    default: '/data/pki/admin.conf',
    defaultWords: '`/data/pki/admin.conf`, where vCluster keeps it in its pod',
    field: 'virtualKubeconfig',
    change: 'restart',
    about: 'Kubeconfig of the virtual cluster. `--virtual-kubeconfig` wins over it.',
  },
  {
    path: 'hostward.virtualServer',
    shape: { kind: 'text', rule: 'url' },
    defaultWords: 'the address in the kubeconfig',
    field: 'virtualServer',
    change: 'restart',
    about:
      'Address of the virtual cluster, in place of the one in its kubeconfig: the kubeconfig that vCluster writes names localhost, which other pods cannot reach.',
  },
  {
    path: 'hostward.hostKubeconfig',
    shape: { kind: 'text', rule: 'file', holds: 'kubeconfig' },
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
    path: 'hostward.leaseDurationSeconds',
    shape: { kind: 'integer', from: 3, to: 3600 },
    default: 15,
    field: 'leaseDurationSeconds',
    change: 'restart',
    about:
      'How long the lease of a pod that died still holds the others back. The pod with the lease renews it every 2/15 of that time, and stops writing when no renewal has succeeded for 10/15 of it.',
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
    about:
      'Where /healthz, /readyz, /metrics, /status and the status page `/` are served. Probes and Prometheus need `0.0.0.0:9440`; /status and the pages still answer programs on the same machine alone.',
  },
  {
    path: 'hostward.listenNames',
    shape: { kind: 'texts', rule: 'host' },
    default: [],
    field: 'listenNames',
    change: 'restart',
    about:
      'Names by which clients may call the address of `hostward.listen`, beside `localhost` and IP addresses. A request for another name is answered 421, because a web page can point its own name at this machine. Needed only where something scrapes by the name of a Service.',
  },
  {
    path: 'hostward.playground',
    shape: boolean,
    default: false,
    field: 'playground',
    change: 'restart',
    about:
      'Whether the page for trying patches is served at /playground of `hostward.listen`, to who has its token; the link with the token is on the status page. It reads nothing of the daemon, and runs in a thread and a sandbox of its own.',
  },
  {
    path: 'hostward.logLevel',
    shape: { kind: 'choice', of: ['trace', 'debug', 'info', 'warn', 'error', 'silent'] },
    default: 'info',
    field: 'logLevel',
    change: 'live',
    about: 'The least important log lines that are written.',
  },
  {
    path: 'hostward.logFormat',
    shape: { kind: 'choice', of: ['auto', 'json', 'text'] },
    default: 'auto',
    field: 'logFormat',
    change: 'live',
    about:
      'Form of the log. `json`: one object a line, for programs. `text`: for people. `auto`: text on a terminal, else JSON.',
  },
];
