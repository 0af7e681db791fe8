// The story that `demo --once` plays, as data. Each step names the actions on either side and the state that both sides must
// then reach.
import { endpointsResource, namespacesResource, type ResourceRef, servicesResource } from '../../cluster/wire/scope.ts';
import { generatedName } from '../../object/meta/names.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import type { Side } from '../line/cluster-client.ts';
import { secretAnnotation, teamLabel } from './demo-patches.ts';

export interface Spot {
  side: Side;
  ref: ResourceRef;
  namespace: string;
  name: string;
}

export type Act =
  | { do: 'create'; side: Side; ref: ResourceRef; object: KubeObject }
  | { do: 'change'; at: Spot; mergePatch: object }
  | { do: 'delete'; at: Spot }
  | { do: 'stopDaemon' }
  | { do: 'startDaemon' };

export type Expectation =
  /** The object has every member of `like`; null means that the member is absent. */
  | { see: 'object'; at: Spot; like: object }
  | { see: 'absent'; at: Spot }
  /** The object exists with another uid than before the step. */
  | { see: 'replaced'; at: Spot }
  /** The object has not been written since the step began. */
  | { see: 'untouched'; at: Spot }
  | { see: 'event'; about: { namespace: string; name: string }; reason: string };

export interface StoryStep {
  says: string;
  acts: readonly Act[];
  expects: readonly Expectation[];
}

export const virtualClusterName = 'demo';
export const hostNamespace = 'vcluster-demo';

export const secretsResource: ResourceRef = { path: 'api/v1', resource: 'secrets', kind: 'Secret' };

export function secretObject(namespace: string, name: string): KubeObject {
  const data = { 'tls.crt': 'Y2VydGlmaWNhdGU=', 'tls.key': 'a2V5' };
  return { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name }, type: 'kubernetes.io/tls', data };
}

export function namespaceObject(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
}

/** A Service without a selector, because only the Endpoints of such Services are the tenant's own. */
export function serviceObject(namespace: string, name: string): KubeObject {
  const spec = { clusterIP: 'None', ports: [{ name: 'main', port: 5432, protocol: 'TCP', targetPort: 5432 }] };
  return { apiVersion: 'v1', kind: 'Service', metadata: { namespace, name }, spec };
}

export function subsetsOf(...ips: string[]) {
  return [{ addresses: ips.map((ip) => ({ ip })), ports: [{ name: 'main', port: 5432, protocol: 'TCP' }] }];
}

export function endpointsObject(namespace: string, name: string, ips: readonly string[], labels = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Endpoints', metadata: { namespace, name, labels }, subsets: subsetsOf(...ips) };
}

const spot = (side: Side, namespace: string, name: string): Spot => ({ side, ref: endpointsResource, namespace, name });
const tenant = spot('virtual', 'shop', 'database');
const copy = spot('host', hostNamespace, 'database-x-shop-x-demo');
/** Has the smaller key of the two, so that it also wins when both have the same time of creation. */
const first = spot('virtual', 'default-x-default', 'api');
const second = spot('virtual', 'default', 'api-x-default');
const contestedCopy = spot('host', hostNamespace, 'api-x-default-x-default-x-demo');

const secretName = 'database-tls';
const secretOnHost = generatedName({ name: secretName, namespace: 'shop' }, virtualClusterName);

const pair = (namespace: string, name: string, ip: string, labels = {}): Act[] => [
  { do: 'create', side: 'virtual', ref: servicesResource, object: serviceObject(namespace, name) },
  { do: 'create', side: 'virtual', ref: endpointsResource, object: endpointsObject(namespace, name, [ip], labels) },
];

const copyOf = (namespace: string, name: string) => ({
  'vcluster.loft.sh/object-namespace': namespace,
  'vcluster.loft.sh/object-name': name,
});

