// A toy kind, to prove that a kind is one folder: ConfigMaps that are named like a Service, written as a note for the host. It
// knows nothing of the engine, and no other kind knows of it.
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { type HostItem, identityOf, type SyncedKind, type VirtualItem } from '../../../../src/sync/plan/kind.ts';

interface Note {
  data?: Record<string, string>;
}

function project(object: KubeObject): VirtualItem & HostItem & Note {
  const { labels, annotations, ownerReferences, creationTimestamp, deletionTimestamp } = object.metadata;
  const { data } = object as Note;
  return {
    ...identityOf(object),
    creationTimestamp: creationTimestamp ?? '',
    ...(labels && { labels }),
    ...(annotations && { annotations }),
    ...(ownerReferences && { ownerReferences }),
    ...(deletionTimestamp !== undefined && { isDeleting: true as const }),
    ...(data && { data }),
  };
}

const textOf = ({ data = {} }: Note): string => JSON.stringify(Object.entries(data).sort());

export const noteKind: SyncedKind = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  kindAnnotation: '/v1, Kind=ConfigMap',
  resource: { path: 'api/v1', resource: 'configmaps', kind: 'ConfigMap' },
  settingsPath: 'sync.toHost.notes',
  syncerName: 'note',
  payloadFields: ['data'],
  payloadShape: new Map([['data', { kind: 'map', of: { kind: 'scalar' } }]]),
  samplePayload: { data: { text: 'hello' } },
  controllerLabel: { key: 'notes.example/taken', value: 'true' },
  controllerKeyPrefixes: [],
  protectedFields: [],
  ownLabels: [],
  takesOverNatives: false,
  projectVirtual: project,
  projectHost: project,
  judge(_, { virtual, service, isPlaced }) {
    if (virtual !== undefined && service !== undefined && isPlaced) return { kind: 'eligible' };
    return { kind: 'ineligible', reason: 'NoService', sentence: 'no Service has the name of the note' };
  },
  translate: (virtual) => ({ data: (virtual as Note).data ?? {} }),
  renamedBy: () => [],
  payloadOf: (host) => ({ data: (host as Note).data ?? {} }),
  problemOf: () => undefined,
  asStored: (payload) => payload,
  payloadChange: (desired, host) => (textOf(desired) === textOf(host) ? undefined : { data: desired['data'] }),
  isSameButForOrder: () => false,
  addressesOf: () => [],
};
