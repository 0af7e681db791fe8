// The rows of the settings table for the settings of vCluster that Hostward reads too.
import { patchListRows, patchRows } from './patch-rows.ts';
import type { Setting } from './setting.ts';

const boolean = { kind: 'boolean' } as const;
const patches = { field: 'patches', change: 'live' } as const;
const slicePatches = { field: 'slicePatches', change: 'live' } as const;
const namespaces = { field: 'namespaces', change: 'restart' } as const;

const endpoints = 'sync.toHost.endpoints';
const slices = 'sync.toHost.endpointSlices';

export const vclusterRows: Setting[] = [
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