export const story: readonly StoryStep[] = [
  {
    says: 'a tenant creates Endpoints, and the host gets its copy under the translated name',
    acts: [
      { do: 'create', side: 'virtual', ref: namespacesResource, object: namespaceObject('shop') },
      ...pair('shop', 'database', '10.20.0.1', { app: 'database' }),
    ],
    expects: [
      {
        see: 'object',
        at: copy,
        like: {
          metadata: {
            labels: {
              app: 'database',
              'vcluster.loft.sh/managed-by': virtualClusterName,
              'vcluster.loft.sh/namespace': 'shop',
            },
            annotations: copyOf('shop', 'database'),
            ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name: virtualClusterName, controller: false }],
          },
          subsets: subsetsOf('10.20.0.1'),
        },
      },
      {
        see: 'object',
        at: tenant,
        like: { metadata: { labels: { app: 'database' } }, subsets: subsetsOf('10.20.0.1') },
      },
    ],
  },
  {
    says: 'the tenant changes an address, and the host follows',
    acts: [{ do: 'change', at: tenant, mergePatch: { subsets: subsetsOf('10.20.0.1', '10.20.0.2') } }],
    expects: [{ see: 'object', at: copy, like: { subsets: subsetsOf('10.20.0.1', '10.20.0.2') } }],
  },
  {
    says: 'someone edits addresses on the host, and the daemon reverts the edit',
    acts: [{ do: 'change', at: copy, mergePatch: { subsets: subsetsOf('203.0.113.9') } }],
    expects: [
      { see: 'object', at: copy, like: { subsets: subsetsOf('10.20.0.1', '10.20.0.2') } },
      { see: 'untouched', at: tenant },
    ],
  },
  {
    says: 'someone deletes the host copy, and the daemon creates it again; the tenant loses nothing',
    acts: [{ do: 'delete', at: copy }],
    expects: [
      { see: 'replaced', at: copy },
      { see: 'object', at: copy, like: { subsets: subsetsOf('10.20.0.1', '10.20.0.2') } },
      { see: 'untouched', at: tenant },
    ],
  },
  {
    says: 'a label edited on the host flows back to the tenant',
    acts: [{ do: 'change', at: copy, mergePatch: { metadata: { labels: { tier: 'gold' } } } }],
    expects: [
      { see: 'object', at: tenant, like: { metadata: { labels: { app: 'database', tier: 'gold' } } } },
      { see: 'object', at: copy, like: { metadata: { labels: { app: 'database', tier: 'gold' } } } },
    ],
  },
  {
    says: 'patches rewrite a label, the addresses of a subnet and the name of a Secret on their way to the host',
    acts: [
      { do: 'create', side: 'virtual', ref: secretsResource, object: secretObject('shop', secretName) },
      {
        do: 'change',
        at: tenant,
        mergePatch: {
          metadata: { labels: { [teamLabel]: 'finance' }, annotations: { [secretAnnotation]: secretName } },
          subsets: subsetsOf('10.30.0.1', '10.20.0.2'),
        },
      },
    ],
    expects: [
      {
        see: 'object',
        at: copy,
        like: {
          metadata: { labels: { [teamLabel]: 'demo-finance' }, annotations: { [secretAnnotation]: secretOnHost } },
          subsets: subsetsOf('10.130.0.1', '10.20.0.2'),
        },
      },
      {
        see: 'object',
        at: tenant,
        like: { metadata: { labels: { [teamLabel]: 'finance' }, annotations: { [secretAnnotation]: secretName } } },
      },
    ],
  },
  {
    says: 'the Secret that the tenant names is on the host, under the name that the host copy uses',
    acts: [],
    expects: [
      {
        see: 'object',
        at: { side: 'host', ref: secretsResource, namespace: hostNamespace, name: secretOnHost },
        like: { type: 'kubernetes.io/tls', data: secretObject('shop', secretName)['data'] as object },
      },
    ],
  },
  {
    says: 'someone edits the patched label on the host, and the tenant gets the value without the prefix',
    acts: [{ do: 'change', at: copy, mergePatch: { metadata: { labels: { [teamLabel]: 'demo-payments' } } } }],
    expects: [
      { see: 'object', at: tenant, like: { metadata: { labels: { [teamLabel]: 'payments' } } } },
      { see: 'object', at: copy, like: { metadata: { labels: { [teamLabel]: 'demo-payments' } } } },
    ],
  },
  {
    says: 'a patch makes a label that Kubernetes refuses: the change stays off the host, and an event says why',
    acts: [
      {
        do: 'change',
        at: tenant,
        mergePatch: { metadata: { labels: { [teamLabel]: '' } }, subsets: subsetsOf('10.30.0.9') },
      },
    ],
    expects: [
      { see: 'event', about: tenant, reason: 'PatchFailed' },
      {
        see: 'object',
        at: copy,
        like: {
          metadata: { labels: { [teamLabel]: 'demo-payments' } },
          subsets: subsetsOf('10.130.0.1', '10.20.0.2'),
        },
      },
    ],
  },
  {
    says: 'the tenant corrects the label, and the whole change arrives on the host',
    acts: [{ do: 'change', at: tenant, mergePatch: { metadata: { labels: { [teamLabel]: 'logistics' } } } }],
    expects: [
      {
        see: 'object',
        at: copy,
        like: { metadata: { labels: { [teamLabel]: 'demo-logistics' } }, subsets: subsetsOf('10.130.0.9') },
      },
    ],
  },
  {
    says: 'two objects map to one host name: the first keeps the name, and an event tells the second',
    acts: [
      { do: 'create', side: 'virtual', ref: namespacesResource, object: namespaceObject('default-x-default') },
      ...pair('default-x-default', 'api', '10.20.1.1'),
      ...pair('default', 'api-x-default', '10.20.2.2'),
    ],
    expects: [
      { see: 'event', about: second, reason: 'NameCollision' },
      {
        see: 'object',
        at: contestedCopy,
        like: { metadata: { annotations: copyOf('default-x-default', 'api') }, subsets: subsetsOf('10.20.1.1') },
      },
      { see: 'object', at: first, like: { subsets: subsetsOf('10.20.1.1') } },
      { see: 'object', at: second, like: { subsets: subsetsOf('10.20.2.2') } },
    ],
  },
  {
    says: 'both sides are edited while the daemon is stopped, and after its start each edit reaches the other side',
    acts: [
      { do: 'stopDaemon' },
      {
        do: 'change',
        at: tenant,
        mergePatch: { metadata: { labels: { app: null } }, subsets: subsetsOf('10.20.0.3') },
      },
      { do: 'change', at: copy, mergePatch: { metadata: { labels: { tier: 'platinum' } } } },
      { do: 'startDaemon' },
    ],
    expects: [
      {
        see: 'object',
        at: copy,
        like: { metadata: { labels: { app: null, tier: 'platinum' } }, subsets: subsetsOf('10.20.0.3') },
      },
      { see: 'object', at: tenant, like: { metadata: { labels: { app: null, tier: 'platinum' } } } },
    ],
  },
  {
    says: 'the first object of the contested name is deleted, and the waiting object gets the name',
    acts: [{ do: 'delete', at: first }],
    expects: [
      {
        see: 'object',
        at: contestedCopy,
        like: { metadata: { annotations: copyOf('default', 'api-x-default') }, subsets: subsetsOf('10.20.2.2') },
      },
    ],
  },
  {
    says: 'the tenant deletes its Endpoints, and the daemon deletes the host copy',
    acts: [{ do: 'delete', at: tenant }],
    expects: [
      { see: 'absent', at: copy },
      { see: 'absent', at: tenant },
    ],
  },
];
